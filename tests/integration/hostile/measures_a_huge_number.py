"""Prints a count of four thousand digits."""

print(
    '{"event":"measurement","case":"T=128","metrics":{"seconds":[1e-6]},"counts":{"elements":'
    + "9" * 4000
    + "},"
    '"memory":{"vmhwm_bytes":null,"cgroup_peak_bytes":null}}'
)
