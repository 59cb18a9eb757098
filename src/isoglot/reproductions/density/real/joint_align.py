"""Joint-Align (Cao, Kitaev & Klein 2020): the encoder itself, fine-tuned so that linked words fall together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from isoglot.files import atomic_path
from isoglot.pipelines import finetune
from isoglot.progress import Progress, silent
from isoglot.reproductions.density.real.plan import RealPlan
from isoglot.text import ParallelText

#: Passes over the text, as in the paper's row.
EPOCHS = 3


def joint_align_encoder(
    encoder: str,
    texts: Mapping[str, ParallelText],
    plan: RealPlan,
    output: Path,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> str:
    """The folder of the encoder trained on all languages together; a run that was killed resumes.

    The lines that are held out for CBLI are the first ones of each text and are not learned from.
    """
    files: dict[str, str | Path | tuple[str | Path, str | Path]] = {}
    for lang, text in texts.items():
        begin = min(2 * plan.held_out, len(text) // 2)
        part = slice(begin, begin + plan.joint_align)
        sides = (output / f"{lang}-en.{lang}", output / f"{lang}-en.en")
        output.mkdir(parents=True, exist_ok=True)
        for place, lines in zip(sides, (text.src[part], text.tgt[part]), strict=True):
            with atomic_path(place) as temporary:
                temporary.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        files[lang] = sides
    folder = output / "encoder"
    if not (folder / "config.json").exists():
        finetune(encoder, files, folder, preset="l2", epochs=EPOCHS, seed=seed, progress=progress)
    return str(folder)
