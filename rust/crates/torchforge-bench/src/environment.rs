//! Environments by the names that parameters give them.

use torchforge_env::{AnyEnvironment, ContinuousEnvironment, DiscreteEnvironment, ids, make};

/// The environment of that name, if it has discrete actions; otherwise what is wrong and what there is.
pub(crate) fn discrete(name: &str) -> Result<DiscreteEnvironment, String> {
    of_kind(name, "discrete", AnyEnvironment::discrete)
}

/// The environment of that name, if it has continuous actions; otherwise what is wrong and what there is.
pub(crate) fn continuous(name: &str) -> Result<ContinuousEnvironment, String> {
    of_kind(name, "continuous", AnyEnvironment::continuous)
}

fn of_kind<E>(name: &str, actions: &str, kind: fn(AnyEnvironment) -> Option<E>) -> Result<E, String> {
    let made = |id: &str| make(id).and_then(kind);
    made(name).ok_or_else(|| {
        let known: Vec<_> = ids().filter(|id| made(id).is_some()).collect();
        let known = known.join(", ");
        format!("there is no environment {name:?} with {actions} actions; use one of {known}")
    })
}
