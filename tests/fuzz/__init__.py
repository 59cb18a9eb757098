"""Mutated files for everything that Isoglot reads: `python -m tests.fuzz`, or `make fuzz`.

- `target.py`: what is read, and what counts as sound; `targets_*.py`: one target for each reader.
- `mutate.py`: changed bytes, JSON, tensors and file kinds; `hostile.py`: cases made by hand.
- `case.py`: one case from its name; `pool.py`: worker processes that may die; `__main__.py`: the command.
"""

import os

# Workers are forked, and a forked process has none of its parent's threads. Set before numpy and torch are imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["NUMBA_THREADING_LAYER"] = "workqueue"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"
