"""Confidences: calibrated on pairs that were held out, kept with the folder, and never claimed without them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import isoglot
from isoglot.aligned import Aligned, Calibration, Examples, calibration_error
from isoglot.aligned.candidates import FEATURES
from isoglot.aligners import Procrustes
from isoglot.errors import FormatError, LexiconError
from isoglot.lexicons import Lexicon
from isoglot.spaces import Space


def noisy_pair(n=1200, d=16, seed=0):
    """Words whose translations are the harder to find the rarer they are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    noise = rng.normal(size=(n, d)) * np.linspace(0.1, 1.6, n)[:, None]
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    src = Space("aa", [f"a{i}" for i in range(n)], X)
    tgt = Space("bb", [f"b{i}" for i in range(n)], ((X + noise) @ turn).astype(np.float32))
    return src, tgt, Lexicon([(f"a{i}", f"b{i}") for i in range(n)], "aa", "bb")


@pytest.fixture(scope="module")
def setting():
    src, tgt, lexicon = noisy_pair()
    rows = np.random.default_rng(1).permutation(len(src))
    train, held_out, fresh = (
        Lexicon([lexicon.pairs[i] for i in some], "aa", "bb") for some in np.split(rows, [300, 700])
    )
    return Aligned.pair(Procrustes().fit(src, tgt, train), src, tgt), train, held_out, fresh


def first_candidates(aligned, lexicon):
    entries = [one for one in aligned.lexicon().entries if one.source in lexicon.by_source]
    right = np.array([one.target in lexicon.by_source[one.source] for one in entries])
    return np.array([one.confidence for one in entries]), right


def test_confidences_mean_what_they_say_on_fresh_words(setting):
    aligned, _, held_out, fresh = setting
    before = calibration_error(*first_candidates(aligned, fresh))
    calibrated = aligned.calibrated(held_out)
    confidences, right = first_candidates(calibrated, fresh)
    after = calibration_error(confidences, right)
    assert 0.2 < right.mean() < 0.8
    assert after < 0.08
    assert after < before / 2
    info = calibrated.calibrations["aa", "bb", False].info
    assert info["words"] == 400
    assert info["error"] < info["error_before"]
    assert abs(info["right"] - right.mean()) < 0.1


def test_the_calibration_is_kept_with_the_folder(setting, tmp_path):
    aligned, _, held_out, _ = setting
    calibrated = aligned.calibrated(held_out)
    calibrated.save(tmp_path / "out")
    loaded = Aligned.load(tmp_path / "out")
    assert loaded.calibrations == calibrated.calibrations
    assert set(loaded.calibrations) == {("aa", "bb", False), ("bb", "aa", False)}
    assert loaded.lexicon(limit=50).entries == calibrated.lexicon(limit=50).entries
    manifest = tmp_path / "out" / "isoglot.json"
    document = json.loads(manifest.read_text("utf-8"))
    for damage, message in (
        ({"weights": ["x"] * (len(FEATURES) + 1)}, "weights"),
        ({"scales": [0.0] * len(FEATURES)}, "scales"),
        ({"features": ["score"]}, "features"),
        ({"source": "zz"}, "source"),
    ):
        changed = [{**document["calibrations"][0], **damage}]
        manifest.write_text(json.dumps({**document, "calibrations": changed}), "utf-8")
        with pytest.raises(FormatError, match=message):
            Aligned.load(tmp_path / "out")
    # Folders of earlier releases have none.
    manifest.write_text(json.dumps({k: v for k, v in document.items() if k != "calibrations"}), "utf-8")
    assert not Aligned.load(tmp_path / "out").calibrations


def test_words_that_were_learned_from_are_not_asked(setting):
    aligned, train, held_out, _ = setting
    everything = Lexicon([*train.pairs, *held_out.pairs])
    one = aligned.calibrated(everything, seen=train).calibrations
    assert {key: value.info["words"] for key, value in one.items()} == {
        ("aa", "bb", False): 400,
        ("bb", "aa", False): 400,
    }
    assert set(aligned.calibrated(everything, seen=train, both=False).calibrations) == {("aa", "bb", False)}


def test_too_few_words_do_not_calibrate(setting, tmp_path):
    aligned, _, held_out, _ = setting
    few = Lexicon(held_out.pairs[:20])
    assert not aligned.calibrated(few).calibrations
    with pytest.raises(LexiconError, match=r"20 held-out words, \d+ of them right"):
        aligned.lexicon(calibrate=few)
    induced = aligned.lexicon(limit=10)
    assert induced.calibration is None
    induced.save(tmp_path / "d.tsv")
    assert (tmp_path / "d.tsv").read_text("utf-8").splitlines()[0] == "source\ttarget\tuncalibrated\tscore\tmutual"


def test_examples_of_folds_can_be_joined(setting):
    aligned, _, held_out, _ = setting
    parts = [Lexicon(held_out.pairs[:200]), Lexicon(held_out.pairs[200:])]
    joined = Examples.joined([Examples.of(aligned, part, "aa", "bb") for part in parts])
    assert len(np.unique(joined.words)) == 400
    whole = Calibration.learn(Examples.of(aligned, held_out, "aa", "bb"))
    np.testing.assert_allclose(Calibration.learn(joined).weights, whole.weights, atol=1e-6)


def test_aligning_calibrates_on_what_it_holds_out():
    src, tgt, lexicon = noisy_pair()
    aligned = isoglot.align(src, tgt, lexicon, method="procrustes", held_out=200)
    assert aligned.calibrations["aa", "bb", False].info["words"] == 200
    assert aligned.lexicon(limit=20).calibration is not None
    assert aligned.lexicon(source="bb", limit=20).calibration is not None
    assert aligned.lexicon(limit=20, score="cosine").calibration is None
    assert not isoglot.align(src, tgt, lexicon, method="procrustes", held_out=0).calibrations
