"""The questions that may be asked of records, and records in memory."""
