//! Environments by the names that parameters give them.

use torchforge_env::{AnyEnvironment, ContinuousEnvironment, DiscreteEnvironment, ids, make};

/// The environment of that name; otherwise what there is.
pub(crate) fn any(name: &str) -> Result<AnyEnvironment, String> {
    of_kind(name, "", Some)
}

/// The environment of that name, if it has discrete actions; otherwise what is wrong and what there is.
pub(crate) fn discrete(name: &str) -> Result<DiscreteEnvironment, String> {
    of_kind(name, " with discrete actions", AnyEnvironment::discrete)
}

/// The environment of that name, if it has continuous actions; otherwise what is wrong and what there is.
pub(crate) fn continuous(name: &str) -> Result<ContinuousEnvironment, String> {
    of_kind(name, " with continuous actions", AnyEnvironment::continuous)
}

fn of_kind<E>(name: &str, which: &str, kind: fn(AnyEnvironment) -> Option<E>) -> Result<E, String> {
    let made = |id: &str| make(id).and_then(kind);
    made(name).ok_or_else(|| {
        let known: Vec<_> = ids().filter(|id| made(id).is_some()).collect();
        let known = known.join(", ");
        format!("there is no environment {name:?}{which}; use one of {known}")
    })
}
