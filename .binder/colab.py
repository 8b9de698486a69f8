"""Install the project on Colab, where a notebook arrives alone and has just fetched it, and go to its notebooks.

Nothing is pinned, since Colab's own packages must stay. The script leaves modules only in the notebook's namespace:
the check of the parameters would take another name for one of them.
"""

import os
import subprocess
import sys

os.chdir("private-trees")
subprocess.check_call(
    [*f"{sys.executable} -m pip install -q -e .[plot] seaborn papermill nbclient jinja2".split()]
)
subprocess.check_call([*f"{sys.executable} -m pip install -q --no-deps -e ./book".split()])
sys.path[:0] = [os.path.abspath("."), os.path.abspath("book")]  # found without a restart
os.chdir("notebooks")
