"""Trees, how they grow, and the scores by which they split."""
