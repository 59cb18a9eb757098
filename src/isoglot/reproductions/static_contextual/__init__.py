"""Hämmerl et al. 2022: static vectors out of an encoder, and back into it."""
