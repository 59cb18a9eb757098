"""Objectives that align the languages of an encoder: pure losses of a batch, one per file."""
