"""The board of chapter 7: learners, rivals, grids, and what is read off them."""
