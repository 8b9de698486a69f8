"""What a release costs and how it is drawn: accounting, ledger, samplers, laws of noise, and the curator."""
