"""What all estimators share, and the documents that they are written into."""
