"""Heads on encoders: tasks trained in one language and tested in others."""

from isoglot.transfer.examples import (
    TASKS as TASKS,
    Example as Example,
    PairExample as PairExample,
    Question as Question,
)
