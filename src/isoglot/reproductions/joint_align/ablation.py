"""Which step of Joint-Align brings what: the rows of Wang et al.'s Tables 1 and 2 on one's own text.

All rows are asked the same words. Separate training with the same aligner stands beside them; `baselines` adds
Joint-Replace and supervised joint training.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from isoglot.aligned import Aligned
from isoglot.errors import ConfigError
from isoglot.files import atomic_path
from isoglot.joint import between
from isoglot.lexicons import Lexicon
from isoglot.pipelines import (
    VARIANTS,
    JointJob,
    check_directions,
    choose_gamma,
    run_stages,
    space_of,
    split_tests,
    warnings_of,
)
from isoglot.progress import Progress, silent
from isoglot.report import Report, ablation_section, write_report
from isoglot.spaces import Space
from isoglot.tasks import PairedTest, Result, bli, p_text, paired_test
from isoglot.wordvectors import Corpus, TextFile, train_texts

Identical = Literal["keep", "remove"]

#: What the paper reports, average P@1 over its ten directions on Wikipedia text (Table 1), for the eye only.
PAPER = {
    "joint": 0.293,
    "joint + reallocation": 0.423,
    "joint + refinement, no reallocation": 0.290,
    "full": 0.745,
    "separate + alignment": 0.724,
}
#: What the paper compares, with pairs of identical form kept or removed: the first row is better, but for the last
#: comparison, where refinement brings nothing.
CLAIMS: tuple[tuple[str, str, Identical], ...] = (
    ("joint + reallocation", "joint", "keep"),
    ("joint + reallocation", "joint", "remove"),
    ("full", "separate + alignment", "keep"),
    ("full", "separate + alignment", "remove"),
    ("full", "joint + reallocation", "keep"),
    ("joint + refinement, no reallocation", "joint", "keep"),
)


@dataclasses.dataclass(frozen=True, eq=False)
class AblationRow:
    """One way to get a shared space. `results`: P@1 by (identical, denominator).

    `moved`: P@1 over the test words that joint training shares and reallocation takes from one language, pairs of
    different form; None if there is no such word. These are what reallocation is for.
    """

    name: str
    results: Mapping[tuple[str, str], Result]
    moved: float | None

    def record(self) -> dict[str, Any]:
        figures = {
            f"{identical}/{denominator}": {
                "value": round(result.value, 4),
                "interval": None if result.interval is None else [round(bound, 4) for bound in result.interval],
                "n": result.n,
            }
            for (identical, denominator), result in self.results.items()
        }
        moved = None if self.moved is None else round(self.moved, 4)
        return {"name": self.name, "paper": PAPER.get(self.name), "figures": figures, "moved": moved}


@dataclasses.dataclass(frozen=True, eq=False)
class Ablation:
    """All rows, paired tests of the paper's claims, and what they were made with."""

    title: str
    rows: tuple[AblationRow, ...]
    tests: Mapping[tuple[str, str, Identical], PairedTest]
    moved_words: int
    gamma: float
    gammas: Mapping[float, float]
    kinds: Mapping[str, Mapping[str, int]]
    settings: Mapping[str, Any]

    def table(self, identical: Identical) -> tuple[list[str], list[list[str]]]:
        """Heading and rows: P@1 of all test words, and of those that have vectors.

        Among pairs of different form, also P@1 of the words that reallocation moved.
        """
        head = ["", "P@1", "95% interval", "known"]
        if identical == "remove":
            head.append("moved")
        rows = []
        for row in self.rows:
            full, known = row.results[identical, "full"], row.results[identical, "in-vocabulary"]
            low, high = full.interval or (full.value, full.value)
            moved = "" if row.moved is None else f"{row.moved:.3f}"
            cells = [row.name, f"{full.value:.3f}", f"{low:.3f} to {high:.3f}", f"{known.value:.3f}", moved]
            rows.append(cells[: len(head)])
        return head, rows

    def sentences(self) -> list[str]:
        """The claims in plain words."""
        lines = []
        for (better, worse, identical), test in self.tests.items():
            among = "all pairs" if identical == "keep" else "pairs of different form"
            verb = "no different from" if test.p_value >= 0.05 else "above" if test.difference > 0 else "below"
            lines.append(
                f"{better}: {100 * test.difference:+.1f} points, {verb} {worse} (p {p_text(test.p_value)}, {among})"
            )
        joint = next(row for row in self.rows if row.name == "joint").results
        every, different = joint["keep", "full"].value, joint["remove", "full"].value
        lines.append(f"joint alone: {every:.3f} of all pairs, {different:.3f} of those of different form")
        return lines

    def record(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "rows": [row.record() for row in self.rows],
            "tests": [
                {"better": better, "worse": worse, "identical": identical, **test.record()}
                for (better, worse, identical), test in self.tests.items()
            ],
            "moved_words": self.moved_words,
            "gamma": self.gamma,
            "gammas": {str(key): round(value, 4) for key, value in self.gammas.items()},
            "kinds": {name: dict(own) for name, own in self.kinds.items()},
            "settings": dict(self.settings),
        }


def run_ablation(
    job: JointJob,
    folder: str | Path,
    *,
    baselines: bool = False,
    threads: int | None = None,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda line: None,
) -> Ablation:
    """Train what is missing in `folder`, then build and measure every row."""
    folder = Path(folder)
    if len(job.texts) != 2 or len(job.lexicons) != 1 or job.aligner is None:
        raise ConfigError("the ablation takes two texts, one lexicon and a method to refine with")
    if baselines and not job.tests:
        raise ConfigError("the baselines train on the lexicon", remedy="give `tests`, a lexicon of its own to test on")

    def trained(name: str, texts: list[TextFile], variant: str = "joint") -> Any:
        corpus = dataclasses.replace(
            job.corpus,
            lines_of=job.corpus.lines_of if len(texts) > 1 else None,
            apart=variant == "supervised",
        )
        settings = dataclasses.replace(job.training, **VARIANTS[variant])
        tell(f"training {name}")
        lexicons = job.lexicons if variant != "joint" else None
        place = folder / "work" / name
        return train_texts(texts, place, corpus, settings, lexicons, threads=threads, progress=progress, tell=tell)

    first, second = job.texts
    place = folder / "work" / "joint" / "corpus"  # where `train_texts` finds it again
    check_directions(Corpus.build(job.texts, place, job.corpus, progress=progress), job.lexicons, job.tests)
    together = trained("joint", [first, second])
    for warning in warnings_of(together.corpus, [first.path, second.path]):
        tell(f"warning: {warning}")
    joint = space_of(together)
    lexicons, tests = split_tests(job.lexicons, job.tests, joint)
    if not tests:
        raise ConfigError("the lexicon is too small to hold words out", remedy="give `tests`")
    (pair, test), *_ = tests.items()
    separate = [space_of(trained(f"separate-{text.lang}", [text])).view(text.lang) for text in (first, second)]
    gamma = job.gamma
    gammas: dict[float, float] = {}
    if gamma is None:
        gamma, gammas = choose_gamma(joint, job.aligner, lexicons, progress=progress)
    supervised = job.aligner.method.supervision != "unsupervised"
    pairs = between(lexicons, first.lang, second.lang) if supervised else None
    alignment = job.aligner.fit(separate[0], separate[1], pairs, progress=progress)
    aligned = Aligned.pair(alignment, separate[0], separate[1])
    without = run_stages(joint, 1.0, job.aligner, lexicons, progress=progress)
    full = run_stages(joint, gamma, job.aligner, lexicons, progress=progress)
    views: dict[str, tuple[Space, Space]] = {
        "separate + alignment": (aligned.spaces[pair[0]], aligned.spaces[pair[1]]),
        "joint": (joint.view(pair[0]), joint.view(pair[1])),
        "joint + reallocation": (full.reallocated.view(pair[0]), full.reallocated.view(pair[1])),
        "joint + refinement, no reallocation": (without.last.view(pair[0]), without.last.view(pair[1])),
        "full": (full.last.view(pair[0]), full.last.view(pair[1])),
    }
    if baselines:
        for variant in ("replace", "supervised"):
            space = space_of(trained(variant, [first, second], variant))
            views[f"joint, {variant}"] = (space.view(pair[0]), space.view(pair[1]))
    taken = joint.moved(full.reallocated, pair[0]) + joint.moved(full.reallocated, pair[1])
    asked = {source for source, target in test if source != target}
    moved = asked & set(taken)
    rows = tuple(
        _measure(name, src, tgt, test, moved, job.training.seed, progress) for name, (src, tgt) in views.items()
    )
    by_name = {row.name: row.results for row in rows}
    claims = {
        (better, worse, identical): paired_test(by_name[better][identical, "full"], by_name[worse][identical, "full"])
        for better, worse, identical in CLAIMS
    }
    return Ablation(
        f"{pair[0]} to {pair[1]}, refined by {job.aligner.method.name}, gamma {gamma:g}",
        rows,
        claims,
        len(moved),
        gamma,
        gammas,
        {"trained": joint.kinds(), "reallocated": full.reallocated.kinds()},
        {
            "training": dataclasses.asdict(job.training),
            "refine": dataclasses.asdict(job.aligner),
            "texts": {text.lang: text.path.name for text in job.texts},
        },
    )


def write_ablation(outcome: Ablation, folder: str | Path) -> None:
    """ablation.json and report.html."""
    folder = Path(folder)
    record = outcome.record()
    with atomic_path(folder / "ablation.json") as temporary:
        temporary.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")
    report = Report(
        "Joint training, step by step",
        outcome.title,
        sections=[ablation_section(record["rows"], outcome.sentences())],
        settings={"gamma": outcome.gamma, **{f"words, {k}": str(dict(v)) for k, v in outcome.kinds.items()}},
    )
    write_report(folder / "report.html", report)


def _measure(
    name: str, src: Space, tgt: Space, test: Lexicon, moved: set[str], seed: int, progress: Progress
) -> AblationRow:
    results: dict[tuple[str, str], Result] = {}
    both: tuple[Identical, ...] = ("keep", "remove")
    for identical in both:
        for result in bli(src, tgt, test, identical=identical, ks=(1,), seed=seed, progress=progress):
            if result.metric == "P@1":
                results[identical, str(result.protocol["denominator"])] = result
    values = [item["value"] for item in results["remove", "full"].per_item if item["source"] in moved]
    return AblationRow(name, results, sum(values) / len(values) if values else None)
