"""`python -m tests.fuzz`: run cases, print each distinct defect once, keep the files that show it.

python -m tests.fuzz --count 20000 --seed 0 --save fuzz-failures
python -m tests.fuzz --only fasttext,native --count 500
python -m tests.fuzz --case fasttext:0:1234
"""

from __future__ import annotations

import argparse
import collections
import itertools
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import pool
from .case import Verdict, names_by_hand
from .pool import in_child, run_all
from .target import TARGETS

#: Modules of the targets by group; those of encoders load torch.
GROUPS = {
    "vectors": ("targets_vectors",),
    "texts": ("targets_texts", "targets_catalogue"),
    "folders": ("targets_folders", "targets_work"),
    "encoders": ("targets_encoders",),
    "self": ("targets_self",),
}


def main() -> int:
    options = _options()
    chosen = _load(options.group, options.only or options.case)
    with tempfile.TemporaryDirectory(prefix="isoglot-fuzz-") as place:
        scratch = Path(place)
        os.environ["ISOGLOT_CACHE"] = str(scratch / "cache")
        in_child(_make, chosen, scratch / "specimens")
        for name in chosen:
            if TARGETS[name].warm:
                TARGETS[name].read(scratch / "specimens" / name)
        if options.group == "self":
            pool.SECONDS_OF_A_PIPE = 2.0  # its reader that hangs does nothing but that
        cases = [options.case] if options.case else _cases(options, chosen, scratch / "specimens")
        return _report(options, run_all(cases, scratch / "specimens", scratch, workers=options.workers))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000, help="mutations, spread over all targets")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of each target's first mutation")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--group", choices=GROUPS, help="only the targets of one group")
    parser.add_argument("--only", help="only these targets, separated by commas")
    parser.add_argument(
        "--hand",
        choices=("all", "small", "few", "none"),
        default="all",
        help="cases made by hand; small: without bombs; few: a quarter of those",
    )
    parser.add_argument("--case", help="only this one, e.g. fasttext:0:1234")
    parser.add_argument("--save", type=Path, help="keep the files of the first case of each defect in this folder")
    parser.add_argument("--list", action="store_true", help="say what the targets are, and stop")
    options = parser.parse_args()
    if options.list:
        for name in _load(options.group, options.only):
            print(f"{TARGETS[name].group:9} {name}")  # noqa: T201
        raise SystemExit(0)
    return options


def _load(group: str | None, names: str | None) -> list[str]:
    """Import what makes these targets, and give their names."""
    import importlib

    wanted = [part.partition(":")[0] for part in names.split(",")] if names else []
    for own, modules in GROUPS.items():
        if (group or own) == own != ("" if group else "self") and (not wanted or not set(wanted) <= set(TARGETS)):
            for module in modules:
                importlib.import_module(f"tests.fuzz.{module}")
    unknown = set(wanted) - set(TARGETS)
    if unknown:
        raise SystemExit(f"unknown target {', '.join(sorted(unknown))}; --list names them")
    # Modules of one group may import those of another.
    return wanted or [name for name, one in TARGETS.items() if group in (None, one.group)]


def _make(names: Sequence[str], folder: Path) -> None:
    for name in names:
        (folder / name).mkdir(parents=True)
        TARGETS[name].make(folder / name)


def _cases(options: argparse.Namespace, names: Sequence[str], specimens: Path) -> Iterator[str]:
    """Those made by hand, then mutations of all targets in turn."""
    end = time.monotonic() + options.seconds if options.seconds else None
    hand = [one for name in names for one in names_by_hand(TARGETS[name], specimens / name)]
    if options.hand in ("small", "few"):
        hand = [one for one in hand if "bomb" not in one]
    if options.hand == "few":
        hand = random.Random(options.seed).sample(hand, len(hand) // 4)
    mutations = (f"{name}:{options.seed}:{number}" for number in itertools.count(options.first) for name in names)
    by_hand = [] if options.hand == "none" else hand
    for case in itertools.chain(by_hand, itertools.islice(mutations, options.count)):
        if end is not None and time.monotonic() > end:
            return
        yield case


def _report(options: argparse.Namespace, verdicts: Iterator[tuple[Verdict, Path]]) -> int:
    """Print defects as they are found, the first case of each, and a table at the end."""
    kinds: dict[str, collections.Counter[str]] = {}
    seen: collections.Counter[str] = collections.Counter()
    began = time.monotonic()
    for verdict, folder in verdicts:
        group = TARGETS[verdict.case.partition(":")[0]].group
        kinds.setdefault(group, collections.Counter())[verdict.kind] += 1
        if options.case:
            _say(f"{verdict.kind}: {verdict.what or 'accepted'} [{verdict.where}] <- {verdict.mutation}")
        if not verdict.failed:
            continue
        seen[verdict.signature] += 1
        if seen[verdict.signature] == 1:
            _say(f"{verdict.kind}: {verdict.case}: {verdict.what} [{verdict.where}] <- {verdict.mutation}")
            if options.save:
                _keep(verdict, folder / "case", options.save)
    for group, own in kinds.items():
        _say(f"{group}: {own.total():,} cases, {_counts(own)}")
    total = sum(kinds.values(), collections.Counter())
    _say(f"{total.total():,} cases in {time.monotonic() - began:.0f} s: {_counts(total)}")
    for signature, times in sorted(seen.items()):
        _say(f"{times:6,} x {signature}")
    return 1 if seen else 0


def _counts(kinds: collections.Counter[str]) -> str:
    return ", ".join(f"{kind} {number:,}" for kind, number in sorted(kinds.items()))


def _keep(verdict: Verdict, folder: Path, save: Path) -> None:
    place = save / verdict.case.replace("/", "_").replace(":", "_")[:120]
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    # Pipes and devices cannot be copied; what stood there is told in the note.
    if folder.exists():
        shutil.copytree(folder, place / "files", symlinks=True, ignore=_special)
    note = f"{verdict.signature}\n{verdict.what}\n{verdict.mutation}\npython -m tests.fuzz --case '{verdict.case}'\n"
    (place / "note.txt").write_text(note, "utf-8")


def _special(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if (Path(folder) / name).is_fifo()}


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
