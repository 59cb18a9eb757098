"""The README.md of an encoder that was trained: from what, by what, and what was measured before and after."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from isoglot.card_content import CARD, HERE, Source, Table, Usage, is_number, loadable, place_note
from isoglot.cards import Card
from isoglot.errors import InputError
from isoglot.files import atomic_path, sha256_of_file
from isoglot.finetuning.export import RUN
from isoglot.finetuning.run_log import Trained
from isoglot.finetuning.run_state import read_json, write_json
from isoglot.finetuning.settings import Recipe

_WHAT = {
    "retrieval": "retrieval: P@1 of sentences by cosine, mean of both directions",
    "retrieval csls": "retrieval csls: the same by CSLS",
    "cbli": "cbli: P@1 of words in context",
    "semantic": "semantic: criterion without a dictionary, on centred vectors",
    "kept": "kept: mean cosine of target sentences with their vectors before training",
    "spread": "spread: how far target sentences are from their mean, over the same before training",
    "mlm": "mlm: loss of masked tokens",
}


def finetuned_card(recipe: Recipe, outcome: Trained) -> Card:
    """The card of the encoder that a run has made."""
    languages = list(dict.fromkeys([*recipe.parallel, *recipe.text, *([recipe.target] if recipe.parallel else [])]))
    named = ", ".join(languages)
    made = recipe.fresh is not None
    record = recipe.record()
    return Card(
        title=f"An encoder {'made' if made else 'fine-tuned'} for {named}",
        summary=(
            f"A transformers encoder, {'trained from nothing' if made else 'trained further'} so that texts of {named} "
            "that translate each other get vectors that are close."
        ),
        languages=languages,
        usage=[
            Usage(
                f"With sentence-transformers; vectors have unit length.{place_note(HERE)}",
                [
                    "from sentence_transformers import SentenceTransformer",
                    "",
                    f'vectors = SentenceTransformer({loadable(HERE)}).encode(["..."])',
                ],
            ),
            Usage(
                f"With Isoglot, also word by word in context.{place_note(HERE)}",
                [
                    "import isoglot as ig",
                    "",
                    f"encoder = ig.load({loadable(HERE)})",
                    'words = encoder.words(["..."])',
                ],
            ),
        ],
        method=f"By the objectives {', '.join(f'`{name}`' for name in record['objectives'])}; {outcome.steps} steps, "
        f"and the weights after step {outcome.chosen} were chosen.",
        settings={**record["objectives"], **record["training"], **(record["fresh"] if made else {})},
        sources=list(_sources(recipe)),
        figures=_figures(outcome),
        limits=[
            "Languages and kinds of text other than those that it was trained on may fit worse than before.",
            "Vectors carry the habits and prejudices of the text that it was trained on.",
        ],
        library="sentence-transformers",
        pipeline="sentence-similarity",
        tags=("cross-lingual", "sentence-embeddings"),
    )


def write_card(card: Card, folder: Path) -> None:
    """Put the card into the folder of a run. One that is there and was edited is kept, under another name."""
    path, note, written = folder / CARD, folder / RUN / "card.json", {}
    with contextlib.suppress(InputError):
        written = read_json(note)
    if path.exists() and sha256_of_file(path) != written.get("sha256"):
        kept = path
        while kept.exists():
            kept = kept.with_name(f"{kept.name}.kept")
        path.rename(kept)
    with atomic_path(path) as temporary:
        temporary.write_text(card.text(), "utf-8", errors="backslashreplace")
    write_json(note, {"sha256": sha256_of_file(path)})


def _sources(recipe: Recipe) -> Iterator[Source]:
    if recipe.fresh is None:
        yield Source.at("encoder", recipe.encoder)
    kinds: tuple[tuple[str, Mapping[str, str]], ...] = (
        (f"text of {{}} and {recipe.target}", recipe.parallel),
        ("text of {}", recipe.text),
        ("static vectors of {}", recipe.static),
    )
    for what, places in kinds:
        for lang, place in places.items():
            for one in place.split(","):
                yield Source.at(what.format(lang), one.strip())


def _figures(outcome: Trained) -> list[Table]:
    known = [name for name in _WHAT if is_number(outcome.before.get(name)) and is_number(outcome.after.get(name))]
    rows = [[_WHAT[name], f"{outcome.before[name]:.3f}", f"{outcome.after[name]:.3f}"] for name in known]
    caption = "On lines that were held out of the training text, as means over the pairs of languages."
    return [Table(caption, ["figure", "before", "after"], rows)] if rows else []
