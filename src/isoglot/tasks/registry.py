"""The table of tasks. A task is a function that returns `Results`; `@task` puts it here, an entry point does too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from isoglot.plugins import Registry
from isoglot.tasks.result import Results

F = TypeVar("F", bound=Callable[..., Results])

_TASKS: Registry[Callable[..., Results]] = Registry("task", "isoglot.tasks", "isoglot.tasks")


def task(name: str, summary: str) -> Callable[[F], F]:
    """Enter a function into the table of tasks."""

    def enter(function: F) -> F:
        found: Any = function
        found.summary = summary
        _TASKS.add(name, function)
        return function

    return enter


def tasks() -> Mapping[str, Callable[..., Results]]:
    """All tasks by name, in alphabetical order; those that `@task` entered say what they are in `summary`.

    >>> tasks()["bli"].summary
    'translation of words'
    """
    return _TASKS.all()


def named_task(name: str) -> Callable[..., Results]:
    """The named task; `module:function` and `file.py:function` name one from outside."""
    return _TASKS.get(name)
