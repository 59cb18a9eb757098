"""The tables on encoders: what each row says, that rows are kept, and how they are shown."""

from __future__ import annotations

import dataclasses

import pytest
from tests.pipelines.test_contextual import TAUGHT, judged, numbered, part

from isoglot.errors import ConfigError, FormatError
from isoglot.report import write_table_page
from isoglot.reproductions.density import table1 as contextual_tables
from isoglot.reproductions.density.table1 import (
    Variant,
    evaluation_table,
    retrieval_table,
    shuffled,
    word_alignment_table,
)
from isoglot.reproductions.density.table1_report import (
    evaluation_rows,
    retrieval_rows,
    word_alignment_rows,
)
from isoglot.reproductions.density.texts import help_text, tatoeba_text
from isoglot.wordalign import COMBINED, METHODS, WordLinks


@pytest.fixture
def refuse(monkeypatch):
    """From now on nothing of this kind may be computed."""

    def no(*names):
        for name in names:

            def refused(*_, _name=name, **__):
                raise AssertionError(f"{_name} was called again")

            monkeypatch.setattr(contextual_tables, name, refused)

    return no


ALL_WORK = ("Encoder", "align_and_test", "align_encoder", "judge_translations", "link_words", "statistical_align")


def test_shuffling_keeps_pairs_together():
    text = numbered(50)
    some = shuffled(text, 20, 1)
    assert len(set(some)) == 20
    assert set(some) <= set(text)
    assert tuple(some) != tuple(text)[:20]
    assert tuple(shuffled(text, 20, 1)) == tuple(some) != tuple(shuffled(text, 20, 2))
    assert len(shuffled(text, 99, 0)) == 50


VARIANTS = (Variant("plain"), Variant("words", "0", "word", "least-squares", "intersection", {"ridge": 0.1}))


def test_retrieval_table_is_kept_and_shown(tiny_folder, parallel, tmp_path, refuse):
    asked = []

    def load(lang):
        asked.append(lang)
        return dataclasses.replace(parallel.text, src_lang=lang)

    settings = {"languages": ["xx", "yy"], "variants": VARIANTS, "train": 300, "test": 100, "load": load}
    rows = retrieval_table(str(tiny_folder), tmp_path, **settings)
    assert [(row.language, row.variant) for row in rows] == [
        (lang, name) for lang in ("xx", "yy") for name in ("plain", "words")
    ]
    assert rows[0].after["P@1 csls"].value > rows[0].before["P@1 csls"].value + 0.3
    assert rows[0].after["P@1 csls"].n == 100
    head, shown = retrieval_rows(rows)
    assert head == ["alignment", "xx", "yy", "mean"]
    assert [row[0] for row in shown] == ["as it comes", "plain", "words"]
    value = rows[0].after["P@1 csls"].value
    assert shown[1][1:] == [f"{value:.3f}"] * 3
    assert shown[0][1] == f"{rows[0].before['P@1 csls'].value:.3f}"
    assert retrieval_rows([row for row in rows if row.variant == "plain" or row.language == "xx"])[1][2][2] == "-"

    refuse(*ALL_WORK)
    assert retrieval_table(str(tiny_folder), tmp_path, **settings) == rows
    assert asked == ["xx", "yy"] * 2
    for other in ({"seed": 1}, {"test": 99}, {"variants": [dataclasses.replace(VARIANTS[0], method="cca")]}):
        with pytest.raises(AssertionError, match="Encoder was called again"):
            retrieval_table(str(tiny_folder), tmp_path, **{**settings, **other})
    with pytest.raises(AssertionError, match="Encoder was called again"):
        retrieval_table("another", tmp_path, **settings)
    kept = tmp_path / "runs" / "yy-words.json"
    kept.write_text(kept.read_text("utf-8")[:30], "utf-8")
    with pytest.raises(AssertionError, match="Encoder was called again"):
        retrieval_table(str(tiny_folder), tmp_path, **settings)


def test_other_kinds_of_text_are_tested_on_too(tiny_folder, parallel, tmp_path, refuse):
    other = part(parallel.text, TAUGHT, TAUGHT + 60)
    brought = {"same": lambda lang: other, "some": lambda lang: other if lang == "xx" else None}
    settings = {"languages": ["xx", "yy"], "variants": VARIANTS[:1], "train": 300, "test": 100}
    settings |= {"load": lambda lang: dataclasses.replace(parallel.text, src_lang=lang), "elsewhere": brought}
    rows = retrieval_table(str(tiny_folder), tmp_path, **settings)
    assert [list(row.elsewhere) for row in rows] == [["same", "some"], ["same"]]
    before, after = rows[0].elsewhere["same"]
    assert after["P@1 csls"].value > before["P@1 csls"].value + 0.3
    assert after["P@1 csls"].n == 60
    head, shown = retrieval_rows(rows, kind="some")
    assert head == ["alignment", "xx", "mean"]
    assert shown[1] == ["plain", *[f"{after['P@1 csls'].value:.3f}"] * 2]
    refuse(*ALL_WORK)
    assert retrieval_table(str(tiny_folder), tmp_path, **settings) == rows


def test_texts_that_are_not_there_are_told(tmp_path):
    said = []
    assert help_text("xx", 10, 0, said.append) is None
    assert tatoeba_text(tmp_path, "de", said.append) is None
    assert [one.partition(":")[0] for one in said] == ["xx", "de"]
    for lang, line in (("deu", "ein Haus"), ("eng", "a house")):
        (tmp_path / f"tatoeba.deu-eng.{lang}").write_text(f"{line}\n", "utf-8")
    assert list(tatoeba_text(tmp_path, "de", said.append)) == [("ein Haus", "a house")]
    assert len(said) == 2


def test_an_unknown_method_in_a_variant_is_told(tiny_folder, parallel, tmp_path):
    with pytest.raises(ConfigError, match="did you mean 'procrustes'"):
        retrieval_table(
            str(tiny_folder), tmp_path, languages=["xx"], variants=[Variant("odd", method="procrustez")],
            load=lambda _: parallel.text, train=50, test=10,
        )  # fmt: skip


@pytest.fixture(scope="module")
def gold(parallel):
    return {"demo": (part(parallel.text, TAUGHT, TAUGHT + 30), parallel.links[TAUGHT : TAUGHT + 30])}


def test_word_alignment_table_is_kept_and_shown(tiny_folder, parallel, gold, tmp_path, refuse):
    pytest.importorskip("thot")
    taught = {"demo": part(parallel.text, 0, TAUGHT)}
    settings = {"models": ["ibm1"], "aligned": taught}
    rows = word_alignment_table(str(tiny_folder), gold, tmp_path, **settings)
    methods = [*METHODS, COMBINED]
    expected = [(kind, method) for kind in ("as it comes", "aligned") for method in methods] + [("statistical", "ibm1")]
    assert [(row.kind, row.method) for row in rows] == expected
    figures = {(row.kind, row.method): row.figures["F1"].value for row in rows}
    assert figures["aligned", "itermax"] > figures["as it comes", "itermax"] + 0.2
    assert all(row.figures["F1"].n == 30 and "AER" in row.figures for row in rows)
    head, shown = word_alignment_rows(rows)
    assert head == ["method", "vectors", "demo F1", "demo AER"]
    assert shown[0][:3] == ["intersection", "as it comes", f"{rows[0].figures['F1'].value:.3f}"]

    with pytest.MonkeyPatch.context() as patch:
        for name in ALL_WORK:
            patch.setattr(contextual_tables, name, lambda *_, **__: pytest.fail("computed again"))
        again = word_alignment_table(str(tiny_folder), gold, tmp_path, **settings)
    assert again == rows

    # Other gold, which is what another --base gives, or another text to learn from is another row.
    refuse("statistical_align", "align_encoder", "link_words")
    text, links = gold["demo"]
    other = {"demo": (text, [WordLinks(), *links[1:]])}
    with pytest.raises(AssertionError, match="link_words was called again"):
        word_alignment_table(str(tiny_folder), other, tmp_path, **settings)
    with pytest.raises(AssertionError, match="align_encoder was called again"):
        word_alignment_table(
            str(tiny_folder), gold, tmp_path, models=["ibm1"], aligned={"demo": part(parallel.text, 0, 50)}
        )
    without = word_alignment_table(str(tiny_folder), gold, tmp_path, models=[])
    assert [row.kind for row in without] == ["as it comes"] * len(methods)


def test_a_model_that_is_not_installed_is_a_row_too(tiny_folder, gold, tmp_path, monkeypatch):
    from isoglot.errors import MissingExtraError

    def missing(*_, **__):
        raise MissingExtraError("sil-thot", "word-alignment", "the model ibm1")

    monkeypatch.setattr(contextual_tables, "statistical_align", missing)
    rows = word_alignment_table(str(tiny_folder), gold, tmp_path, models=["ibm1"])
    assert "pip install" in rows[-1].missing
    assert word_alignment_rows(rows)[1][-1] == ["ibm1", "statistical", "-", "-"]
    assert not list((tmp_path / "runs").glob("*ibm1*"))


def test_gold_links_past_a_sentence_are_told(tiny_folder, gold, tmp_path):
    text, links = gold["demo"]
    with pytest.raises(FormatError, match="demo:2: the link 0-99"):
        word_alignment_table(str(tiny_folder), {"demo": (text, [links[0], WordLinks({(0, 99)}), *links[2:]])}, tmp_path)
    assert not list(tmp_path.iterdir())


def write_wmt(folder, segments, pair="north-south"):
    src, tgt = pair.split("-")
    (folder / "source").mkdir(parents=True)
    (folder / "system-outputs" / pair).mkdir(parents=True)
    lines = ["LP DATA SYSTEM SID HUMAN"]
    lines += [f"{pair} news system {one.segment} {one.human}" for one in segments]
    files = {
        folder / "DA-seglevel.csv": lines,
        folder / "source" / f"news-{src}{tgt}-src.{src}": [one.source for one in segments],
        folder / "system-outputs" / pair / f"news.system.{pair}": [one.hypothesis for one in segments],
    }
    for path, content in files.items():
        path.write_text("".join(f"{line}\n" for line in content), "utf-8")


def test_evaluation_table_is_kept_and_shown(tiny_folder, parallel, tmp_path, refuse):
    pytest.importorskip("ot")
    pytest.importorskip("thot")
    segments = judged(parallel)
    write_wmt(tmp_path / "wmt", segments)
    settings = {"pairs": ["north-south"], "lines": TAUGHT, "load": lambda _: part(parallel.text, 0, TAUGHT)}
    rows = evaluation_table(str(tiny_folder), tmp_path / "wmt", tmp_path / "out", **settings)
    assert [(row.remapped, row.ngram) for row in rows] == [(False, 1), (False, 2), (True, 1), (True, 2)]
    assert rows[2].figures["Pearson"].value > max(0.5, rows[0].figures["Pearson"].value)
    assert rows[0].segments == rows[0].figures["Pearson"].n == 40
    head, shown = evaluation_rows(rows)
    assert len(head) == len(shown[0]) == 5
    assert [row[:3] for row in shown] == [
        ["north-south", ngram, when] for when in ("before", "after") for ngram in ("1", "2")
    ]
    assert shown[2][3].startswith(f"{rows[2].figures['Pearson'].value:.3f} (")

    refuse(*ALL_WORK)
    again = evaluation_table(str(tiny_folder), tmp_path / "wmt", tmp_path / "out", **settings)
    assert again == rows
    # Other judgements under the same name are other rows.
    write_wmt(tmp_path / "other", [dataclasses.replace(one, human=one.human + 0.1) for one in segments])
    with pytest.raises(AssertionError, match="Encoder was called again"):
        evaluation_table(str(tiny_folder), tmp_path / "other", tmp_path / "out", **settings)


@pytest.mark.parametrize("first", ["alignment", "method"])
def test_the_page_holds_the_table(tmp_path, first):
    table = ([first, "de", "mean"], [["as it <comes>", "0.100", "0.100"], ["procrustes", "-", "0.250"]])
    write_table_page(
        tmp_path / "report.html", "Figures", "tiny", table, lead="What was measured.", settings={"rows": 2}
    )
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "What was measured." in page
    assert "as it &lt;comes&gt;" in page
    assert "<comes>" not in page
    assert ("Sentences found" in page) == (first == "alignment")
