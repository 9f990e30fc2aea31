"""Small mutations of the runner's own code, each of which a named test file must notice.

``python -m tests.mutants`` copies the checkout, shows that the named tests pass there, and then makes one mutation at
a time. A mutation that its tests let pass is a *survivor*: something that the tests claim to hold, they do not hold.
"""
