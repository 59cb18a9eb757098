"""A new encoder's word pieces start from vectors of the company they keep."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.finetuning import FreshEncoder, make_encoder
from isoglot.finetuning.piece_vectors import pieces_of

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SIZE = {"vocabulary": 120, "layers": 1, "width": 16, "heads": 2}


@pytest.fixture(scope="module")
def texts():
    """Two languages that share a name and nothing else; animals keep company with animals, tools with tools."""
    rng = np.random.default_rng(0)
    kinds = {
        "en": (["cat", "dog", "cow", "bird"], ["saw", "nail", "file", "drill"]),
        "fi": (["kissa", "koira", "lehmä", "lintu"], ["saha", "naula", "viila", "pora"]),
    }

    def lines(own):
        return [" ".join([*rng.choice(own[int(rng.integers(2))], size=6), "anna"]) for _ in range(600)]

    return {lang: lines(own) for lang, own in kinds.items()}


def load(texts, folder, **changes):
    place = make_encoder(folder, texts, FreshEncoder(**SIZE, **changes))
    network = transformers.AutoModelForMaskedLM.from_pretrained(place)
    return transformers.AutoTokenizer.from_pretrained(place), network.get_input_embeddings().weight.detach().numpy()


def cosine(tokenizer, vectors, *words):
    found = [vectors[tokenizer(word, add_special_tokens=False)["input_ids"]].mean(0) for word in words]
    left, right = (one / np.linalg.norm(one) for one in found)
    return float(left @ right)


def test_pieces_of_like_company_start_near_each_other(texts, tmp_path):
    tokenizer, vectors = load(texts, tmp_path / "warm", warm=20)
    same = [cosine(tokenizer, vectors, *pair) for pair in (("cat", "dog"), ("saw", "drill"), ("kissa", "lintu"))]
    other = [cosine(tokenizer, vectors, *pair) for pair in (("cat", "drill"), ("saw", "dog"), ("kissa", "naula"))]
    assert min(same) > max(other) + 0.2
    special = vectors[tokenizer.all_special_ids]
    assert special.std() < 0.03 < vectors[tokenizer("cat", add_special_tokens=False)["input_ids"]].std()


def test_a_seed_repeats_and_no_pass_leaves_random_vectors(texts, tmp_path):
    first, again, random = (load(texts, tmp_path / name, warm=warm)[1] for name, warm in (("a", 2), ("b", 2), ("c", 0)))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, random)
    assert random.std() == pytest.approx(0.02, rel=0.1)


def test_pieces_are_counted_by_language(texts, tmp_path):
    tokenizer, _ = load(texts, tmp_path / "count", warm=0)
    corpus, pieces = pieces_of(tokenizer, texts)
    assert corpus.langs == ("en", "fi")
    assert (
        corpus.total
        == len(corpus.tokens)
        == sum(len(row) for own in texts.values() for row in tokenizer(own, add_special_tokens=False)["input_ids"])
    )
    for column, own in enumerate(texts.values()):
        counted = np.bincount(np.concatenate(tokenizer(own, add_special_tokens=False)["input_ids"]), minlength=200)
        assert np.array_equal(corpus.counts[:, column], counted[pieces])
    line = corpus.tokens[corpus.starts[700] : corpus.starts[701]]
    assert pieces[line].tolist() == tokenizer(texts["fi"][100], add_special_tokens=False)["input_ids"]


def test_an_encoder_of_lower_cased_text_reads_capitals(texts, tmp_path):
    """Else "Cat" is made of pieces that were never trained."""
    ids = {}
    for name, some in (("lower", texts), ("cased", texts | {"de": ["Hund und Katze"] * 600})):
        tokenizer, _ = load(some, tmp_path / name, warm=0)
        ids[name] = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in ("cat", "Cat")]
    assert ids["lower"][0] == ids["lower"][1]
    assert ids["cased"][0] != ids["cased"][1]
    tokenizer, _ = load(texts, tmp_path / "as told", warm=0, lower=False)
    assert tokenizer("Cat")["input_ids"] != tokenizer("cat")["input_ids"]
