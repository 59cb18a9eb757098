"""Commands that are killed at any moment, and run again: `python -m tests.kills`, or `make kill-test`.

- `hooks.py`: kills the process at the n-th change to the file system, before or after it.
- `runner.py`: runs a command in a forked process, unharmed, killed by a hook or killed at a time.
- `scenarios.py`: the commands; `trees.py`: what they leave, without times and dates; `__main__.py`: the command.
"""
