"""The interruption harness: real runs, hit by a fault at a seeded moment, checked, and finished by the next call.

``python -m tests.interruption --runs 200 --seed 1`` prints a table of kinds and outcomes, and every violation with
the number by which its trial is run again alone (``--only-run N``).

One *trial* is: a run of a small matrix (the *hit* run), a fault at a moment of it, a look at what is left, the next
call, and a comparison with what an uninterrupted run leaves.
"""
