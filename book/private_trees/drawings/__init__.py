"""The figures of the chapters."""
