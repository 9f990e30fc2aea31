//! What networks say of themselves: their sizes, not the thousands of numbers in them.

/// [`Debug`](std::fmt::Debug) for a type whose sizes are in this field.
macro_rules! debug_sizes {
    ($name:ident, $($field:ident).+) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).field("sizes", &self.$($field).+).finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use debug_sizes;
