//! A cap on instructions holds for the whole process: so it has a test program of its own.

use torchforge_nn::{Error, SimdPath};

#[test]
fn no_faster_path_than_the_cap_is_chosen_and_none_that_is_not_here_can_be_the_cap() {
    let missing = SimdPath::ALL.into_iter().find(|path| !path.is_available()).expect("no processor has all");
    let best = SimdPath::detect();
    assert_eq!(missing.cap(), Err(Error::NoSuchPath { path: missing }));
    assert_eq!(SimdPath::detect(), best);
    for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
        path.cap().unwrap();
        assert_eq!(SimdPath::detect(), path);
    }
    best.cap().unwrap();
    assert_eq!(SimdPath::detect(), SimdPath::Portable, "a cap is never lifted");
}
