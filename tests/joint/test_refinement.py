"""Refinement moves what a language has alone, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.aligners import Procrustes, aligner
from isoglot.errors import ConfigError, InputError, LexiconError
from isoglot.joint import JointSpace, refine
from isoglot.lexicons import Lexicon
from isoglot.tasks import bli


def planted(n=120, d=8, langs=("en", "fr"), seed=0):
    """Each language's own words are a turned copy of the last one's; ten words are shared."""
    random = np.random.default_rng(seed)
    base = random.normal(size=(n, d))
    words, rows, counts = [], [], []
    for i, lang in enumerate(langs):
        turn = np.eye(d) if lang == langs[-1] else np.linalg.qr(random.normal(size=(d, d)))[0]
        words += [f"{lang}{k}" for k in range(n)]
        rows.append(base @ turn)
        counts.append(np.eye(len(langs))[i] * (n + 10 - np.arange(n))[:, None])
    words += [f"shared{k}" for k in range(10)]
    rows.append(random.normal(size=(10, d)))
    counts.append(np.full((10, len(langs)), 3))
    space = JointSpace(tuple(langs), tuple(words), np.concatenate(rows), np.concatenate(counts))
    pivot = langs[-1]
    lexicons = {
        (lang, pivot): Lexicon([(f"{lang}{k}", f"{pivot}{k}") for k in range(60)], lang, pivot) for lang in langs[:-1]
    }
    return space, lexicons


def test_shared_words_stay_and_own_words_find_each_other():
    joint, lexicons = planted()
    refined = refine(joint, Procrustes(normalise="none"), lexicons).space
    untouched = np.concatenate([joint.shared, joint.own_rows("fr")])
    np.testing.assert_array_equal(refined.vectors[untouched], joint.vectors[untouched])
    np.testing.assert_allclose(refined.vectors[:120], joint.vectors[120:240], atol=1e-4)


def test_a_normalising_method_keeps_shared_words_and_the_pivot_in_one_frame():
    joint, lexicons = planted()
    alignment = (refined := refine(joint, Procrustes(), lexicons)).alignments["en", "fr"]
    untouched = np.concatenate([joint.shared, joint.own_rows("fr")])
    expected = alignment.transform(joint.vectors[untouched], "tgt")
    np.testing.assert_array_equal(refined.space.vectors[untouched], expected)


@pytest.mark.parametrize("method", ["procrustes", "vecmap"])
def test_several_languages_meet_in_the_pivots_space(method):
    joint, lexicons = planted(langs=("en", "it", "fr"))
    refined = refine(joint, aligner(method), lexicons).space
    for source, target in (("en", "fr"), ("it", "fr"), ("en", "it")):
        gold = Lexicon([(f"{source}{k}", f"{target}{k}") for k in range(60, 120)], source, target)
        assert bli(refined.view(source), refined.view(target), gold, ks=(1,), bootstrap=0)[0].value > 0.95


def test_another_pivot_and_a_lexicon_the_other_way_round():
    joint, lexicons = planted()
    refined = refine(joint, Procrustes(normalise="none"), lexicons, pivot="en").space
    np.testing.assert_allclose(refined.vectors[120:240], joint.vectors[:120], atol=1e-4)


def test_what_is_missing_is_said():
    joint, lexicons = planted()
    with pytest.raises(LexiconError, match="given none"):
        refine(joint, Procrustes(), {})
    with pytest.raises(ConfigError, match="no language"):
        refine(joint, Procrustes(), lexicons, pivot="de")
    shared = JointSpace(joint.langs, joint.words, joint.vectors, np.ones_like(joint.counts))
    with pytest.raises(InputError, match="no words of their own"):
        refine(shared, Procrustes(), lexicons)
