"""Fill in what is missing of the book's results: ``python -m dpnb.experiments all --jobs 2``."""

import sys

from .book.experiments import main

if __name__ == "__main__":
    sys.exit(main())
