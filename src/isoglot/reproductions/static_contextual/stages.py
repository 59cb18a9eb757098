"""Static vectors out of an encoder, and back into it: Hämmerl, Libovický & Fraser 2022 from end to end.

Only monolingual text is learned from. An encoder, one that is named or a small new one, gives static vectors of each
language (X2Static, and means over contexts to compare with); they are aligned to a pivot without supervision; and the
encoder goes on guessing masked tokens, alone, with its words drawn to these vectors (MSE), or correlated with them
(DCCA), several times each.

    OUT/encoder               the new encoder, if none was named
    OUT/static, OUT/aligned   static vectors, by method and seed
    OUT/models                trained encoders, by objective and seed
    OUT/runs                  finished figures: a killed run goes on where it was
"""

from __future__ import annotations

import dataclasses
import functools
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.encoders import Encoder, load_masked_model, parse_layers
from isoglot.errors import InputError
from isoglot.files import sha256_of_file
from isoglot.finetuning import RUN, Recipe, StepRecord, Vocabulary, check_export, read_json
from isoglot.pipelines import Fine, fine_tune, prepare
from isoglot.progress import Progress, silent
from isoglot.reproductions.static_contextual.claims import PAPER, claims_of
from isoglot.reproductions.static_contextual.plan import METHODS, OBJECTIVES, Experiment, Trials
from isoglot.reproductions.static_contextual.words import (
    aligned_vectors,
    distilled_vectors,
    judged_words,
    mean_of_words,
    read_vectors,
    states_of,
    translated_words,
)
from isoglot.resumable import kept_or_measured, run_key
from isoglot.spaces import FloatMatrix
from isoglot.tasks import encode_words, tatoeba

__all__ = ["open_start", "static_contextual"]

Watch = Callable[[StepRecord], None]
Tell = Callable[[str], None]


def static_contextual(
    experiment: Experiment,
    tests: Trials,
    output: Path,
    *,
    watch: Watch = lambda record: None,
    tell: Tell = lambda line: None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """All stages: settings, figures of each, what was left out and why, and what became of the paper's claims."""
    check_export()
    texts = {lang: sha256_of_file(path) for lang, path in experiment.texts.items()}
    run = _Run(experiment, tests, output, texts, watch, tell, progress)
    folder, made = run.start()
    encoder, skipped = open_start(experiment, folder, progress)
    for objective, reason in skipped.items():
        tell(f"{objective} is left out: {reason}")
    identity = [encoder.model.fingerprint(), texts]
    static, aligned = run.static(encoder, identity)
    teachers = [] if not tests.sentences or len(skipped) == len(OBJECTIVES) else run.teachers(aligned)
    rows = run.encoders(folder, encoder.model.depth, identity, aligned, skipped)
    document = {
        "experiment": experiment.record(),
        "encoder": {
            "name": experiment.encoder or "a new one",
            "layers": encoder.model.depth,
            "width": encoder.model.width,
            "static_layer": str(encoder.layers),
            "tested_layer": experiment.layers_of(encoder.model.depth)[1],
            **made,
        },
        "static": static,
        "teachers": teachers,
        "encoders": rows,
        "skipped": skipped,
        "paper": PAPER,
    }
    return {**document, "claims": [claim.record() for claim in claims_of(document)]}


def open_start(experiment: Experiment, folder: str, progress: Progress = silent) -> tuple[Encoder, dict[str, str]]:
    """The encoder at the layer that is distilled, and objectives that it cannot be trained by, with the reason."""
    # Another copy: one that was given its head is no longer told by the same fingerprint.
    copy = Encoder(folder, device=experiment.device, progress=progress)
    layer, tested = experiment.layers_of(copy.model.depth)
    parse_layers(tested, copy.model.depth)  # what cannot be tested is told before anything is made
    encoder = Encoder(folder, layer=layer, device=experiment.device, cache=experiment.cache, progress=progress)
    pivot = experiment.aligning.pivot
    try:
        load_masked_model(copy.model)
        Vocabulary.of(copy.model.tokenizer)
    except InputError as error:
        return encoder, dict.fromkeys(OBJECTIVES, str(error))
    dim = encoder.dim if experiment.towards in METHODS else read_vectors(Path(experiment.towards), [pivot])[pivot].dim
    if dim != copy.model.width:
        return encoder, {"static-mse": f"static vectors have {dim} dimensions, the encoder {copy.model.width}"}
    return encoder, {}


@dataclasses.dataclass(frozen=True, eq=False)
class _Run:
    """The stages, each of which finds what an earlier run has left.

    Args:
        digests: of the texts.
    """

    experiment: Experiment
    tests: Trials
    output: Path
    digests: Mapping[str, str]
    watch: Watch
    tell: Tell
    progress: Progress

    def start(self) -> tuple[str, dict[str, Any]]:
        """Where the encoder is, and how its training went if it is a new one."""
        if self.experiment.encoder is not None:
            return self.experiment.encoder, {}
        folder, place = self.output / "encoder", self.output / "runs" / "encoder.json"
        if not (folder / "modules.json").exists():
            place.unlink(missing_ok=True)
        recipe = self.experiment.new_encoder(folder)

        def trained() -> dict[str, Any]:
            # If the folder holds a training with other settings, this says so.
            return {"training": fine_tune(self._prepared(recipe)).record()}

        self.tell("a new encoder")
        row = kept_or_measured(place, run_key(self.digests, _settings(recipe)), {}, trained)
        shutil.rmtree(folder / RUN / "checkpoints", ignore_errors=True)
        return str(folder), row

    def static(self, encoder: Encoder, identity: Any) -> tuple[list[dict[str, Any]], dict[tuple[str, int], Path]]:
        """Figures of all static vectors, and where the aligned ones are, by method and seed."""
        experiment, tests, pivot = self.experiment, self.tests, self.experiment.aligning.pivot
        rows, aligned = [], {}
        distillings = self._distillings()
        self.tell(f"static vectors: {', '.join(f'{method}, seed {seed}' for method, seed in distillings)}")
        made = distilled_vectors(
            encoder, experiment.texts, [experiment.distilling(*one) for one in distillings], self.output / "static",
            identity, progress=self.progress, tell=self.tell,
        )  # fmt: skip
        for (method, seed), (distilled, figures) in zip(distillings, made, strict=True):
            self.tell(f"aligning those of {method}, seed {seed}")
            place, choices = aligned_vectors(
                distilled, figures, experiment.aligning, self.output / "aligned", seed=seed,
                progress=self.progress, tell=self.tell,
            )  # fmt: skip
            aligned[method, seed] = place

            def measured(
                distilled: Path = distilled, place: Path = place, seed: int = seed, languages: Any = figures
            ) -> dict[str, Any]:
                states = states_of(distilled, place, languages, experiment.aligning)
                return {
                    "bli": {
                        name: translated_words(spaces, pivot, tests.lexicons, seed=seed, progress=self.progress)
                        for name, spaces in states.items()
                    },
                    "similarity": {
                        name: judged_words(spaces, tests.judged, seed=seed) for name, spaces in states.items()
                    },
                }

            facts = {"method": method, "seed": seed, "distilled": figures, "choices": choices}
            key = run_key(distilled.name, place.name, tests.digest(), "words of like and of different form")
            rows.append(kept_or_measured(self.output / "runs" / f"{method}-seed{seed}.json", key, facts, measured))
        return rows, aligned

    def teachers(self, aligned: Mapping[tuple[str, int], Path]) -> list[dict[str, Any]]:
        """What the vectors that encoders are trained towards find by themselves: sentences as means of their words."""
        experiment, rows, seen = self.experiment, [], set()
        for seed in experiment.all_seeds:
            place, identity = self._teacher(aligned, seed)
            if place in seen:
                continue
            seen.add(place)

            def measured(place: Path = place) -> dict[str, Any]:
                spaces, settings = read_vectors(place, experiment.texts), experiment.distilling("aggregate", 0)
                return {
                    "retrieval": self._retrieved(
                        lambda lang, texts: mean_of_words(spaces[lang], texts, settings, self.progress)
                    )
                }

            key = run_key(identity, experiment.distill, self.tests.digest())
            facts = {"seed": seed, "vectors": place.name}
            rows.append(kept_or_measured(self.output / "runs" / f"teacher-seed{seed}.json", key, facts, measured))
        return rows

    def encoders(
        self,
        start: str,
        depth: int,
        identity: Any,
        aligned: Mapping[tuple[str, int], Path],
        skipped: Mapping[str, str],
    ) -> list[dict[str, Any]]:
        """Figures of the encoder as it was and of all that go on from it, seed after seed."""
        experiment = self.experiment
        words = next(iter(aligned.values()))  # the vocabularies are the same in all
        layer = experiment.layers_of(depth)[1]
        rows = [self._tested("start", None, run_key(identity), start, layer, words, dict)]
        jobs = [(seed, one) for seed in experiment.all_seeds for one in OBJECTIVES if one not in skipped]
        for number, (seed, objective) in enumerate(jobs, start=1):
            self.tell(f"training {number} of {len(jobs)}: {objective}, seed {seed}")
            place, teacher = self._teacher(aligned, seed)
            static = {} if objective == "mlm" else {lang: str(place) for lang in experiment.texts}
            recipe = experiment.continued(objective, start, seed, Path(), static)
            key = run_key(identity, _settings(recipe), teacher if static else None)
            recipe = dataclasses.replace(recipe, output=self.output / "models" / f"{objective}-seed{seed}-{key[:8]}")
            train = functools.partial(self._train, recipe)
            rows.append(self._tested(objective, seed, key, str(recipe.output), layer, words, train))
        return rows

    def _teacher(self, aligned: Mapping[tuple[str, int], Path], seed: int) -> tuple[Path, Any]:
        """The folder of vectors that a training goes towards, and what tells it from others."""
        experiment = self.experiment
        if experiment.towards in METHODS:
            place = aligned[experiment.towards, seed if experiment.towards == "x2static" else experiment.seed]
            return place, place.name
        folder = Path(experiment.towards)
        return folder, {lang: sha256_of_file(folder / f"{lang}.safetensors") for lang in experiment.texts}

    def _distillings(self) -> list[tuple[str, int]]:
        """X2Static draws words at random; a mean over all contexts is the same whatever the seed."""
        seeds = {"x2static": list(self.experiment.all_seeds), "aggregate": [self.experiment.seed]}
        return [(method, seed) for method in METHODS for seed in seeds[method]]

    def _train(self, recipe: Recipe) -> dict[str, Any]:
        """Train to the end, or find that done, and say how it went."""
        result = recipe.output / RUN / "result.json"
        if not result.exists():
            fine_tune(self._prepared(recipe))
        shutil.rmtree(recipe.output / RUN / "checkpoints", ignore_errors=True)
        return {"training": read_json(result)}

    def _prepared(self, recipe: Recipe) -> Fine:
        device = self.experiment.device
        return prepare(recipe, device=device, watch=self.watch, tell=self.tell, progress=self.progress)

    def _tested(
        self,
        objective: str,
        seed: int | None,
        key: str,
        folder: str,
        layer: str,
        words: Path,
        train: Callable[[], dict[str, Any]],
    ) -> dict[str, Any]:
        experiment, tests, pivot = self.experiment, self.tests, self.experiment.aligning.pivot

        def measured() -> dict[str, Any]:
            facts = train()
            encoder = Encoder(folder, layer=layer, device=experiment.device)
            return {
                **facts,
                "retrieval": self._retrieved(lambda _, texts: encoder.sentences(texts, progress=self.progress)),
                "words": self._words(encoder, words, pivot),
            }

        whole = run_key(key, layer, experiment.words, words.name, tests.digest())
        name = objective if seed is None else f"{objective}-seed{seed}"
        facts = {"objective": objective, "seed": seed}
        return kept_or_measured(self.output / "runs" / f"{name}.json", whole, facts, measured)

    def _retrieved(self, vectors: Callable[[str, Sequence[str]], FloatMatrix]) -> dict[str, Any]:
        """By language and score, P@1 of sentences: to the pivot, from it, and the mean of both with its interval.

        Args:
            vectors: of the sentences of a language.
        """
        found: dict[str, Any] = {}
        for lang, text in self.tests.sentences.items():
            X, Y = vectors(lang, text.src), vectors(self.experiment.aligning.pivot, text.tgt)
            found[lang] = {}
            for score in ("cosine", "csls"):
                both, there, back = tatoeba(
                    X, Y, score=score, sentences=(text.src, text.tgt), seed=self.experiment.seed
                )
                found[lang][score] = {
                    "both": both.value, "interval": list(both.interval or ()), "to pivot": there.value,
                    "from pivot": back.value, "n": both.n,
                }  # fmt: skip
        return found

    def _words(self, encoder: Encoder, folder: Path, pivot: str) -> dict[str, Any]:
        """The same words as those with static vectors, each encoded alone, translated."""
        if not self.tests.lexicons:
            return {}
        spaces = {
            lang: encode_words(
                encoder, space.most_frequent(self.experiment.words).words, lang=lang, progress=self.progress
            )
            for lang, space in read_vectors(folder, self.experiment.texts).items()
        }
        return translated_words(spaces, pivot, self.tests.lexicons, seed=self.experiment.seed, progress=self.progress)


def _settings(recipe: Recipe) -> dict[str, Any]:
    """Of a training, without the places that it reads and writes."""
    places = ("encoder", "output", "text", "static")
    return {name: value for name, value in recipe.record().items() if name not in places}
