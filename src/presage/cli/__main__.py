"""`python -m presage.cli` is the command `presage`."""

from __future__ import annotations

import sys

from presage.cli import main

if __name__ == "__main__":
    sys.exit(main())
