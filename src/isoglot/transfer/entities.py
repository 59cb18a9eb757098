"""Names in BIO or BIOES labels, read as conlleval and seqeval read them: broken sequences too."""

from __future__ import annotations

from collections.abc import Sequence

#: Type, first word, last word.
Entity = tuple[str, int, int]


def entities(labels: Sequence[str]) -> list[Entity]:
    """The names in a sentence.

    A word continues the name before it if its label is I or E, of the same type, and that name has not ended with E or
    S. Otherwise it begins a name: `I-PER` after `O` does, and so does `I-LOC` after `B-PER`.

    >>> entities(["B-PER", "I-PER", "O", "I-LOC", "I-ORG"])
    [('PER', 0, 1), ('LOC', 3, 3), ('ORG', 4, 4)]
    """
    found: list[Entity] = []
    is_open = False
    for place, label in enumerate(labels):
        tag, _, kind = label.partition("-")
        if tag == "O":
            is_open = False
            continue
        if is_open and tag in ("I", "E") and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1], place)
        else:
            found.append((kind, place, place))
        is_open = tag in ("B", "I")
    return found
