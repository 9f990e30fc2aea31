//! The random numbers are NumPy's. Expected values were printed by NumPy 2.4.

use torchforge_env::{Pcg64, SeedSequence};

use rand_core::Rng;

#[test]
fn a_seed_sequence_generates_numpys_state() {
    assert_eq!(
        SeedSequence::new(42).generate_state(),
        [0x9f1e_2e6d_cd54_0ab7, 0xd578_73dc_79fb_94b6, 0x7d28_2a1b_64d4_20b7, 0x3365_7971_4692_d5ff]
    );
    assert_eq!(
        SeedSequence::new((1 << 40) + 7).generate_state(),
        [
            0x0d86_72e1_0e3d_1a15,
            0x9aef_4ada_4ecf_a161,
            0x999c_1c3b_83db_a903,
            0x4089_27dc_0dc8_a316,
            0x7f74_e093_0570_b6f8,
            0x829f_f7aa_24f5_7cfb,
        ]
    );
}

#[test]
fn a_child_sequence_is_numpys_with_that_spawn_key() {
    assert_eq!(
        SeedSequence::child(42, 0).generate_state(),
        [0xdff6_ed7d_a001_c6a4, 0x4323_9888_64d8_4a1f, 0x9c90_dafb_22be_369b, 0x77fd_4b76_7416_fa91]
    );
    assert_eq!(
        SeedSequence::child((1 << 40) + 7, 1).generate_state(),
        [0x31c7_6550_0e68_c11f, 0x92a4_7619_6c76_79a2, 0xf160_fc17_b739_c3ee, 0xe4e9_1854_94aa_606e]
    );
}

#[test]
fn the_generator_draws_numpys_numbers() {
    let mut rng = Pcg64::new(42);
    let expected = [0xc621_fbcd_16d9_2688, 0x705a_5661_a791_ffc1, 0xdbcd_12c2_6eda_1624];
    assert_eq!(expected.map(|_| rng.next_u64()), expected);

    let mut rng = Pcg64::new(42);
    let drawn = [rng.uniform(-1.0, 3.0), rng.uniform(-1.0, 3.0)];
    assert!((drawn[0] - 2.095_824_19).abs() < 1e-8 && (drawn[1] - 0.755_513_76).abs() < 1e-8);
}

#[test]
fn halves_are_drawn_as_numpys_generator_draws_them() {
    // numpy.random.default_rng(42).integers(0, 2**32, 3, dtype=numpy.uint32), then .bit_generator.random_raw(1).
    let mut rng = Pcg64::new(42);
    let halves = [0x16d9_2688_u32, 0xc621_fbcd, 0xa791_ffc1];
    assert_eq!(halves.map(|_| rng.next_u32()), halves);
    // A whole number leaves the half alone that is due.
    assert_eq!(rng.next_u64(), 0xdbcd_12c2_6eda_1624);
    assert_eq!(rng.next_u32(), 0x705a_5661);
    let mut other = Pcg64::new(42);
    other.next_u32();
    let mut copy = Pcg64::from_words(other.to_words()).unwrap();
    assert_eq!((copy.next_u32(), copy.next_u64()), (other.next_u32(), other.next_u64()));
}
