"""``python -m dpnb.domain draft data.csv --target income``."""

import sys

from .drafts import main

sys.exit(main())
