"""For all tests."""

from __future__ import annotations

import os

# Two workers with a pool of torch threads each wait for each other more than they work. Set before torch is imported.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
