"""A string where a list is expected: Python would silently take it letter by letter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from isoglot.errors import InputError


def one_or_many(words: str | Iterable[str]) -> list[str]:
    """A list of words; a string is one word.

    >>> one_or_many("cat"), one_or_many(["cat", "dog"])
    (['cat'], ['cat', 'dog'])
    """
    return [words] if isinstance(words, str) else list(words)


def check_list(items: Any, what: str) -> None:
    """Raise if `items` is a string: `what` says what it should be.

    >>> check_list("a cat", "a sentence is a list of words")
    Traceback (most recent call last):
        ...
    isoglot.errors.InputError: a sentence is a list of words, not the string 'a cat'
    """
    if isinstance(items, str):
        raise InputError(f"{what}, not the string {items[:40]!r}")
