"""Prints a measurement for a case that it was not asked for."""

print(
    '{"event":"measurement","case":"T=129","metrics":{"seconds":[1e-6]},"counts":{"elements":129},'
    '"memory":{"vmhwm_bytes":null,"cgroup_peak_bytes":null}}'
)
