"""What is run for each chapter, at the papers' own scale; and the machinery of it: cells, runs, targets, scores."""
