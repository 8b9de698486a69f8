"""One module for each paper and its baselines; none imports another paper's."""
