"""One module per paper; each reads like the paper's pseudo-code."""
