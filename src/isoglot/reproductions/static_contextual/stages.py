"""Static vectors out of an encoder, and back into it: Hämmerl, Libovický & Fraser 2022 from end to end.

Only monolingual text is learned from. An encoder, one that is named or a small new one, gives static vectors of each
language (X2Static, and means over contexts to compare with); they are aligned to a pivot without supervision; and the
encoder is trained further to guess masked tokens, alone, with its words drawn to these vectors (MSE), or correlated
with them (DCCA), several times each.

    OUT/encoder               the new encoder, if none was named
    OUT/static, OUT/aligned   static vectors, by method and seed
    OUT/models                trained encoders, by objective and seed
    OUT/runs                  finished figures: a killed run resumes where it was
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
from isoglot.reproductions.static_contextual.claims import claims_of
from isoglot.reproductions.static_contextual.findings import (
    EncoderFacts,
    EncoderRow,
    Findings,
    SentenceFigure,
    Sentences,
    StaticRow,
    Translations,
)
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
from isoglot.resumable import kept, run_key, timed
from isoglot.spaces import FloatMatrix
from isoglot.tasks import encode_words, tatoeba

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
) -> Findings:
    """All stages: settings, figures of each, what was left out and why, and what became of the paper's claims."""
    check_export()
    texts = {lang: sha256_of_file(path) for lang, path in experiment.texts.items()}
    run = _Run(experiment, tests, output, texts, watch, tell, progress)
    folder, facts = run.start()
    encoder, skipped = open_start(experiment, folder, progress)
    for objective, reason in skipped.items():
        tell(f"{objective} is left out: {reason}")
    identity = [encoder.model.fingerprint(), texts]
    static, aligned = run.static(encoder, identity)
    teachers = [] if not tests.sentences or len(skipped) == len(OBJECTIVES) else run.teachers(aligned)
    rows = run.encoders(folder, encoder.model.depth, identity, aligned, skipped)
    facts = dataclasses.replace(
        facts,
        name=experiment.encoder or "a new one",
        layers=encoder.model.depth,
        width=encoder.model.width,
        static_layer=str(encoder.layers),
        tested_layer=experiment.layers_of(encoder.model.depth)[1],
    )
    claims = tuple(claims_of(static, rows))
    return Findings(experiment.record(), facts, tuple(static), tuple(teachers), tuple(rows), skipped, claims)


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

    def start(self) -> tuple[str, EncoderFacts]:
        """Where the encoder is, and how its training went if it is a new one."""
        if self.experiment.encoder is not None:
            return self.experiment.encoder, EncoderFacts()
        folder, place = self.output / "encoder", self.output / "runs" / "encoder.json"
        if not (folder / "modules.json").exists():
            place.unlink(missing_ok=True)
        recipe = self.experiment.new_encoder(folder)

        def trained() -> EncoderFacts:
            # If the folder holds a training with other settings, this says so.
            return EncoderFacts(training=fine_tune(self._prepared(recipe)).record())

        self.tell("a new encoder")
        facts = kept(place, run_key(self.digests, _settings(recipe)), EncoderFacts, timed(trained))
        shutil.rmtree(folder / RUN / "checkpoints", ignore_errors=True)
        return str(folder), facts

    def static(self, encoder: Encoder, identity: Any) -> tuple[list[StaticRow], dict[tuple[str, int], Path]]:
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

            row = StaticRow(method, seed, figures, choices, {}, {})

            def measured(distilled: Path = distilled, place: Path = place, row: StaticRow = row) -> StaticRow:
                states = states_of(distilled, place, row.distilled, experiment.aligning)
                bli = {
                    name: translated_words(spaces, pivot, tests.lexicons, seed=row.seed, progress=self.progress)
                    for name, spaces in states.items()
                }
                judged = {name: judged_words(spaces, tests.judged, seed=row.seed) for name, spaces in states.items()}
                return dataclasses.replace(row, bli=bli, similarity=judged)

            key = run_key(distilled.name, place.name, tests.digest(), "words of like and of different form")
            rows.append(kept(self.output / "runs" / f"{method}-seed{seed}.json", key, StaticRow, timed(measured)))
        return rows, aligned

    def teachers(self, aligned: Mapping[tuple[str, int], Path]) -> list[EncoderRow]:
        """What the vectors that encoders are trained towards find by themselves: sentences as means of their words."""
        experiment, rows, seen = self.experiment, [], set()
        for seed in experiment.all_seeds:
            place, identity = self._teacher(aligned, seed)
            if place in seen:
                continue
            seen.add(place)

            def measured(seed: int = seed, place: Path = place) -> EncoderRow:
                spaces, settings = read_vectors(place, experiment.texts), experiment.distilling("aggregate", 0)
                found = self._retrieved(lambda lang, texts: mean_of_words(spaces[lang], texts, settings, self.progress))
                return EncoderRow("teacher", seed, found, vectors=place.name)

            key = run_key(identity, experiment.distill, self.tests.digest())
            rows.append(kept(self.output / "runs" / f"teacher-seed{seed}.json", key, EncoderRow, timed(measured)))
        return rows

    def encoders(
        self,
        start: str,
        depth: int,
        identity: Any,
        aligned: Mapping[tuple[str, int], Path],
        skipped: Mapping[str, str],
    ) -> list[EncoderRow]:
        """Figures of the encoder as it was and of all that are trained further, seed after seed."""
        experiment = self.experiment
        words = next(iter(aligned.values()))  # the vocabularies are the same in all
        layer = experiment.layers_of(depth)[1]
        rows = [self._tested("start", None, run_key(identity), start, layer, words, lambda: None)]
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

    def _train(self, recipe: Recipe) -> Mapping[str, Any]:
        """Train to the end, or find that done, and say how it went."""
        result = recipe.output / RUN / "result.json"
        if not result.exists():
            fine_tune(self._prepared(recipe))
        shutil.rmtree(recipe.output / RUN / "checkpoints", ignore_errors=True)
        found: dict[str, Any] = read_json(result)
        return found

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
        train: Callable[[], Mapping[str, Any] | None],
    ) -> EncoderRow:
        experiment = self.experiment

        def measured() -> EncoderRow:
            training = train()
            encoder = Encoder(folder, layer=layer, device=experiment.device)
            found = self._retrieved(lambda _, texts: encoder.sentences(texts, progress=self.progress))
            return EncoderRow(objective, seed, found, self._words(encoder, words), training)

        whole = run_key(key, layer, experiment.words, words.name, self.tests.digest())
        name = objective if seed is None else f"{objective}-seed{seed}"
        return kept(self.output / "runs" / f"{name}.json", whole, EncoderRow, timed(measured))

    def _retrieved(self, vectors: Callable[[str, Sequence[str]], FloatMatrix]) -> Sentences:
        """P@1 of the test sentences by language and score.

        Args:
            vectors: of the sentences of a language.
        """
        found: dict[str, dict[str, SentenceFigure]] = {}
        for lang, text in self.tests.sentences.items():
            X, Y = vectors(lang, text.src), vectors(self.experiment.aligning.pivot, text.tgt)
            found[lang] = {}
            for score in ("cosine", "csls"):
                both, there, back = tatoeba(
                    X, Y, score=score, sentences=(text.src, text.tgt), seed=self.experiment.seed
                )
                found[lang][score] = SentenceFigure(both.value, both.interval, there.value, back.value, both.n)
        return found

    def _words(self, encoder: Encoder, folder: Path) -> Translations:
        """The same words as those with static vectors, each encoded alone, translated."""
        if not self.tests.lexicons:
            return {}
        spaces = {
            lang: encode_words(
                encoder, space.most_frequent(self.experiment.words).words, lang=lang, progress=self.progress
            )
            for lang, space in read_vectors(folder, self.experiment.texts).items()
        }
        pivot, seed = self.experiment.aligning.pivot, self.experiment.seed
        return translated_words(spaces, pivot, self.tests.lexicons, seed=seed, progress=self.progress)


def _settings(recipe: Recipe) -> dict[str, Any]:
    """Of a training, without the places that it reads and writes."""
    places = ("encoder", "output", "text", "static")
    return {name: value for name, value in recipe.record().items() if name not in places}
