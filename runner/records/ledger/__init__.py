"""The ledger of a store: what was planned and started there, in lines that hold each other's hashes."""
