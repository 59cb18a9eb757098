"""One kill: the command, killed; what is there then; the command again; what is there in the end."""

from __future__ import annotations

import dataclasses
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from .runner import Ended, Kill, run
from .scenarios import Scenario
from .trees import difference, is_leftover, leftovers, tree

__all__ = ["Outcome", "Trial", "cases_of", "measure", "try_case"]

Tree = dict[str, str]


@dataclasses.dataclass(frozen=True)
class Trial:
    """A scenario and what it does when nobody disturbs it.

    Args:
        fresh: its run in a folder without results; done: what that leaves.
        over: its run where an old result stands; old: that result; replaced: what stands there afterwards.
    """

    scenario: Scenario
    fresh: Ended
    done: Tree
    over: Ended | None = None
    old: Tree | None = None
    replaced: Tree | None = None
    problems: tuple[str, ...] = ()

    def summary(self) -> str:
        line = f"{self.scenario.name}: {len(self.fresh.changes)} changes in {self.fresh.seconds:.1f} s"
        if self.over is not None:
            line += f"; over an old result {len(self.over.changes)}"
        return "; ".join([line, *self.problems])


@dataclasses.dataclass(frozen=True)
class Outcome:
    """`problems` are broken promises, `notes` what one may want to know."""

    moment: str
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


def measure(scenario: Scenario, scratch: Path) -> Trial:
    """Run it twice unharmed: it must end well, leave nothing behind, and give the same again."""
    problems = []
    work = _begin(scenario, scratch)
    fresh = _good(run(scenario.arguments, work, prepare=scenario.prepare), scenario.name)
    done = tree(work, scenario.given())
    if left := leftovers(work, scenario.given()):
        problems.append(f"LEFT OVER by an unharmed run: {', '.join(left)}")
    work = _begin(scenario, scratch)
    _good(run(scenario.arguments, work, prepare=scenario.prepare), scenario.name)
    if changed := difference(done, tree(work, scenario.given())):
        problems.append(f"NOT REPEATABLE: {changed}")
    if not scenario.old:
        return Trial(scenario, fresh, done, problems=tuple(problems))
    work = _begin(scenario, scratch, old=True)
    old = tree(work, scenario.given())
    over = _good(run(scenario.arguments, work, prepare=scenario.prepare), scenario.name)
    return Trial(scenario, fresh, done, over, old, tree(work, scenario.given()), tuple(problems))


def cases_of(trials: Sequence[Trial], count: int, seed: int, *, every: bool = False) -> list[str]:
    """Names of kills: `command:fresh|old:at:change:before|after` or `command:fresh|old:time:thousandths of a run`."""
    if every:
        return [
            f"{trial.scenario.name}:{state}:at:{at}:{when}"
            for trial in trials
            for state, ended in _states(trial)
            for at in range(1, len(ended.changes) + 1)
            for when in ("before", "after")
        ]
    cases: dict[str, None] = {}
    for number in range(20 * count):
        trial = trials[number % len(trials)]
        rng = random.Random(f"{seed}:{number}")
        state, ended = rng.choice(_states(trial))
        if rng.random() < 0.3 or not ended.changes:
            case = f"time:{rng.randrange(1000)}"
        else:
            # Most promises are kept or broken near the end, where results take their names.
            last = len(ended.changes)
            at = rng.randint(max(1, last - 25), last) if rng.random() < 0.5 else rng.randint(1, last)
            case = f"at:{at}:{rng.choice(['before', 'after'])}"
        cases[f"{trial.scenario.name}:{state}:{case}"] = None
        if len(cases) == count:
            break
    return list(cases)


def try_case(case: str, trial: Trial, scratch: Path) -> Outcome:
    """Kill, look, run again, look."""
    scenario = trial.scenario
    _, state, kind, *rest = case.split(":")
    ended = trial.fresh if state == "fresh" else trial.over
    assert ended is not None
    kill = (
        Kill(int(rest[0]), rest[1]) if kind == "at" else Kill(seconds=max(int(rest[0]) / 1000 * ended.seconds, 0.001))
    )
    moment = str(kill)
    if kill.at and kill.at <= len(ended.changes):
        moment += f", {ended.changes[kill.at - 1]}"
    work = _begin(scenario, scratch, old=state == "old")
    first = run(scenario.arguments, work, kill, scenario.prepare)
    problems, notes = [], []
    if not first.killed and first.code:
        problems.append(f"ended with code {first.code} before it was killed: {_last(first.said)}")
    problems += _lost(trial, work, state)
    # Every other kill is followed by the command that resumes, where there is one and something to resume.
    resumes = scenario.resume and sum(case.encode()) % 2 and (work / scenario.resumable).exists()
    again = run(scenario.resume if resumes else scenario.arguments, work, prepare=scenario.prepare)
    if again.code:
        problems.append(f"the second run ended with code {again.code}: {_last(again.said)}")
        return Outcome(moment, tuple(problems))
    wanted = trial.done if state == "fresh" else trial.replaced
    assert wanted is not None
    if left := leftovers(work, scenario.given()):
        problems.append(f"left over: {', '.join(left[:4])}{' ...' if len(left) > 4 else ''}")
        for name in left:
            if (work / name).is_dir():
                shutil.rmtree(work / name, ignore_errors=True)
            else:
                (work / name).unlink(missing_ok=True)
    if changed := difference(wanted, tree(work, scenario.given())):
        problems.append(f"not what an unkilled run gives: {changed}")
    return Outcome(moment, tuple(problems), tuple(notes))


def _states(trial: Trial) -> list[tuple[str, Ended]]:
    return [("fresh", trial.fresh), *([("old", trial.over)] if trial.over is not None else [])]


def _lost(trial: Trial, work: Path, state: str) -> list[str]:
    """After a kill the old result, if there was one, or the new one stands in its place, whole."""
    output = trial.scenario.output
    if state == "fresh" and not trial.scenario.old:
        return []  # a folder that fills as the command proceeds
    before, after = (trial.old, trial.replaced) if state == "old" else ({}, trial.done)
    here, old, new = (
        {name: digest for name, digest in found.items() if name.split("/")[0] == output and not is_leftover(name)}
        for found in (tree(work, trial.scenario.given()), before or {}, after or {})
    )
    if here in (old, new):
        return []
    beside = [path.name for path in work.iterdir() if path.name.startswith(f".{output}.")]
    if not here:
        return [f"no result stands at {output} after the kill (beside it: {', '.join(beside) or 'nothing'})"]
    files = {name for name in (*old, *here) if not name.endswith("/")}
    if not trial.scenario.whole and all(here.get(name) in (old.get(name), new.get(name)) for name in files):
        return []
    return [f"neither the old result nor the new one: {difference(old, here)}"]


def _begin(scenario: Scenario, scratch: Path, *, old: bool = False) -> Path:
    """The working folder with inputs; always the same path, as results name files. Made once, then copied."""
    work, made = scratch / "work", scratch / f"{scenario.name}-{'old' if old else 'fresh'}"
    shutil.rmtree(work, ignore_errors=True)
    if not made.exists():
        scenario.fill(scratch / "inputs", work)
        for arguments in scenario.first:
            _good(run(arguments, work), scenario.name)
        if old:
            _good(run(scenario.old, work, prepare=scenario.prepare), scenario.name)
        work.rename(made)
    shutil.copytree(made, work, symlinks=True)
    return work


def _good(ended: Ended, name: str) -> Ended:
    if ended.code:
        raise SystemExit(f"{name}: an unharmed run ended with code {ended.code}: {_last(ended.said)}")
    return ended


def _last(said: str) -> str:
    lines = [line for line in said.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else "nothing said"
