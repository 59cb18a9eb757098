"""What Table 1 of Zhao & Eger 2022 compares, with the paper's figures, and how much of it is run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from isoglot.errors import ConfigError
from isoglot.settings import check_settings

TASKS = ("RFEval", "Tatoeba", "CBLI", "Align")
#: Methods whose length is a number of epochs: rows of few epochs and the curves of Figure 4 are about them.
CURVES = ("FCNN", "Real-NVP", "GAN-Real-NVP")
JOINT_ALIGN, INFOXLM = "Joint-Align", "InfoXLM"

Figures = tuple[float, float, float, float] | None


@dataclasses.dataclass(frozen=True)
class TableRow:
    """A row of Table 1.

    Args:
        name: as in the paper.
        group: heading that it stands under.
        method, settings: of `isoglot.aligners`; no method for vectors as they come.
        bert, xlmr: the paper's figures for mBERT and XLM-R, in the order of `TASKS`, as percentages.
        few: trained for few epochs, of which the last is kept.
    """

    name: str
    group: str
    method: str = ""
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    bert: Figures = None
    xlmr: Figures = None
    few: bool = False

    @property
    def encoder(self) -> bool:
        """Whether it is an encoder of its own instead of a map."""
        return self.name in (JOINT_ALIGN, INFOXLM)


_SUPERVISED, _UNSUPERVISED, _OURS = "supervised", "unsupervised", "not in the paper"
# The paper's procedures start from the identity.
_PAIRS = {"start": "identity"}
_ALONE = {"start": "identity", "decay": False}
_MUSE = {"starts": "adversarial", "restarts": 1}


def _bootstrapped(of: str, constraint: str) -> dict[str, Any]:
    return {**_ALONE, "of": of, "constraint": constraint}


TABLE = (
    TableRow("Original", "as it comes", "", {}, (27.23, 49.35, 50.9, 61.54), (26.42, 63.40, 48.58, 59.77)),
    TableRow("Rotation", _SUPERVISED, "procrustes", {}, (38.73, 55.28, 58.45, 62.83), (34.67, 68.60, 53.67, 60.85)),
    TableRow("FCNN", _SUPERVISED, "fcnn", {}, (42.72, 61.18, 55.30, 61.50), (36.67, 80.20, 50.88, 59.87)),
    TableRow(
        "FCNN (5 epochs)", _SUPERVISED, "fcnn", {}, (38.40, 58.97, 54.02, 61.02), (33.50, 77.98, 50.48, 59.50), True
    ),
    TableRow("Real-NVP", _SUPERVISED, "realnvp", _PAIRS, (42.32, 62.87, 57.62, 62.59), (44.17, 80.08, 61.63, 62.84)),
    TableRow(
        "Real-NVP (5 epochs)",
        _SUPERVISED,
        "realnvp",
        _PAIRS,
        (40.12, 60.70, 58.52, 61.80),
        (42.24, 78.75, 61.76, 61.20),
        True,
    ),
    TableRow("GBDD", _SUPERVISED, "gbdd", {}, (28.77, 52.28, 51.42, 61.71), (27.13, 68.85, 48.42, 59.81)),
    TableRow(JOINT_ALIGN, _SUPERVISED, bert=(41.23, 59.13, 64.67, 62.30)),
    TableRow(INFOXLM, _SUPERVISED, xlmr=(37.60, 76.10, 60.80, 62.94)),
    TableRow(
        "Normalization", _UNSUPERVISED, "normalization", {}, (30.08, 61.28, 54.88, 62.54), (39.52, 79.75, 59.03, 62.55)
    ),
    TableRow("VecMap", _UNSUPERVISED, "vecmap-unsupervised", {}, (30.77, 55.00, 64.42, 62.50)),
    TableRow(
        "MUSE", _UNSUPERVISED, "muse", {**_MUSE, "rounds": 0}, (31.23, 51.42, 52.48, 61.64), (27.55, 65.72, 50.0, 60.01)
    ),
    TableRow(
        "MUSE (5 epochs)", _UNSUPERVISED, "", {}, (29.20, 50.20, 52.30, 61.56), (25.21, 63.42, 50.20, 60.20), True
    ),
    TableRow(
        "MUSE + Cross-Correlation",
        _UNSUPERVISED,
        "bootstrap",
        _bootstrapped("muse", "cross-correlation"),
        (35.25, 52.90, 52.87, 62.63),
        (32.05, 69.23, 49.80, 60.49),
    ),
    TableRow(
        "MUSE + Graph Structure",
        _UNSUPERVISED,
        "bootstrap",
        _bootstrapped("muse", "graph-structure"),
        (33.22, 51.65, 53.10, 62.17),
        (29.48, 68.33, 50.18, 60.46),
    ),
    TableRow(
        "MUSE + Procrustes", _UNSUPERVISED, "muse", _MUSE, (36.85, 54.13, 55.22, 62.71), (33.37, 68.82, 50.37, 60.59)
    ),
    TableRow(
        "GAN-Real-NVP", _UNSUPERVISED, "gan-realnvp", _ALONE, (33.90, 61.20, 57.03, 62.33), (41.72, 79.67, 61.0, 62.81)
    ),
    TableRow(
        "GAN-Real-NVP (5 epochs)",
        _UNSUPERVISED,
        "gan-realnvp",
        _ALONE,
        (32.24, 59.10, 56.79, 61.80),
        (39.61, 77.77, 60.83, 60.90),
        True,
    ),
    TableRow(
        "GAN-Real-NVP + Cross-Correlation",
        _UNSUPERVISED,
        "bootstrap",
        _bootstrapped("gan-realnvp", "cross-correlation"),
        (35.33, 62.32, 58.0, 62.70),
        (42.60, 80.50, 61.23, 63.15),
    ),
    TableRow(
        "GAN-Real-NVP + Graph Structure",
        _UNSUPERVISED,
        "bootstrap",
        _bootstrapped("gan-realnvp", "graph-structure"),
        (34.32, 61.82, 56.65, 62.52),
        (41.55, 80.02, 60.83, 62.99),
    ),
    TableRow(
        "GAN-Real-NVP + Procrustes",
        _UNSUPERVISED,
        "bootstrap",
        _bootstrapped("gan-realnvp", "procrustes"),
        (36.93, 53.95, 56.05, 62.79),
        (33.78, 67.95, 51.60, 60.51),
    ),
    # What tells where a gain comes from: every map above centres both languages first.
    TableRow("centred only", _OURS, "identity", {"normalise": "unit,centre,unit"}),
    TableRow("anchored", _OURS, "anchored"),
    TableRow("Real-NVP, Procrustes start", _OURS, "realnvp", {"start": "procrustes"}),
    TableRow("GAN-Real-NVP, searched start", _OURS, "gan-realnvp", {"start": "searched", "decay": False}),
)
ROWS: Mapping[str, TableRow] = {row.name: row for row in TABLE}


@dataclasses.dataclass(frozen=True)
class Job:
    """One alignment of one language with English. `epochs`: train for so many and keep the last; 0: as the row says."""

    language: str
    row: str
    epochs: int = 0

    @property
    def slug(self) -> str:
        return f"{self.language}-{self.row}{f'-{self.epochs}' if self.epochs else ''}"


@dataclasses.dataclass(frozen=True)
class RealPlan:
    """How much to run. The defaults are the paper's sizes where it says them.

    Args:
        sentences: lines of each language to learn from.
        points: occurrences of each side to learn from, drawn at random from the words that these lines link.
        held_out: lines of each language whose words are CBLI's test; as many others are validation data.
        cbli: pairs of words that CBLI asks for.
        epochs: of what is trained, of which the semantic criterion keeps one. few: of the paper's rows of 5 epochs.
        looked: lengths of training after which all tasks are measured, for Figure 4.
        rounds: of bootstrapping. steps: of an epoch without pairs.
        joint_align: lines of each language to fine-tune the encoder on for Joint-Align; 0: no such row.
    """

    sentences: int = 20_000
    points: int = 20_000
    held_out: int = 1000
    cbli: int = 10_000
    epochs: int = 20
    few: int = 5
    looked: tuple[int, ...] = (1, 2, 3, 5, 8, 13, 20)
    rounds: int = 3
    steps: int = 100
    joint_align: int = 0

    limits: ClassVar[Mapping[str, Any]] = {"joint_align": "[0, inf)"}

    def __post_init__(self) -> None:
        check_settings(self, self.limits, otherwise="[1, inf)")
        if not self.looked or min(self.looked) < 1:
            raise ConfigError("looked takes numbers of epochs of at least 1")

    def jobs(self, languages: list[str]) -> Iterator[Job]:
        """All rows language by language, then the curves. Rows of few epochs are points of the curves."""
        for language in languages:
            for row in TABLE:
                if row.few and row.method:
                    yield Job(language, row.name.partition(" (")[0], self.few)
                elif not row.few:
                    yield Job(language, row.name)
        for language in languages:
            for name in CURVES:
                for epochs in sorted({*self.looked} - {self.few}):
                    yield Job(language, name, epochs)

    def settings(self, job: Job) -> dict[str, Any]:
        """Of the method that the job runs."""
        row = ROWS[job.row]
        settings = dict(row.settings)
        if row.method in ("fcnn", "realnvp", "gan-realnvp"):
            settings["epochs"] = job.epochs or self.epochs
            settings["select"] = "last" if job.epochs else "semantic"
        if row.method in ("gan-realnvp", "bootstrap"):
            settings["steps"] = self.steps
        if row.method == "bootstrap":
            settings |= {"rounds": self.rounds, "points": self.points}
        return settings

    def minutes(self, languages: list[str], tested: int = 0) -> float:
        """About how long all of it takes on one core, at 512 dimensions and the methods' default sizes; `tested`:
        sentences of the other three tasks."""
        share = self.points / 1000
        look = SECONDS_LOOK + self.cbli / PAIRS_A_SECOND + tested / len(languages) / TESTED_A_SECOND
        encoded = 2 * len(languages) * (self.sentences + 2 * self.held_out) + tested
        seconds = encoded / SENTENCES_A_SECOND
        for job in self.jobs(languages):
            method, settings = ROWS[job.row].method, self.settings(job)
            seconds += look + {
                "fcnn": SECONDS_FCNN * share * settings.get("epochs", 0),
                "realnvp": SECONDS_REALNVP * share * settings.get("epochs", 0),
                "gan-realnvp": SECONDS_STEP * self.steps * settings.get("epochs", 0),
                "bootstrap": self.rounds * (SECONDS_STEP * self.steps + SECONDS_PERMUTATION * share**2),
                "muse": SECONDS_MUSE * share,
                "vecmap-unsupervised": SECONDS_VECMAP * share,
            }.get(method, 0.0)
        return seconds / 60


#: Of one core: an epoch of 1,000 pairs, a step without pairs, a permutation of 1,000 points, a game and a search of
#: 1,000 points, a look at the tasks beside CBLI's pairs and the others' sentences; and sentences that an encoder takes.
SECONDS_FCNN, SECONDS_REALNVP, SECONDS_STEP, SECONDS_PERMUTATION = 1.0, 3.0, 0.2, 1.0
SECONDS_MUSE, SECONDS_VECMAP, SECONDS_LOOK = 30.0, 20.0, 0.5
PAIRS_A_SECOND, TESTED_A_SECOND, SENTENCES_A_SECOND = 2000.0, 1000.0, 200.0

FULL = RealPlan()
QUICK = RealPlan(sentences=200, points=400, held_out=100, cbli=500, epochs=2, few=1, looked=(1, 2), rounds=1, steps=5)


@dataclasses.dataclass(frozen=True)
class RealCost:
    """What a plan would take."""

    alignments: int
    languages: int
    minutes: float

    def sentence(self) -> str:
        """For people.

        >>> RealCost(40, 2, 12.3).sentence()
        '40 alignments of 2 language pairs, about 12 minutes of one core'
        """
        pairs = "1 language pair" if self.languages == 1 else f"{self.languages} language pairs"
        return f"{self.alignments:,} alignments of {pairs}, about {self.minutes:.0f} minutes of one core"
