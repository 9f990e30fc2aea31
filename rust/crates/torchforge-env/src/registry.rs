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

/// A name, the limit of steps that Gymnasium registers it with, and how it is made with any limit or none.
type Registered = (&'static str, u32, fn(Option<u32>) -> AnyEnvironment);

/// The one list of names.
const REGISTRY: [Registered; 5] = [
    ("Acrobot-v1", 500, |limit| discrete(Acrobot::new(), limit)),
    ("CartPole-v1", 500, |limit| discrete(CartPole::new(), limit)),
    ("MountainCar-v0", 200, |limit| discrete(MountainCar::new(), limit)),
    ("MountainCarContinuous-v0", 999, |limit| continuous(MountainCarContinuous::new(), limit)),
    ("Pendulum-v1", 200, |limit| continuous(Pendulum::new(), limit)),
];

fn discrete<E>(environment: E, limit: Option<u32>) -> AnyEnvironment
where
    E: Environment<Action = u32, ActionSpace = Discrete> + Send + Sync + 'static,
{
    AnyEnvironment::Discrete(match limit {
        Some(limit) => Box::new(TimeLimit::new(environment, limit)),
        None => Box::new(environment),
    })
}

fn continuous<E>(environment: E, limit: Option<u32>) -> AnyEnvironment
where
    E: Environment<Action = [f32], ActionSpace = Continuous> + Send + Sync + 'static,
{
    AnyEnvironment::Continuous(match limit {
        Some(limit) => Box::new(TimeLimit::new(environment, limit)),
        None => Box::new(environment),
    })
}

/// Makes the environment that Gymnasium registers as `id`; none if there is no such one here.
///
/// ```
/// let environment = torchforge_env::make("Acrobot-v1").and_then(|made| made.discrete()).unwrap();
/// # use torchforge_env::Environment;
/// assert_eq!((environment.observation_len(), environment.action_space().count), (6, 3));
/// assert!(torchforge_env::make("CartPole-v0").is_none());
/// ```
pub fn make(id: &str) -> Option<AnyEnvironment> {
    make_with_limit(id, registered(id)?.1.into())
}

/// [`make`], whose episodes have at most `limit` steps, or as many as the task itself allows.
///
/// ```
/// use torchforge_env::{Environment, Error};
///
/// let longest = |limit| -> Result<u32, Error> {
///     let made = torchforge_env::make_with_limit("Pendulum-v1", limit).and_then(|made| made.continuous());
///     let (mut environment, mut observation) = (made.unwrap(), [0.0; 3]);
///     environment.reset(Some(1), &mut observation)?;
///     let mut steps = 1;
///     while steps < 300 && !environment.step(&[0.0], &mut observation)?.done() {
///         steps += 1;
///     }
///     Ok(steps)
/// };
/// assert_eq!((longest(Some(7))?, longest(None)?), (7, 300));
/// # Ok::<(), Error>(())
/// ```
pub fn make_with_limit(id: &str, limit: Option<u32>) -> Option<AnyEnvironment> {
    registered(id).map(|(_, _, make)| make(limit))
}

fn registered(id: &str) -> Option<&'static Registered> {
    REGISTRY.iter().find(|(name, _, _)| *name == id)
}

/// The names that [`make`] knows, in alphabetical order.
pub fn ids() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|&(name, _, _)| name)
}
