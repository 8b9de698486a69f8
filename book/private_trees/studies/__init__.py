"""What is run for each chapter, at the papers' own scale."""
