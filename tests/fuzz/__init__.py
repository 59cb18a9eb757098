"""Mutated files for everything that Isoglot reads: `python -m tests.fuzz`, or `make fuzz`.

- `target.py`: what is read, and what counts as sound; `targets_*.py`: one target for each reader.
- `mutate.py`: changed bytes, JSON, tensors and file kinds; `hostile.py`: cases made by hand.
- `case.py`: one case from its name; `pool.py`: worker processes that may die; `__main__.py`: the command.
"""
