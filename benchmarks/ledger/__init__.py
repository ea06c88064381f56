"""The ledger: every figure with the command, code, data, machine and cost that it has come from."""
