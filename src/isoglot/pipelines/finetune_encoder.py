"""`isoglot.finetune`: an encoder and parallel text in, a better aligned encoder out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isoglot.encoders import Encoder
from isoglot.extras import require
from isoglot.finetuning import recipe_of
from isoglot.pipelines.training_cost import Cost, estimate
from isoglot.pipelines.training_run import fine_tune, prepare
from isoglot.progress import Progress, silent
from isoglot.small_tables import html_table

#: Figures that tell most, where they were measured.
_SHOWN = ("retrieval", "retrieval csls", "semantic", "kept", "spread", "mlm")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Finetuned:
    """What fine-tuning gave: the encoder, its folder, and figures on held-out lines before and after."""

    encoder: Encoder
    folder: Path
    before: Mapping[str, float]
    after: Mapping[str, float]

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {before:.3f} -> {after:.3f}" for name, before, after in self._rows())
        return f"Finetuned({str(self.folder)!r}{', ' if figures else ''}{figures})"

    def _repr_html_(self) -> str:
        rows = [[name, f"{before:.3f}", f"{after:.3f}"] for name, before, after in self._rows()]
        return html_table(f"Finetuned: {self.folder}", ["figure on held-out lines", "before", "after"], rows)

    def _rows(self) -> list[tuple[str, float, float]]:
        both = [name for name in _SHOWN if name in self.before and name in self.after]
        return [(name, self.before[name], self.after[name]) for name in both]


def finetune(
    encoder: str | Path,
    parallel: Mapping[str, str | Path | tuple[str | Path, str | Path]] | None = None,
    output: str | Path = "finetuned",
    *,
    preset: str | None = None,
    objectives: str | Mapping[str, Any] | None = None,
    text: Mapping[str, str | Path] | None = None,
    static: Mapping[str, str | Path] | None = None,
    lexicon: Mapping[str, str | Path] | None = None,
    teacher: str | Path | None = None,
    pieces: Mapping[str, Any] | None = None,
    target: str = "en",
    held_out: int | None = None,
    limit: int | None = None,
    device: str = "auto",
    dry_run: bool = False,
    progress: Progress = silent,
    **settings: Any,
) -> Finetuned | Cost:
    """Train an encoder so that its languages align; a run that was killed resumes when it is called again.

    Args:
        encoder: a folder, an installed package, a catalogue name or a name on the model hub.
        parallel: by language, text with its translation into `target`: a catalogue name ("parallel/de-en"), one file
            with a tab between the sides, or two files.
        output: the folder to write; transformers and sentence-transformers load it.
        preset: "best" (the default), "teach" (a language the encoder does not know), "wordot", "subot", "l2", ...; or
            give `objectives` such as "word_ot + 0.5*anchor".
        text, static: by language, monolingual text and static vectors, for objectives that take them.
        lexicon, teacher: by language, dictionaries to learn from too, and the encoder that objectives with a teacher
            learn from (default: `encoder` itself).
        pieces: settings of new pieces for the vocabulary, see `isoglot.finetuning.NewPieces`; "teach" adds some anyway.
        held_out: lines of each text to measure on.
        limit: learn from at most so many lines of each text.
        dry_run: return what it would cost, and change nothing.
        settings: of the training, such as `batch`, `steps`, `learning_rate`, `seed`; see
            `isoglot.finetuning.TrainingSettings`.
    """
    require("training", "fine-tuning an encoder")
    content: dict[str, Any] = {
        "encoder": str(encoder),
        "output": str(output),
        "target": target,
        "parallel": {lang: _place(one) for lang, one in (parallel or {}).items()},
        "text": {lang: str(one) for lang, one in (text or {}).items()},
        "static": {lang: str(one) for lang, one in (static or {}).items()},
        "lexicon": {lang: str(one) for lang, one in (lexicon or {}).items()},
        "teacher": None if teacher is None else str(teacher),
        "pieces": pieces,
        "held_out": held_out,
        "limit": limit,
        "training": settings,
        **({"objectives": objectives} if objectives is not None else {"preset": preset or "best"}),
        **({"preset": preset} if preset is not None else {}),
    }
    run = prepare(recipe_of(content, "finetune"), device=device, dry=dry_run, progress=progress)
    if dry_run:
        return estimate(run)
    outcome = fine_tune(run)
    return Finetuned(Encoder(output, device=device), Path(output), outcome.before, outcome.after)


def _place(text: str | Path | tuple[str | Path, str | Path]) -> str:
    return ",".join(map(str, text)) if isinstance(text, tuple) else str(text)
