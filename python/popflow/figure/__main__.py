"""`python3 -m popflow.figure FILE -o FIGURE`, which `popflow plot` calls."""

import sys

from .command import run

if __name__ == "__main__":
    sys.exit(run())
