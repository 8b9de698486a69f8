"""What each chapter needs beside its text: its parameters, what its figures and tables take, and its checked sentences.

One module a notebook. A notebook calls the functions named ``check_…`` in its last cell, with its own results.
"""

from ..site.notebook import integer, one_of, positive, text

LIVE = {"dataset": one_of("adult-standin", "adult", "bank"), "epsilon": positive()}
"""Parameters of chapters that fit while they run."""
DRAWS = {"seed": integer(low=0), "draws": integer(low=1000)}
"""Parameters of chapters that draw from mechanisms."""
GRID = {
    "seed": integer(low=0),
    "scale": one_of("default", "paper"),
    "results": text(),
    "jobs": integer(low=1),
}
"""Parameters of chapters that read the results of a grid, or compute them."""
