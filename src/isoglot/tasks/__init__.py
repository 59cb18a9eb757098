"""Evaluations, one a file. Each returns `Result`s: a figure with its denominator, coverage, interval and items."""

from __future__ import annotations

from isoglot.tasks.bli import bli
from isoglot.tasks.result import Result
from isoglot.tasks.significance import PairedTest, bootstrap_intervals, paired_test

__all__ = ["PairedTest", "Result", "bli", "bootstrap_intervals", "paired_test"]
