"""Data sets with their public domains, and the stand-in's file."""
