"""Two invented languages whose true alignment is known: for tests, and for a demo on a machine without a network.

The vectors have what real word vectors have and what makes alignment hard: meanings in clusters of unequal size,
a spectrum that falls off, a mean far from zero, a direction that goes with frequency, frequencies after Zipf, and
rare words that are noisier. The target language is the source's geometry, turned, with noise of its own.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError
from isoglot.lexicons import Lexicon
from isoglot.simulate.words import NORTHERN, SOUTHERN, Phonology, invent_names, invent_words
from isoglot.spaces import FloatMatrix, IntVector, Space


@dataclasses.dataclass(frozen=True)
class SimulatedPair:
    """Two spaces, all true translations, and the rotation W (d, d) with `tgt ≈ src @ W`."""

    src: Space
    tgt: Space
    lexicon: Lexicon
    rotation: FloatMatrix


def simulate_pair(
    n_words: int = 5000,
    dim: int = 100,
    noise: float = 0.9,
    seed: int = 0,
    *,
    synonyms: float = 0.1,
    untranslated: float = 0.2,
    identical: float = 0.05,
    clusters: int | None = None,
    src_lang: str = "north",
    tgt_lang: str = "south",
) -> SimulatedPair:
    """A pair of languages of `n_words` words each.

    Args:
        noise: how far a translation lies from its word's turned vector, as a share of the words' own spread:
            half of it for the most frequent words, double for the rarest. At 0 every
            translation is exactly `src @ rotation`.
        synonyms: share of translated words that have a second translation, 50% noisier than the first.
        untranslated: share of source words without a translation. The target language fills up with words of
            its own.
        identical: share of words with one translation that are written alike: names and numbers.
        clusters: groups of related meanings; by default the square root of `n_words`.

    >>> pair = simulate_pair(n_words=200, dim=10, noise=0.0)
    >>> pair.src, pair.tgt, len(pair.lexicon.by_source)
    (Space('north', 200 words x 10, counts), Space('south', 200 words x 10, counts), 160)
    >>> import numpy as np
    >>> first = pair.lexicon.indices(pair.src, pair.tgt)[0]
    >>> np.allclose(pair.src.vectors[first[0]] @ pair.rotation, pair.tgt.vectors[first[1]], atol=1e-5)
    True
    """
    if n_words < 10 or dim < 2:
        raise ConfigError(f"a simulated language needs 10 words and 2 dimensions, not {n_words} and {dim}")
    if noise < 0 or not all(0 <= share <= 1 for share in (synonyms, untranslated, identical)):
        raise ConfigError("noise must not be negative, and shares must lie between 0 and 1")
    shared = round(n_words * (1 - untranslated))
    doubled = round(shared * synonyms)
    if shared + doubled > n_words:
        raise ConfigError(
            f"{shared} translations and {doubled} synonyms are more than {n_words} words",
            remedy="raise untranslated or lower synonyms",
        )
    random = np.random.default_rng(seed)
    own = n_words - shared - doubled
    # The first `n_words` meanings are the source's words; the last `own` have a word in the target language only.
    meanings = n_words + own
    rarity = random.permutation(meanings) / meanings
    geometry = _meaning_vectors(rarity, dim, clusters or round(n_words**0.5), random)
    rotation = random_rotation(dim, random)

    # The target's words, by meaning: first translations, second translations, words of its own.
    translated = random.permutation(n_words)[:shared]
    target_meanings = np.concatenate([translated, translated[:doubled], np.arange(n_words, meanings)])
    second = np.zeros(n_words, dtype=bool)
    second[shared : shared + doubled] = True
    spread = float(geometry.std(axis=0).mean())
    size = noise * spread * (0.5 + 1.5 * rarity[target_meanings]) * np.where(second, 1.5, 1.0)
    moved = geometry[target_meanings] + size[:, None] * random.standard_normal((n_words, dim))
    # How rare a word is differs a little between languages; a second translation is rarer than the first.
    target_rarity = rarity[target_meanings] * np.exp(0.15 * random.standard_normal(n_words)) + 0.2 * second

    # Words with one translation only can be names, so that a name is written in one way.
    named = translated[doubled : doubled + round((shared - doubled) * identical)]
    names = dict(zip(named.tolist(), invent_names(len(named), random), strict=True))
    src_words = _spell(np.arange(n_words), rarity[:n_words], names, NORTHERN, random, taken=set(names.values()))
    tgt_words = _spell(target_meanings, target_rarity, names, SOUTHERN, random, taken={*src_words})

    pairs = [(translated[i % shared], i) for i in range(shared + doubled)]
    pairs.sort(key=lambda pair: (rarity[pair[0]], pair[1]))
    return SimulatedPair(
        src=_space(src_lang, src_words, geometry[:n_words], rarity[:n_words]),
        tgt=_space(tgt_lang, tgt_words, moved @ rotation, target_rarity),
        lexicon=Lexicon(
            [(src_words[i], tgt_words[j]) for i, j in pairs], src_lang, tgt_lang, source="simulated languages"
        ),
        rotation=rotation.astype(np.float32),
    )


def _meaning_vectors(
    rarity: npt.NDArray[np.float64], dim: int, clusters: int, random: np.random.Generator
) -> npt.NDArray[np.float64]:
    """(meanings, dim): clusters of unequal size in a space with a falling spectrum, away from the origin."""
    spectrum = (1 + np.arange(dim)) ** -0.6
    weights = 1 / (1 + np.arange(clusters))
    # Within a cluster, groups of about four words mean nearly the same: these are what retrieval confuses.
    groups = max(1, len(rarity) // 4)
    cluster_of_group = random.choice(clusters, size=groups, p=weights / weights.sum())
    centres = 0.7 * random.standard_normal((clusters, dim))
    kernels = centres[cluster_of_group] + 0.8 * random.standard_normal((groups, dim))
    group_of_meaning = random.integers(0, groups, size=len(rarity))
    vectors = kernels[group_of_meaning] + 0.6 * random.standard_normal((len(rarity), dim))
    # Frequent words lie apart from rare ones in real spaces: one direction carries the frequency.
    vectors += np.outer(0.5 - rarity, random.standard_normal(dim))
    mean = 0.8 * random.standard_normal(dim)
    # Without this turn the falling spectrum would lie along the axes, which no trained space shows.
    return np.asarray(((vectors + mean) * spectrum) @ random_rotation(dim, random))


def random_rotation(dim: int, random: np.random.Generator) -> npt.NDArray[np.float64]:
    """An orthogonal matrix, uniform over all of them: QR of a Gaussian matrix with the signs of R put right."""
    q, r = np.linalg.qr(random.standard_normal((dim, dim)))
    return np.asarray(q * np.sign(np.diag(r)))


def _spell(
    meanings: npt.NDArray[np.int64],
    rarity: npt.NDArray[np.float64],
    names: dict[int, str],
    phonology: Phonology,
    random: np.random.Generator,
    taken: set[str],
) -> list[str]:
    """A distinct word for each meaning: its name where it has one, else an invented one, short where frequent."""
    words = [names.get(int(meaning), "") for meaning in meanings]
    nameless = [i for i in np.argsort(rarity, kind="stable") if not words[i]]
    for i, word in zip(nameless, invent_words(phonology, len(nameless), random, taken=taken), strict=True):
        words[i] = word
    return words


def _space(lang: str, words: list[str], vectors: npt.NDArray[np.float64], rarity: npt.NDArray[np.float64]) -> Space:
    """Rows by frequency, with counts after Zipf and Mandelbrot."""
    order = np.argsort(rarity, kind="stable")
    ranks = np.arange(len(words))
    counts: IntVector = np.maximum(1, 20_000_000 / (ranks + 2.7) ** 1.07).astype(np.int64)
    return Space(lang, [words[i] for i in order], vectors[order].astype(np.float32), counts)
