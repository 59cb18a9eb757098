"""Readers and writers, one file format a module; `isoglot.spaces.load` holds the table of them."""
