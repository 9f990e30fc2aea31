"""Untrusted input, mutated at random from real input: every execution ends well, or in an error of ours, soon.

mutate.py    seeded changes of bytes, and of the structure of JSON and YAML
corpus.py    the real input that mutation starts from
targets.py   what is fed, and what may come of it
engine.py    the loop: bounded in time, and each execution in time and memory

``python -m tests.fuzz --help`` for the long run; tests/unit/fuzz has the short one.
"""
