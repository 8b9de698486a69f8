"""The book's workshop: grids, figures, claims, notebooks and the stand-in; nothing of the product imports it."""
