//! Networks and minibatches that do not fit, and what is said of them.

mod common;

use common::SplitMix;
use torchforge_nn::{
    ActionRange, AdamOptions, DenseDqn, DensePpo, DenseSac, Error, Mlp, PpoLossOptions, SacLossOptions,
    SacNetworks,
};

fn network(sizes: &[usize]) -> Mlp {
    Mlp::new(sizes, &mut SplitMix(1)).unwrap()
}

fn dqn(online: &[usize], target: &[usize], batch: usize) -> Result<(), Error> {
    DenseDqn::from_networks(network(online), network(target), batch, 0.99, AdamOptions::default()).map(drop)
}

fn ppo(rows: usize, batch: usize) -> Result<(), Error> {
    let (actor, critic) = (network(&[4, 8, 2]), network(&[4, 8, 1]));
    DensePpo::new(actor, critic, rows, batch, PpoLossOptions::default(), AdamOptions::default()).map(drop)
}

fn sac(actor: &[usize], critics: [&[usize]; 2], batch: usize) -> Result<(), Error> {
    let critics = critics.map(network);
    let networks = SacNetworks { actor: network(actor), targets: critics.clone(), critics, log_alpha: 0.0 };
    let range = ActionRange { bias: vec![0.0], scale: vec![1.0] };
    DenseSac::new(networks, range, batch, SacLossOptions::default()).map(drop)
}

#[test]
fn too_few_rows_are_said_to_be_too_few() {
    let few = |what, least, found| Err(Error::Rows { what, least, found });
    assert_eq!(dqn(&[4, 8, 2], &[4, 8, 2], 0), few("a minibatch", 1, 0));
    assert_eq!(ppo(1, 1), few("a minibatch", 2, 1));
    assert_eq!(ppo(0, 2), few("an evaluation", 1, 0));
    assert_eq!(sac(&[3, 8, 2], [&[4, 8, 1]; 2], 0), few("a minibatch", 1, 0));
    let said = ppo(1, 1).unwrap_err().to_string();
    assert_eq!(said, "a minibatch has 1 rows and must have 2 to 16777216");
}

#[test]
fn more_rows_than_memory_has_room_for_are_an_error_and_no_crash() {
    for rows in [(1 << 24) + 1, 1 << 62, usize::MAX] {
        let many = |what, least| Err(Error::Rows { what, least, found: rows });
        assert_eq!(dqn(&[4, 8, 2], &[4, 8, 2], rows), many("a minibatch", 1));
        assert_eq!(ppo(1, rows), many("a minibatch", 2));
        assert_eq!(ppo(rows, 2), many("an evaluation", 1));
        assert_eq!(sac(&[3, 8, 2], [&[4, 8, 1]; 2], rows), many("a minibatch", 1));
    }
}

#[test]
fn networks_that_have_only_as_many_parameters_are_not_alike() {
    let (online, target) = ([4, 4, 3, 2], [4, 5, 2, 2]);
    assert_eq!(network(&online).parameters().len(), network(&target).parameters().len());
    let unlike =
        Error::Unlike { what: "the target network", expected: online.to_vec(), found: target.to_vec() };
    assert_eq!(dqn(&online, &target, 4), Err(unlike));
    assert_eq!(dqn(&online, &online, 4), Ok(()));
    let critics: [&[usize]; 2] = [&[4, 4, 3, 1], &[4, 6, 1, 1]];
    assert!(matches!(sac(&[3, 8, 2], critics, 4), Err(Error::Unlike { what: "a critic", .. })));
}

#[test]
fn an_actor_without_a_deviation_for_each_mean_is_refused() {
    let odd = sac(&[3, 8, 3], [&[4, 8, 1]; 2], 4);
    assert_eq!(odd, Err(Error::Len { what: "the actor's output", expected: 4, found: 3 }));
}
