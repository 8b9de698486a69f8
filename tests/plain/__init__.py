"""Second implementations, each written from a system's text alone, to test the package's own against."""
