"""Static vectors of the experiment with static and contextual vectors: distilled, aligned, and tested on words.

Every method and seed has a folder of its own, named after all that it depends on: one that is there is finished, and
another setting never meets an old one's vectors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligners import Identity, aligner
from isoglot.distill import DistillSettings, distill_together
from isoglot.encoders import Encoder
from isoglot.errors import InputError
from isoglot.files import sha256_of_file
from isoglot.lexicons import Lexicon
from isoglot.manifests import Fields, read_json_object
from isoglot.pipelines import align_static, remove_work
from isoglot.progress import Progress, silent
from isoglot.reproductions.static_contextual.findings import SimilarityFigure, WordFigure
from isoglot.resumable import run_key
from isoglot.spaces import FloatMatrix, Space
from isoglot.tasks import WordPair, bli, similarity
from isoglot.text import lower_case, segmenter
from isoglot.wordvectors import TextFile

#: What is tested: X2S-M, the same after the aligner's normalisation alone, and X2S-MA.
STATES = ("as distilled", "normalised", "aligned")

Tell = Callable[[str], None]
#: Words in two languages, or twice the same, that people have judged.
Judged = Mapping[str, tuple[tuple[str, str], list[WordPair]]]


@dataclasses.dataclass(frozen=True)
class Aligning:
    """How languages are brought to the pivot; see `align_static`.

    Args:
        vectors: by language, files of other vectors to induce dictionaries on, as the paper does on fastText's.
        align_all: whatever the criterion says.
    """

    pivot: str = "en"
    induce: str | None = None
    method: str = "vecmap"
    vectors: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    align_all: bool = False

    def key(self) -> str:
        """Tells it from others; files by what they hold."""
        files = {lang: sha256_of_file(path) for lang, path in self.vectors.items()}
        return run_key(self.pivot, self.induce, self.method, files, self.align_all)


def distilled_vectors(
    encoder: Encoder,
    texts: Mapping[str, Path],
    settings: Sequence[DistillSettings],
    folder: Path,
    identity: Any,
    *,
    progress: Progress = silent,
    tell: Tell = lambda line: None,
) -> list[tuple[Path, dict[str, Any]]]:
    """For each of these settings the folder with the vectors of all languages, and its figures by language.

    Those that are not there yet are made in one pass over the texts.

    Args:
        identity: of encoder and texts.
    """
    places = {}
    for one in settings:
        key = run_key(identity, str(encoder.layers), dataclasses.asdict(one))
        places[folder / f"{one.method}-seed{one.seed}-{key[:8]}"] = one
    missing = {place: one for place, one in places.items() if not (place / "config.json").exists()}
    if missing:
        files = [TextFile(lang, path) for lang, path in texts.items()]
        distill_together(encoder, files, missing, progress=progress, tell=tell)
    return [(place, _languages(place)) for place in places]


def aligned_vectors(
    distilled: Path,
    languages: Mapping[str, Any],
    aligning: Aligning,
    folder: Path,
    *,
    seed: int = 0,
    progress: Progress = silent,
    tell: Tell = lambda line: None,
) -> tuple[Path, dict[str, Any]]:
    """The folder with vectors in the pivot's space, made unless it is there, and what became of each language."""
    key = run_key(distilled.name, aligning.key(), seed, "chosen by dictionaries of other vectors")
    place = folder / f"{distilled.name.rpartition('-')[0]}-{key[:8]}"
    work = place.with_name(f"{place.name}.work")
    if not (place / "config.json").exists():
        spaces = read_vectors(distilled, languages)
        others = {lang: Space.load(path, lang=lang, progress=progress) for lang, path in aligning.vectors.items()}
        outcome = align_static(
            spaces, aligning.pivot, inducer=aligning.induce, aligner=aligning.method,
            dictionary_from=others or None, align_all=aligning.align_all, seed=seed, work=work, progress=progress,
            tell=tell,
        )  # fmt: skip
        outcome.save(place, progress=progress)
    remove_work(work)  # also that of a run that was killed when it was done
    return place, _languages(place)


def _languages(folder: Path) -> dict[str, Any]:
    """What the folder's record says of each language."""
    record = folder / "config.json"
    remedy = f"remove {folder} to make it again"
    return Fields(read_json_object(record), str(record), remedy=remedy).mapping("languages")


def states_of(
    distilled: Path, aligned: Path, languages: Mapping[str, Any], aligning: Aligning
) -> dict[str, dict[str, Space]]:
    """The vectors of all languages, in each of `STATES`."""
    spaces = read_vectors(distilled, languages)
    states = (spaces, _normalised(spaces, aligning), read_vectors(aligned, languages))
    return dict(zip(STATES, states, strict=True))


def read_vectors(folder: Path, languages: Iterable[str]) -> dict[str, Space]:
    """The vectors of a folder by language."""
    # Such files are as quick to read as any cache.
    return {lang: Space.load(folder / f"{lang}.safetensors", lang=lang, cache=False) for lang in languages}


def mean_of_words(
    space: Space, texts: Sequence[str], settings: DistillSettings, progress: Progress = silent
) -> FloatMatrix:
    """A vector for every text, the mean of its words' (n, d); zero where none of them has one.

    Args:
        settings: how lines become words.
    """
    split = segmenter(settings.segmenter, space.lang)
    means = np.zeros((len(texts), space.dim), dtype=np.float32)
    for number, text in enumerate(texts):
        rows = space.rows(split(lower_case(text, space.lang) if settings.lower else text))
        if (rows >= 0).any():
            means[number] = space.vectors[rows[rows >= 0]].mean(axis=0)
    progress(f"words of {space.lang} sentences", len(texts), len(texts))
    return means


def translated_words(
    spaces: Mapping[str, Space],
    pivot: str,
    lexicons: Mapping[str, Lexicon],
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> dict[str, dict[str, WordFigure]]:
    """By language and direction, P@1 of translating words (CSLS), its interval, and how many words could be asked.

    Args:
        lexicons: by language, from the pivot. One without any pair in both vocabularies gives no figures.
    """
    found: dict[str, dict[str, WordFigure]] = {}
    for lang, lexicon in lexicons.items():
        covered = len(lexicon.restrict(spaces[pivot], spaces[lang]))
        if not covered:
            continue
        for source, target, test in ((pivot, lang, lexicon), (lang, pivot, lexicon.invert())):
            results = bli(spaces[source], spaces[target], test, ks=(1,), seed=seed, progress=progress)
            one, full = results[0], results.find("P@1", denominator="full").value
            different = _different(spaces[source], spaces[target], test)
            figure = WordFigure(one.value, one.interval, one.n, full, covered, len(lexicon), different)
            found.setdefault(lang, {})[f"{source}-{target}"] = figure
    return found


def _different(src: Space, tgt: Space, test: Lexicon) -> float | None:
    other = test.without_identical()
    if not len(other.restrict(src, tgt)):
        return None
    return bli(src, tgt, other, ks=(1,), bootstrap=0)["P@1"]


def judged_words(spaces: Mapping[str, Space], sets: Judged, *, seed: int = 0) -> dict[str, SimilarityFigure]:
    """By set, Spearman's correlation and the harmonic mean with Pearson's, over the pairs that have vectors."""
    found = {}
    for name, ((first, second), pairs) in sets.items():
        other = None if first == second else spaces[second]
        try:
            results = similarity(pairs, spaces[first], other, seed=seed)
        except InputError:
            continue  # too few of its words have vectors
        one = results.find("Spearman")  # in-vocabulary figures come first
        found[name] = SimilarityFigure(one.value, one.interval, one.n, results["harmonic"], len(pairs))
    return found


def _normalised(spaces: Mapping[str, Space], aligning: Aligning) -> dict[str, Space]:
    """As the aligner sees them: what it adds is seen beside this."""
    method = Identity(normalise=aligner(aligning.method).normalise)
    pivot = spaces[aligning.pivot]
    return {lang: method.fit(space, pivot).transform(space, "src") for lang, space in spaces.items()}
