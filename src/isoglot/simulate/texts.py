"""Text of two languages that do not exist but speak of the same things: to train on where no real text is at hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from isoglot.lexicons import Lexicon
from isoglot.simulate.words import NORTHERN, SOUTHERN, invent_names, invent_words


@dataclasses.dataclass(frozen=True, eq=False)
class SimulatedTexts:
    """Sentences of both languages (not translations of each other), and all words that translate each other."""

    src: tuple[str, ...]
    tgt: tuple[str, ...]
    lexicon: Lexicon

    def save(self, folder: str | Path) -> None:
        """Write north.txt, south.txt and north-south.tsv."""
        folder = Path(folder)
        for name, lines in (("north", self.src), ("south", self.tgt)):
            (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        self.lexicon.save(folder / "north-south.tsv")


def simulate_texts(
    lines: int = 4000,
    words: int = 400,
    *,
    shared: int = 40,
    foreign: float = 0.02,
    length: int = 10,
    seed: int = 0,
) -> SimulatedTexts:
    """Sentences about things that have a place in a small latent space: what lies close is spoken of together.

    Args:
        lines: sentences of each language.
        words: words of each language's own.
        shared: further words that both write alike: names and numbers.
        foreign: share of running words taken from the other language, as in quotations; what makes joint training
            share too much.
        length: words a sentence.

    >>> texts = simulate_texts(lines=50, words=30, shared=5)
    >>> len(texts.src), len(texts.lexicon), len(texts.src[0].split())
    (50, 35, 10)
    """
    random = np.random.default_rng(seed)
    names = list(dict.fromkeys(name.lower() for name in invent_names(shared, random)))  # text is read lower-cased
    north = invent_words(NORTHERN, words, random, taken=set(names))
    south = invent_words(SOUTHERN, words, random, taken={*names, *north})
    things = words + len(names)
    place = random.standard_normal((things, 6))
    # Frequencies fall off slowly, so that a small text holds every word often enough; names are spread among words.
    frequency = -0.5 * np.log(10 + random.permutation(things))
    texts = []
    for own, other in ((north + names, south + names), (south + names, north + names)):
        written = []
        for begin in range(0, lines, 1000):
            n = min(1000, lines - begin)
            weight = frequency + 1.2 * random.standard_normal((n, 6)) @ place.T
            # The largest of weight plus Gumbel noise are a draw without repetition.
            chosen = np.argsort(-(weight + random.gumbel(size=weight.shape)), axis=1)[:, :length]
            borrowed = random.random(chosen.shape) < foreign
            written += [
                " ".join(other[thing] if strange else own[thing] for thing, strange in zip(row, marks, strict=True))
                for row, marks in zip(chosen.tolist(), borrowed.tolist(), strict=True)
            ]
        texts.append(tuple(written))
    lexicon = Lexicon(list(zip(north + names, south + names, strict=True)), "north", "south")
    return SimulatedTexts(texts[0], texts[1], lexicon)
