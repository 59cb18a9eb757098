"""`python -m tests.kills`: kill commands at random and chosen moments, run them again, compare with an unkilled run.

python -m tests.kills --count 100 --seed 0
python -m tests.kills --only align,joint --every
python -m tests.kills --case align:old:at:12:before
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from pathlib import Path

import tests.fuzz  # noqa: F401 (one thread each, as there)

from . import hooks
from .killing import Trial, cases_of, measure, try_case
from .scenarios import SCENARIOS, make_inputs


def main() -> int:
    options = _options()
    names = (
        options.only.split(",") if options.only else [options.case.split(":")[0]] if options.case else list(SCENARIOS)
    )
    hooks.watch_libc()  # before anything of Isoglot binds a function of the C library
    inputs = {one for name in names for one in SCENARIOS[name].inputs}
    _warm(torch="encoder" in inputs or any(name.startswith("export") for name in names))
    failures = 0
    with tempfile.TemporaryDirectory(prefix="isoglot-kills-") as place:
        scratch = Path(place)
        _in_child(scratch / "inputs", *inputs)
        trials: list[Trial] = []
        for name in names:
            trial = measure(SCENARIOS[name], scratch)
            trials.append(trial)
            failures += bool(trial.problems)
            _say(trial.summary())
        cases = [options.case] if options.case else cases_of(trials, options.count, options.seed, every=options.every)
        by_name = {trial.scenario.name: trial for trial in trials}
        for number, case in enumerate(cases, start=1):
            outcome = try_case(case, by_name[case.split(":")[0]], scratch)
            if outcome.problems:
                failures += 1
            for problem in outcome.problems:
                _say(f"FAILED {case} ({outcome.moment}): {problem}")
            for note in outcome.notes:
                _say(f"note {case} ({outcome.moment}): {note}")
            if number % 25 == 0:
                _say(f"{number} kills, {failures} with defects")
        _say(f"{len(cases)} kills of {len(names)} commands: {failures} with defects")
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="kills, spread over all commands")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="only these commands, separated by commas")
    parser.add_argument("--every", action="store_true", help="at every change of a file, before and after it")
    parser.add_argument("--case", help="only this kill, e.g. align:old:at:12:before")
    return parser.parse_args()


def _warm(*, torch: bool) -> None:
    """Import what commands need, once; each of them runs in a process forked from here."""
    modules = ["numba", "pydantic", "rich.progress", "scipy.linalg", "scipy.spatial", "scipy.stats"]
    modules += ["isoglot.cli.align", "isoglot.cli.inputs", "isoglot.distill", "isoglot.joint", "isoglot.simulate"]
    modules += ["isoglot.pipelines", "isoglot.retrieval.exact"]
    if torch:
        modules += ["accelerate", "sentence_transformers", "torch", "transformers", "isoglot.pipelines.training_run"]
        modules += ["isoglot.reproductions.static_contextual.stages"]
    for module in modules:
        importlib.import_module(module)
    if torch:
        sys.modules["torch"].set_num_threads(1)


def _in_child(folder: Path, *names: str) -> None:
    child = os.fork()
    if child == 0:
        try:
            make_inputs(folder, *names)
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
        os._exit(1)
    if os.waitpid(child, 0)[1]:
        raise SystemExit("the inputs could not be made")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
