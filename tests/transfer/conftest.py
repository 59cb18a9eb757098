"""Tasks planted into the two invented languages: what a head must learn is known, and is the same in both."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from isoglot.aligners import Procrustes
from isoglot.encoders import AlignedEncoder
from isoglot.text import LabelledSentence
from isoglot.transfer import PairExample, Question

#: Sentences to learn from, to choose by, to test on.
PARTS = {"train": slice(0, 300), "dev": slice(300, 400), "test": slice(400, 500)}
LANGUAGES = ("north", "south")


@pytest.fixture(scope="session")
def planted(parallel):
    """`planted(task, language, part)`: examples.

    pos, ner: words of like meaning have one label, small words that translate nothing are "O". nli: a sentence entails
    itself with words left out, and contradicts another. qa: where does this word stand?
    """
    group: dict[str, int] = {}
    for number, (north, translations) in enumerate(sorted(parallel.lexicon.by_source.items())):
        # A meaning of two words gives its group to all of them.
        shared = next((group[word] for word in (north, *translations) if word in group), number % 3)
        for word in (north, *translations):
            group[word] = shared
    sides = dict(zip(LANGUAGES, (parallel.src, parallel.tgt), strict=True))

    def tagged(words, name):
        return LabelledSentence(words, [name(group[word]) if word in group else "O" for word in words])

    def pairs(sentences, random):
        for place, words in enumerate(sentences):
            kept = [word for word in words if random.random() < 0.7] or words[:1]
            other = sentences[(place + 7) % len(sentences)]
            yield PairExample(" ".join(words), " ".join(kept), "entailment")
            yield PairExample(" ".join(words), " ".join(other), "contradiction")

    def questions(sentences, random):
        for place, words in enumerate(sentences):
            asked = int(random.integers(len(words)))
            if words.count(words[asked]) == 1:
                begin = len(" ".join((*words[:asked], "")))
                yield Question(str(place), words[asked], " ".join(words), (words[asked],), (begin,))

    def examples(task, language, part):
        sentences, random = sides[language][PARTS[part]], np.random.default_rng(0)
        if task in ("pos", "ner"):
            name = "T{}".format if task == "pos" else "B-T{}".format
            return [tagged(words, name) for words in sentences]
        return list(pairs(sentences, random) if task == "nli" else questions(sentences, random))

    return examples


@pytest.fixture(scope="session")
def aligned(tiny, parallel, linked):
    """The tiny encoder with maps that were learned on linked words of sentences that are not tested."""
    X, Y = (tiny.words(side[:400]).vectors for side in (parallel.src, parallel.tgt))
    return AlignedEncoder(tiny, (Procrustes().fit(X, Y, linked),), LANGUAGES)


@pytest.fixture(scope="session")
def southern_folder(tiny_folder, parallel, tmp_path_factory):
    """The tiny encoder, but words of the south have the embeddings of their translations, where both are one token."""
    folder = tmp_path_factory.mktemp("southern") / "encoder"
    shutil.copytree(tiny_folder, folder)
    vocabulary = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    weights = load_file(folder / "model.safetensors")
    embeddings = weights["bert.embeddings.word_embeddings.weight"]
    for north, south in parallel.lexicon.pairs:
        if {north, south} <= vocabulary.keys():
            embeddings[vocabulary[south]] = embeddings[vocabulary[north]]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
