"""Alqahtani et al. 2021: fine-tuning recipes compared on the same lines."""
