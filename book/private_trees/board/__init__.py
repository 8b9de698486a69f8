"""The board of chapter 9: learners, rivals, grids, and what is read off them."""
