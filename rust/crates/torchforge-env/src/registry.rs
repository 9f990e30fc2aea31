//! The environments by their names in Gymnasium, with the limits that it registers them with.

use crate::{
    Acrobot, CartPole, Continuous, Discrete, Environment, MountainCar, MountainCarContinuous, Pendulum,
    TimeLimit,
};

/// Any environment with discrete actions.
pub type DiscreteEnvironment = Box<dyn Environment<Action = u32, ActionSpace = Discrete> + Send + Sync>;

/// Any environment with continuous actions.
pub type ContinuousEnvironment = Box<dyn Environment<Action = [f32], ActionSpace = Continuous> + Send + Sync>;

/// An environment that was asked for by name.
pub enum AnyEnvironment {
    /// One with discrete actions.
    Discrete(DiscreteEnvironment),
    /// One with continuous actions.
    Continuous(ContinuousEnvironment),
}

impl AnyEnvironment {
    /// The environment, if its actions are discrete.
    pub fn discrete(self) -> Option<DiscreteEnvironment> {
        match self {
            Self::Discrete(environment) => Some(environment),
            Self::Continuous(_) => None,
        }
    }

    /// The environment, if its actions are continuous.
    pub fn continuous(self) -> Option<ContinuousEnvironment> {
        match self {
            Self::Continuous(environment) => Some(environment),
            Self::Discrete(_) => None,
        }
    }
}

impl std::fmt::Debug for AnyEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self {
            Self::Discrete(_) => "Discrete",
            Self::Continuous(_) => "Continuous",
        };
        f.debug_tuple(kind).finish_non_exhaustive()
    }
}

type Registered = (&'static str, fn() -> AnyEnvironment);

/// The one list of names.
const REGISTRY: [Registered; 5] = [
    ("Acrobot-v1", || AnyEnvironment::Discrete(Box::new(TimeLimit::new(Acrobot::new(), 500)))),
    ("CartPole-v1", || AnyEnvironment::Discrete(Box::new(TimeLimit::new(CartPole::new(), 500)))),
    ("MountainCar-v0", || AnyEnvironment::Discrete(Box::new(TimeLimit::new(MountainCar::new(), 200)))),
    ("MountainCarContinuous-v0", || {
        AnyEnvironment::Continuous(Box::new(TimeLimit::new(MountainCarContinuous::new(), 999)))
    }),
    ("Pendulum-v1", || AnyEnvironment::Continuous(Box::new(TimeLimit::new(Pendulum::new(), 200)))),
];

/// Makes the environment that Gymnasium registers as `id`; none if there is no such one here.
///
/// ```
/// let environment = torchforge_env::make("Acrobot-v1").and_then(|made| made.discrete()).unwrap();
/// # use torchforge_env::Environment;
/// assert_eq!((environment.observation_len(), environment.action_space().count), (6, 3));
/// assert!(torchforge_env::make("CartPole-v0").is_none());
/// ```
pub fn make(id: &str) -> Option<AnyEnvironment> {
    REGISTRY.iter().find(|(name, _)| *name == id).map(|(_, make)| make())
}

/// The names that [`make`] knows, in alphabetical order.
pub fn ids() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|&(name, _)| name)
}
