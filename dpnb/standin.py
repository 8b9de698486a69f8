"""Make the stand-in for Adult from the real one: ``python -m dpnb.standin``."""

from .book.standin import main

if __name__ == "__main__":
    main()
