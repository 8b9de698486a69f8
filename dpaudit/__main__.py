"""``python -m dpaudit``."""

import sys

from .cli import main

sys.exit(main())
