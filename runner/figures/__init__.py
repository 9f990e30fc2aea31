"""Statistics over records: intervals, equivalence, ratios."""

from runner.system.caller_limits import require_addresses

# Whatever is in here reads NumPy, which is not read before there is room for it.
require_addresses()
