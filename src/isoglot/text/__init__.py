"""Raw text in, clean sentences of tokens out: what joint training and frequency counts start from."""

from __future__ import annotations

from isoglot.text.reading import read_text

__all__ = ["read_text"]
