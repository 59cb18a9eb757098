"""What the alignments of a real encoder come to: Table 1, paired tests, Table 2 and Figure 4, and the claims."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isoglot.reproductions.claims import Claim, difference_text, run_interval
from isoglot.reproductions.density.real.plan import CURVES, ROWS, TABLE, TASKS, RealPlan
from isoglot.reproductions.density.real.runs import Outcome
from isoglot.resumable import to_plain

#: Rows that are compared item by item.
PAIRED = (
    ("Real-NVP", "Rotation"),
    ("Real-NVP", "anchored"),
    ("Real-NVP", "centred only"),
    ("Real-NVP, Procrustes start", "Rotation"),
    ("Rotation", "anchored"),
    ("GAN-Real-NVP + Cross-Correlation", "Real-NVP"),
    ("GAN-Real-NVP + Cross-Correlation", "centred only"),
)
#: Criteria for the choice of an epoch, as the paper's Figure 4 has them, with its correlations.
CRITERIA = {"semantic": 0.86, "structural": 0.44, "validation": -0.12}
#: A language and a task.
UNIT = "cells"


@dataclasses.dataclass(frozen=True)
class Difference:
    """Row `a` minus row `b` on a task: mean over items with its 95% interval, and the p-value of a paired t-test."""

    a: str
    b: str
    task: str
    mean: float
    interval: tuple[float, float]
    p_value: float
    items: int


@dataclasses.dataclass(frozen=True)
class RealFindings:
    """Means and tests.

    means: row, task -> mean over the languages that have the task. best: of each task. level: rows, task by task, that
    are not shown to be below the best of the task (paired t-test over items at .05).
    criteria: criterion -> curve (language, method, task) -> Pearson's r of both over epochs.
    tasks: the same between two tasks.
    """

    encoder: str
    plan: RealPlan
    languages: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    means: Mapping[tuple[str, str], float]
    best: Mapping[str, str]
    level: Mapping[str, tuple[str, ...]]
    differences: tuple[Difference, ...]
    criteria: Mapping[str, Mapping[str, float]]
    tasks: tuple[float, ...]
    claims: tuple[Claim, ...]
    missing: Mapping[str, str]

    def record(self) -> dict[str, Any]:
        def keyed(table: Mapping[tuple[str, str], float]) -> dict[str, float]:
            return {f"{row}: {task}": value for (row, task), value in table.items()}

        return {
            "encoder": self.encoder,
            "plan": dataclasses.asdict(self.plan),
            "languages": list(self.languages),
            "means": keyed(self.means),
            "paper": {row.name: {"mBERT": row.bert, "XLM-R": row.xlmr} for row in TABLE},
            "best": dict(self.best),
            "level": {task: list(rows) for task, rows in self.level.items()},
            "differences": to_plain(self.differences),
            "criteria": {name: dict(values) for name, values in self.criteria.items()},
            "tasks": list(self.tasks),
            "claims": [claim.record() for claim in self.claims],
            "missing": dict(self.missing),
            "outcomes": [_without_items(one) for one in self.outcomes],
        }


def real_findings(encoder: str, plan: RealPlan, languages: Sequence[str], outcomes: Sequence[Outcome]) -> RealFindings:
    """Put finished jobs together."""
    by_row = rows_of(plan, outcomes)
    means = {
        (name, task): float(np.mean(values))
        for name, found in by_row.items()
        for task in TASKS
        if (values := [one.scores[task].figure.value for one in found.values() if task in one.scores])
    }
    best, level = {}, {}
    for task in TASKS:
        known = [name for name, other in means if other == task]
        if known:
            best[task] = max(known, key=lambda name: means[name, task])
            tested = [compared(by_row, best[task], name, task) for name in known if name != best[task]]
            level[task] = tuple(one.b for one in tested if one is not None and not one.p_value < 0.05)
    pairs = itertools.product(PAIRED, TASKS)
    differences = tuple(one for (a, b), task in pairs if (one := compared(by_row, a, b, task)) is not None)
    criteria = {name: _over_epochs(plan, outcomes, name) for name in CRITERIA}
    tasks = tuple(_between_tasks(plan, outcomes))
    missing = {one.job.row: one.missing for one in outcomes if one.missing}
    missing |= {row.name: "the game of `muse` has a length of its own" for row in TABLE if row.few and not row.method}
    return RealFindings(
        encoder, plan, tuple(languages), tuple(outcomes), means, best, level, differences, criteria, tasks,
        tuple(_claims(by_row, criteria, tasks)), missing,
    )  # fmt: skip


def rows_of(plan: RealPlan, outcomes: Sequence[Outcome]) -> dict[str, dict[str, Outcome]]:
    """By row of the table and language; points of the curves that are no row are left out."""
    found: dict[str, dict[str, Outcome]] = {}
    for one in outcomes:
        name = one.job.row
        if one.job.epochs == plan.few:
            name = next(row.name for row in TABLE if row.few and row.name.startswith(f"{name} ("))
        elif one.job.epochs:
            continue
        if not one.missing:
            found.setdefault(name, {})[one.job.language] = one
    return {name: found[name] for name in ROWS if name in found}


def compared(by_row: Mapping[str, Mapping[str, Outcome]], a: str, b: str, task: str) -> Difference | None:
    """The paired test over all items of the languages that both rows and the task have."""
    from scipy.stats import t

    gaps = [
        np.subtract(by_row[a][lang].scores[task].items, by_row[b][lang].scores[task].items)
        for lang in by_row.get(a, {})
        if lang in by_row.get(b, {}) and all(task in by_row[name][lang].scores for name in (a, b))
    ]
    if not gaps:
        return None
    joined = np.concatenate(gaps)
    interval = run_interval(joined.tolist())
    if interval is None:
        return None
    mean, error = float(joined.mean()), float(joined.std(ddof=1)) / len(joined) ** 0.5
    # Items that all differ alike have no variance to test by: there is a difference, or there is none.
    p_value = 2 * float(t.sf(abs(mean) / error, len(joined) - 1)) if error > 1e-12 else float(abs(mean) < 1e-12)
    return Difference(a, b, task, mean, interval, p_value, len(joined))


def cells(by_row: Mapping[str, Mapping[str, Outcome]], a: str, b: str) -> tuple[float, ...]:
    """Row a minus row b, one value for each language and task that both have."""
    return tuple(
        by_row[a][lang].scores[task].figure.value - by_row[b][lang].scores[task].figure.value
        for lang in by_row.get(a, {})
        for task in TASKS
        if lang in by_row.get(b, {}) and all(task in by_row[name][lang].scores for name in (a, b))
    )


def trained(plan: RealPlan, outcomes: Sequence[Outcome], method: str, language: str) -> list[Outcome]:
    """One method after each length of training that was looked at, in order."""
    found = [one for one in outcomes if one.job.epochs and (one.job.row, one.job.language) == (method, language)]
    return sorted((one for one in found if not one.missing), key=lambda one: one.job.epochs)


def _over_epochs(plan: RealPlan, outcomes: Sequence[Outcome], criterion: str) -> dict[str, float]:
    values = {}
    for method, language in itertools.product(CURVES, dict.fromkeys(one.job.language for one in outcomes)):
        curve = trained(plan, outcomes, method, language)
        for task in TASKS:
            both = [
                (value, one.scores[task].figure.value)
                for one in curve
                if task in one.scores and (value := _criterion(one, criterion)) is not None
            ]
            # Validation pairs are words of the same text: CBLI itself says nothing about them as a guide.
            r = correlation(both)
            if r is not None and (criterion != "validation" or task != "CBLI"):
                values[f"{language} {method} {task}"] = r
    return values


def _criterion(one: Outcome, name: str) -> float | None:
    if name == "validation":
        return one.validation
    value = one.criteria.get(name)
    # A small difference of singular values is a good one.
    return None if value is None else -value if name == "structural" else value


def _between_tasks(plan: RealPlan, outcomes: Sequence[Outcome]) -> list[float]:
    values = []
    for method, language in itertools.product(CURVES, dict.fromkeys(one.job.language for one in outcomes)):
        curve = trained(plan, outcomes, method, language)
        for a, b in itertools.combinations(TASKS, 2):
            both = [
                (one.scores[a].figure.value, one.scores[b].figure.value)
                for one in curve
                if a in one.scores and b in one.scores
            ]
            r = correlation(both)
            values += [] if r is None else [r]
    return values


def correlation(points: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's r; None for fewer than three points or where one side does not vary.

    >>> correlation([(0, 1), (1, 2), (2, 3)]), correlation([(0, 1), (1, 1), (2, 1)])
    (1.0, None)
    """
    if len(points) < 3:
        return None
    x, y = np.array(points, dtype=np.float64).T
    if x.std() < 1e-9 or y.std() < 1e-9:
        return None
    return round(float(np.corrcoef(x, y)[0, 1]), 6)


def _claims(
    by_row: Mapping[str, Mapping[str, Outcome]], criteria: Mapping[str, Mapping[str, float]], tasks: Sequence[float]
) -> list[Claim]:
    def claim(text: str, *pairs: tuple[str, str], margin: float = 0.0) -> Claim:
        gaps = tuple(itertools.chain(*(cells(by_row, a, b) for a, b in pairs)))
        told = difference_text(gaps, UNIT) if gaps else "one of the rows has no figures"
        return Claim(text, gaps, margin, told, printed_gap(pairs))

    gan, crossed = "GAN-Real-NVP", "GAN-Real-NVP + Cross-Correlation"
    found = [
        claim("Real-NVP beats Rotation.", ("Real-NVP", "Rotation")),
        claim("Real-NVP beats Normalization.", ("Real-NVP", "Normalization")),
        claim("The semantic criterion beats 5 epochs: Real-NVP.", ("Real-NVP", "Real-NVP (5 epochs)")),
        claim("The semantic criterion beats 5 epochs: FCNN.", ("FCNN", "FCNN (5 epochs)")),
        claim(
            "Bootstrapped with cross-correlation, GAN-Real-NVP comes within 2 points of Real-NVP.",
            (crossed, "Real-NVP"),
            margin=-0.02,
        ),
        claim("Cross-correlation helps GAN-Real-NVP.", (crossed, gan)),
        claim(
            "Cross-correlation is better than graph structure, on MUSE and on GAN-Real-NVP.",
            *((f"{name} + Cross-Correlation", f"{name} + Graph Structure") for name in ("MUSE", gan)),
        ),
        claim("Procrustes helps MUSE.", ("MUSE + Procrustes", "MUSE")),
        claim("Procrustes harms GAN-Real-NVP.", (gan, f"{gan} + Procrustes")),
    ]
    for other, text in (("structural", "structural criterion"), ("validation", "validation data")):
        a, b = criteria["semantic"], criteria[other]
        gaps = tuple(a[curve] - b[curve] for curve in a if curve in b)
        told = f"semantic {_mean(list(a.values()))}, {other} {_mean(list(b.values()))}"
        paper = f"r {CRITERIA['semantic']:.2f} against {CRITERIA[other]:.2f}"
        told = f"{told}; {difference_text(gaps, 'curves')}" if gaps else told
        found.append(Claim(f"The semantic criterion follows the tasks better than the {text}.", gaps, 0.0, told, paper))
    negative = tuple(0.3 - float(r < 0) for r in tasks)
    told = f"{np.mean(np.array(tasks) < 0):.0%} of {len(tasks)}" if tasks else "no curves"
    text = "Tasks correlate negatively over epochs in 30% of pairs of tasks or more."
    found.append(Claim(text, tuple(-gap for gap in negative), 0.0, told, "about 30%"))
    return found


def printed_gap(pairs: Sequence[tuple[str, str]]) -> str:
    """The paper's own difference, a mean over tasks, in points.

    >>> printed_gap([("Real-NVP", "Rotation")])
    'mBERT +2.5, XLM-R +7.7 points'
    """
    gaps = []
    for kind in ("bert", "xlmr"):
        both = [(getattr(ROWS[a], kind), getattr(ROWS[b], kind)) for a, b in pairs]
        gaps.append(float(np.mean([np.mean(np.subtract(x, y)) for x, y in both])))
    return f"mBERT {gaps[0]:+.1f}, XLM-R {gaps[1]:+.1f} points"


def _mean(values: list[float]) -> str:
    interval = run_interval(values)
    if interval is None:
        return "none" if not values else f"{values[0]:+.2f}"
    return f"{np.mean(values):+.2f} ({interval[0]:+.2f} to {interval[1]:+.2f}, {len(values)} curves)"


def _without_items(one: Outcome) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(one)
    plain["scores"] = {task: score["figure"] for task, score in plain["scores"].items()}
    return plain
