"""`python -m presage` is the command `presage`."""

from __future__ import annotations

from presage.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
