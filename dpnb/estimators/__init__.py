"""The parts that all estimators share, and the documents into which models are written."""
