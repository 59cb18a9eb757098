"""One case: a specimen copied, mutated as its name says, read, and judged.

A name is `target:seed:number` for a mutation and `target:hand:which` for a case made by hand. The same name gives the
same file again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
import re
import shutil
import traceback
import warnings
from pathlib import Path
from typing import Any

from isoglot.errors import IsoglotError

from . import hostile
from .mutate import make_kind, mutate_file
from .target import TARGETS, Target, Unsound

__all__ = ["KINDS", "Verdict", "make_case", "names_by_hand", "run_case"]

#: Files of another kind than a file, each tried on every file of a specimen (at most this many).
KINDS = ("missing", "folder", "fifo", "loop", "zeros", "empty", "dangling")
_FILES = 12
#: Kibibytes that reading a specimen of kilobytes may take beyond what the process has.
MEMORY = 400_000


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What became of a case: `kind` is sound, refused, or the kind of a defect."""

    case: str
    kind: str
    what: str = ""
    where: str = ""
    mutation: str = ""

    @property
    def failed(self) -> bool:
        return self.kind not in ("sound", "refused")

    @property
    def signature(self) -> str:
        """The same for all cases that show one defect."""
        what = re.sub(r"'[^']*'|\d+", "#", self.what.split(":")[0])[:60]
        return f"{self.case.partition(':')[0]} | {self.kind} | {what} | {self.where}"


def names_by_hand(target: Target, specimen: Path) -> list[str]:
    """Names of the cases made by hand: other kinds of file in every place, and hostile content where it fits."""
    files = target.files(specimen)[:_FILES]
    names = [f"{kind}@{path.relative_to(specimen)}" for path in files for kind in KINDS]
    names += [f"{name}@{path.relative_to(specimen)}" for path in files for name in hostile.fitting(path)]
    return [f"{target.name}:hand:{name}" for name in names if not target.hand or name.partition("@")[0] in target.hand]


def make_case(name: str, specimen: Path, folder: Path) -> str:
    """Copy the specimen to `folder` and mutate the copy; gives what was done."""
    which, seed, number = name.split(":", 2)
    target = TARGETS[which]
    shutil.copytree(specimen, folder)
    if target.settle is not None:
        target.settle(folder)
    if seed == "hand":
        kind, _, place = number.partition("@")
        victim = folder / place
        done = make_kind(victim, kind) if kind in KINDS else hostile.write(kind, victim)
        return f"{place}: {done}"
    rng = random.Random(name)
    victim = rng.choice(target.files(folder))
    done = f"{victim.relative_to(folder)}: {mutate_file(victim, rng)}"
    if rng.random() < 0.5 and _reseal(victim, folder):
        return f"{done}, checksum renewed"
    return done


def _reseal(victim: Path, folder: Path) -> bool:
    """Put the changed file's checksum into the manifest that lists it: checks behind the checksum are reached so."""
    if not victim.is_file() or victim.is_symlink():
        return False
    for place in (one for one in victim.parents if one == folder or folder in one.parents):
        for manifest in sorted(place.glob("*.json")):
            try:
                content = json.loads(manifest.read_text("utf-8"))
                name = victim.relative_to(place).as_posix()
                if name not in content["files"]:
                    continue
                content["files"][name] = hashlib.sha256(victim.read_bytes()).hexdigest()
            except (OSError, ValueError, LookupError, TypeError, RecursionError):
                continue
            manifest.write_text(json.dumps(content), "utf-8")
            return True
    return False


def run_case(name: str, specimen: Path, folder: Path, expected: Any) -> Verdict:
    """Make the case, read it and judge what comes of it."""
    target = TARGETS[name.partition(":")[0]]
    done = make_case(name, specimen, folder)
    (folder.parent / "mutation").write_text(done, "utf-8")  # read if this process does not live to tell
    _reset_peak()
    before = _peak()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        verdict = _judge(name, target, folder, done, expected)
    grown = _peak() - before
    if not verdict.failed and grown > MEMORY:
        return Verdict(name, "memory", f"too much: {grown // 1024} MB", "", done)
    odd = [one for one in told if issubclass(one.category, RuntimeWarning)]
    if not verdict.failed and odd:
        place = f"{Path(odd[0].filename).name}:{odd[0].lineno}"
        return Verdict(name, "warning", str(odd[0].message), place, done)
    return verdict


def _judge(name: str, target: Target, folder: Path, done: str, expected: Any) -> Verdict:
    try:
        outcome = target.read(folder)
    except IsoglotError as error:
        if "\n" in str(error):
            return Verdict(name, "crash", "an error of several lines", _raised(error), done)
        if len(str(error)) > 2000:
            return Verdict(name, "crash", "an error of more than 2,000 characters", _raised(error), done)
        if target.exact:
            return Verdict(name, "silent", f"refused instead of made again: {error.what}", _raised(error), done)
        if str(folder) not in str(error):
            return Verdict(name, "no place", error.what[:80], _raised(error), done)
        return Verdict(name, "refused", str(error), "", done)
    except Unsound as error:
        return Verdict(name, "silent", str(error), "", done)
    except MemoryError as error:
        return Verdict(name, "memory", "MemoryError", _raised(error), done)
    except OSError as error:
        # The command line makes one line of these, which is enough for a file that is not there or no file.
        if ": kind " in done and error.filename is not None:
            return Verdict(name, "refused", str(error), "", done)
        return Verdict(name, "crash", f"{type(error).__name__}: {error}", _raised(error), done)
    except Exception as error:
        return Verdict(name, "crash", f"{type(error).__name__}: {error}"[:300], _raised(error), done)
    if target.exact and outcome != expected:
        return Verdict(name, "silent", "not what the undamaged file gives", "", done)
    return Verdict(name, "sound", "", "", done)


def _raised(error: BaseException) -> str:
    """The innermost line of Isoglot that it passed, and the one that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "isoglot" in Path(frame.filename).parts]
    frame = own[-1] if own else frames[-1]
    parts = Path(frame.filename).parts
    begin = parts.index("isoglot") + 1 if "isoglot" in parts else -1
    return f"{'/'.join(parts[begin:])}:{frame.name}"


def _reset_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return  # then the peak is that of all cases so far, and only a new one is seen


def _peak() -> int:
    """The process's largest resident size in KiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1])
    return 0
