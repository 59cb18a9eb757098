"""Looking at alignments: pictures of what was found."""

from __future__ import annotations

from isoglot.explore.alignment_picture import alignment_picture
from isoglot.explore.picture_file import write_picture

__all__ = ["alignment_picture", "write_picture"]
