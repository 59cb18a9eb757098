"""Objectives that bring the languages of an encoder together: pure losses of a batch, one a file."""
