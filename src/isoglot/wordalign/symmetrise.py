"""One set of links out of two directed ones (Och & Ney 2003; Koehn, Och & Marcu 2003).

An aligner that gives every source word one target, and its opposite, agree on few but good links (`intersection`) and
cover much with many bad ones (`union`). The heuristics in between start from what both say and add, step by step,
neighbours that one of them says.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection

from isoglot.errors import InputError
from isoglot.suggest import choose

Link = tuple[int, int]

#: Name and what it does.
SYMMETRISATIONS: dict[str, str] = {
    "intersection": "links of both directions",
    "union": "links of either direction",
    "grow-diag": "the intersection, and links of the union beside a link if one of their words has none yet",
    "grow-diag-final": "grow-diag, then links of either direction if one of their words has none yet",
    "grow-diag-final-and": "grow-diag, then links of either direction if both of their words have none yet",
}

_BESIDE = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrise(
    forward: Collection[Link], backward: Collection[Link], how: str = "grow-diag-final-and", *, n: int, m: int
) -> frozenset[Link]:
    """Merge links of the two directions, both written (source, target), of a pair of `n` and `m` words.

    Points are visited by source, then target position, until nothing is added; `final` takes the forward links first.

    >>> sorted(symmetrise({(0, 0), (1, 1), (2, 1)}, {(0, 0), (1, 1)}, n=3, m=2))
    [(0, 0), (1, 1), (2, 1)]
    """
    check_symmetrisation(how)
    ahead, back = set(forward), set(backward)
    either = ahead | back
    outside = [link for link in either if not (0 <= link[0] < n and 0 <= link[1] < m)]
    if outside:
        raise InputError(f"the link {min(outside)} is outside of a pair of {n} and {m} words")
    if how == "union":
        return frozenset(either)
    links = ahead & back
    if how == "intersection":
        return frozenset(links)
    rows, columns = [0] * n, [0] * m
    for i, j in links:
        rows[i] = columns[j] = 1
    _grow(links, either, rows, columns)
    if how != "grow-diag":
        both = how == "grow-diag-final-and"
        for i, j in [*sorted(ahead), *sorted(back)]:
            if rows[i] + columns[j] < (1 if both else 2):
                links.add((i, j))
                rows[i] = columns[j] = 1
    return frozenset(links)


def check_symmetrisation(how: str) -> None:
    """Raise for an unknown name, with the nearest known one."""
    choose("symmetrisation", how, SYMMETRISATIONS, where="symmetrise")


def _grow(links: set[Link], either: set[Link], rows: list[int], columns: list[int]) -> None:
    """Add to `links`, in sweeps over the points in order; a point added ahead of the sweep is visited in the same one.

    A heap of points does what the papers' loop over all cells does, without looking at the empty ones.
    """
    added = True
    while added:
        added = False
        waiting = sorted(links)  # a sorted list is a heap
        while waiting:
            here = heapq.heappop(waiting)
            for down, right in _BESIDE:
                link = i, j = here[0] + down, here[1] + right
                if link in either and link not in links and not (rows[i] and columns[j]):
                    links.add(link)
                    rows[i] = columns[j] = 1
                    added = True
                    if link > here:
                        heapq.heappush(waiting, link)
