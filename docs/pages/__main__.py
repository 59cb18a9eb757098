"""`python -m docs.pages FOLDER`: write the sources of the site."""

from __future__ import annotations

import sys
from pathlib import Path

from .build import write_sources

write_sources(Path(sys.argv[1]))
