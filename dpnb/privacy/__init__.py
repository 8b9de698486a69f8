"""The cost of releases and how they are drawn: accounting, ledger, samplers, laws of noise, and the curator."""
