"""Readers and writers, one module per file format; `isoglot.spaces.load` has the table of formats."""
