"""Isoglot puts languages into one vector space, says how well they fit, and makes the result useful."""

__version__ = "0.1.0"
