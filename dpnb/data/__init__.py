"""Data sets and what is public of them; the stand-in's file."""
