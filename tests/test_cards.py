"""Model cards: what they say is true, and the lines that they show run."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import isoglot as ig
from isoglot import catalogue
from isoglot.aligners import Procrustes
from isoglot.card_content import Source, Usage, results_table
from isoglot.cards import Card
from isoglot.encoders import AlignedEncoder
from isoglot.simulate import simulate_pair


def run_lines(folder, monkeypatch):
    """Run the Python of a folder's card within the folder."""
    monkeypatch.chdir(folder)
    blocks = re.findall(r"^```python\n(.*?)^```", (folder / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    return names


NAMED = {"src_lang": "en", "tgt_lang": "fr"}


@pytest.fixture(scope="module")
def aligned(tmp_path_factory):
    pair = simulate_pair(n_words=1500, dim=20, noise=0.3, seed=1)
    folder = tmp_path_factory.mktemp("files")
    for lang, space in (("en", pair.src), ("fr", pair.tgt)):
        space.save(folder / f"{lang}.vec")
    pair.lexicon.save(folder / "en-fr.txt")
    return ig.align(folder / "en.vec", folder / "fr.vec", folder / "en-fr.txt", method="procrustes", **NAMED)


def test_the_card_of_aligned_spaces(aligned, tmp_path, monkeypatch):
    aligned.save(tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert text.startswith('---\nlanguage:\n- "en"\n- "fr"\ntags:\n- "isoglot"\n')
    assert "\nlicense: unknown\nlibrary_name: isoglot\n" in text
    first = aligned.info["results"][0]
    assert f"| P@1 | {first['value']:.3f} | {first['interval'][0]:.3f} to {first['interval'][1]:.3f} |" in text
    assert "Test set: `en-fr.txt`. None of its words was learned from." in text
    assert "check the licences of `en.vec`, `fr.vec`, `en-fr.txt`" in text
    assert aligned.info["provenance"]["src"]["fingerprint"] in text
    assert str(tmp_path.parent) not in text
    assert type(run_lines(tmp_path / "out", monkeypatch)["aligned"]) is ig.Aligned


def test_a_figure_by_cross_validation_is_called_so(tmp_path):
    pair = simulate_pair(n_words=600, dim=20, noise=0.3, seed=1)
    ig.align(pair.src, pair.tgt, pair.lexicon, method="auto", effort="quick").save(tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "| cross-validated |" in text
    assert "Test set" not in text


def test_words_that_were_learned_from_are_told(aligned, tmp_path):
    info = json.loads(json.dumps(dict(aligned.info)))
    info["lexicons"][1]["seen"] = 7
    ig.Aligned(aligned.spaces, aligned.alignments, info).save(tmp_path / "out")
    assert "7 of its words were also learned from." in (tmp_path / "out" / "README.md").read_text("utf-8")


def test_nothing_is_claimed_that_was_not_measured(aligned, tmp_path, monkeypatch):
    alignment = next(iter(aligned.alignments.values()))
    alignment.save(tmp_path / "map")
    text = (tmp_path / "map" / "README.md").read_text("utf-8")
    assert "Nothing was measured when this was saved." in text
    assert "P@1" not in text
    assert run_lines(tmp_path / "map", monkeypatch)["mapped"].shape == (1, 20)


@pytest.mark.filterwarnings("ignore")
def test_the_card_of_a_static_model(aligned, tmp_path, monkeypatch):
    aligned.export(tmp_path / "model", "static-model")
    assert "\nlibrary_name: sentence-transformers\n" in (tmp_path / "model" / "README.md").read_text("utf-8")
    assert np.asarray(run_lines(tmp_path / "model", monkeypatch)["vectors"]).shape == (2, 20)


def test_the_card_of_an_aligned_encoder(tiny, lines, tmp_path, monkeypatch):
    X, Y = (tiny.sentences(side[:50]) for side in lines)
    alignment = Procrustes().fit(X, Y, [(i, i) for i in range(50)])
    AlignedEncoder(tiny, (alignment,), ("north", "south"), "sentence").save(tmp_path / "out")
    names = run_lines(tmp_path / "out", monkeypatch)
    assert names["north"].shape == names["south"].shape == (1, 64)


def test_a_card_that_was_edited_is_kept(aligned, tmp_path):
    out = tmp_path / "out"
    aligned.save(out)
    aligned.save(out)
    assert not (out / "README.md.kept").exists()
    (out / "README.md").write_text("my own words")
    aligned.save(out)
    assert (out / "README.md.kept").read_text() == "my own words"
    assert (out / "README.md").read_text("utf-8").startswith("---\n")


def test_licences_come_from_the_catalogue_and_from_cards(tmp_path):
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n\n# A model\n")
    own, known = Source.at("encoder", str(tmp_path)), Source.at("vectors of fr", "vectors/fr")
    assert own.licence == "MIT"
    assert (known.name, known.licence) == ("vectors/fr", catalogue.entry("vectors/fr").licence)
    both = Card("t", "s", ["no"], [Usage("", [])], sources=[own, known]).text()
    assert "\nlicense: other\nlicense_name: see-the-sources\n" in both
    assert "The licences of its sources apply" in both
    assert '- "no"' in both
    assert "\nlicense: mit\n" in Card("t", "s", [], [], sources=[own]).text()


@pytest.mark.parametrize("records", [None, 3, [None], [{"value": "x"}], [{"value": float("nan")}], [{"value": True}]])
def test_what_is_no_figure_is_left_out(records):
    assert results_table(records, "") is None


def test_names_cannot_break_out_of_their_line():
    text = Card("a\n# b", "", [], [], sources=[Source("x|y", "n\n<script>")]).text()
    assert "\n# b" not in text
    assert "<script>" not in text
    assert "x\\|y" in text
