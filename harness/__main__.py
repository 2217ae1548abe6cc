"""`python -m harness`, for checkouts that are not installed."""

from __future__ import annotations

from harness.cli import main

if __name__ == "__main__":
    main()
