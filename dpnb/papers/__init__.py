"""One module for each paper, and modules of baselines; no paper's module imports another paper's."""
