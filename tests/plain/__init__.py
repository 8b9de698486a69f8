"""Each system once more, written from its text alone, by somebody who had not seen the package's version."""
