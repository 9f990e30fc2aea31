"""Prints a measurement whose time is no number."""

print(
    '{"event":"measurement","case":"T=128","metrics":{"seconds":[NaN]},"counts":{"elements":128},'
    '"memory":{"vmhwm_bytes":null,"cgroup_peak_bytes":null}}'
)
