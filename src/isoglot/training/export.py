"""The trained encoder as a plain folder: transformers loads it, and sentence-transformers too."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from isoglot.encoders import Encoder
from isoglot.encoders.model import quiet
from isoglot.errors import InputError, MissingExtraError

__all__ = ["RUN", "START", "check_export", "check_output", "save_encoder"]

#: The subfolder with log and checkpoints of the run that made the folder.
RUN = "training"
#: In it, the encoder that a run began with if it was made for this run.
START = "start"


def check_output(folder: Path) -> None:
    """Raise unless the folder is free, empty, or that of a run of ours."""
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file, not a folder", where=str(folder), remedy="choose another output path")
    # A run that was killed before it began has left links between words at most, or a new encoder.
    left = (f"{RUN}/*links-*", f"{RUN}/*{START}*", f"{RUN}/*{START}*/*")
    others = (path for path in folder.rglob("*") if path.is_file() and not any(path.match(one) for one in left))
    if not (folder / RUN / "recipe.json").exists() and any(others):
        raise InputError(
            "this folder holds other things and will not be overwritten",
            where=str(folder),
            remedy="choose another output path",
        )


def check_export() -> None:
    """Raise before long work whose result could not be written for want of a library."""
    try:
        import sentence_transformers.base.modules
        import sentence_transformers.sentence_transformer.modules  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("sentence-transformers (6 or newer)", "training", "saving the encoder") from error


def save_encoder(encoder: Encoder, folder: Path) -> None:
    """Write the model into the folder, beside what is there; each file is complete before it gets its name.

    Sentence vectors are means of all tokens at length one, as `Encoder.sentences` has them but for the length.
    """
    check_export()
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Normalize
    from sentence_transformers.base.modules.transformer import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob(".model.*.part"):  # of a run that was killed
        shutil.rmtree(path)
    temporary = Path(tempfile.mkdtemp(dir=folder, prefix=".model.", suffix=".part"))
    try:
        encoder.model.save(temporary)
        with quiet():
            words = Transformer(str(temporary))
            words.max_seq_length = encoder.model.longest
            modules = [words, Pooling(encoder.model.width, pooling_mode="mean"), Normalize()]
            SentenceTransformer(modules=modules, device="cpu").save(str(temporary), create_model_card=False)
        # sentence-transformers writes the model without its head: ours once more.
        encoder.model.save(temporary)
        # safetensors makes private files; config.json follows the user's umask.
        readable = (temporary / "config.json").stat().st_mode
        # The list of modules last: with it the folder is whole.
        for path in sorted(temporary.iterdir(), key=lambda one: one.name == "modules.json"):
            target = folder / path.name
            if target.is_dir():
                shutil.rmtree(target)
            if path.is_file():
                path.chmod(readable)
            os.replace(path, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
