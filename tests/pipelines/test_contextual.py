"""Encoders put to use: aligned and tested on other lines, words of other sentences, judged translations, tables."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import numpy as np
import pytest

from isoglot.aligners import Procrustes
from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.pipelines import (
    ContextualPairs,
    TokenisedPairs,
    align_and_test,
    align_encoder,
    held_out_words,
    judge_translations,
)
from isoglot.pipelines.contextual import search_sentences, split_text
from isoglot.pipelines.contextual_pairs import extract_pairs
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
from isoglot.spaces import Space, parse_occurrence
from isoglot.tasks import WmtSegment, cbli
from isoglot.text import ParallelText
from isoglot.wordalign import METHODS, WordLinks

TAUGHT = 400
LANGUAGES = ("north", "south")


def part(text, begin, end):
    return dataclasses.replace(text, src=text.src[begin:end], tgt=text.tgt[begin:end])


def numbered(count, blank=()):
    src, tgt = ([("" if i in blank else f"{side}{i}") for i in range(count)] for side in "ab")
    return ParallelText("north", "south", tuple(src), tuple(tgt))


@pytest.fixture(scope="module")
def found(tiny, parallel):
    return extract_pairs(tiny, TokenisedPairs(parallel.src[:200], parallel.tgt[:200], links=parallel.links[:200]))


@pytest.fixture(scope="module")
def aligned(tiny, parallel):
    links = parallel.links[:TAUGHT]
    text = part(parallel.text, 0, TAUGHT)
    return align_encoder(tiny, text, Procrustes(), level="word", segmenter="spaces", links=links)


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


@pytest.mark.parametrize(
    ("count", "held_out", "learned"), [(10, None, 8), (4, None, 4), (10, 0, 10), (10, 9, 1), (10_000, None, 9000)]
)
def test_the_last_lines_are_held_out(count, held_out, learned):
    train, test = split_text(numbered(count), range(count), held_out)
    assert (len(train), len(test)) == (learned, count - learned)
    assert (*train, *test) == tuple(numbered(count))
    assert (train.src_lang, test.tgt_lang) == LANGUAGES


def test_only_kept_lines_are_split():
    train, test = split_text(numbered(6), [0, 2, 5], 1)
    assert (train.src, test.tgt) == (("a0", "a2"), ("b5",))


@pytest.mark.parametrize(("count", "held_out"), [(10, 10), (10, 11), (0, None), (0, 0)])
def test_something_must_be_left_to_learn_from(count, held_out):
    with pytest.raises(InputError, match="none is left to learn from; give more text or a smaller `held_out`"):
        split_text(numbered(count), range(count), held_out)


@pytest.mark.parametrize("level", ["sentence", "word"])
def test_aligned_on_some_lines_and_tested_on_the_others(tiny, parallel, level):
    text, links = parallel.text, parallel.links
    # A blank line in each part: neither shifts what belongs together.
    where = (3, 450)
    src, tgt = list(text.src), list(text.tgt)
    spread = list(links)
    for number in where:
        src.insert(number, "")
        tgt.insert(number, "unpaired")
        spread.insert(number, WordLinks())
    blank = dataclasses.replace(text, src=tuple(src), tgt=tuple(tgt))
    settings = {"level": level, "segmenter": "spaces"}
    outcome = align_and_test(
        tiny, blank, Procrustes(), held_out=100, links=spread if level == "word" else None, **settings
    )
    assert (outcome.learned, outcome.left_out) == (TAUGHT, 2)
    by_hand = align_encoder(
        tiny, part(text, 0, TAUGHT), Procrustes(), links=links[:TAUGHT] if level == "word" else None, **settings
    )
    test = part(text, TAUGHT, None)
    wanted = search_sentences(by_hand.sentences(test.src, "north"), by_hand.sentences(test.tgt, "south"), test)
    assert [result.value for result in outcome.after] == [result.value for result in wanted]
    assert [(r.metric, r.protocol["score"]) for r in outcome.after] == [
        (metric, score) for score in ("cosine", "csls") for metric in ("P@1", "P@1 src->tgt", "P@1 tgt->src")
    ]
    assert outcome.before[3].value < 0.1
    assert outcome.after[3].value > 0.3
    record = json.loads(json.dumps(outcome.record(), allow_nan=False))
    assert (record["languages"], record["learned_from"], record["left_out"]) == (list(LANGUAGES), TAUGHT, 2)
    assert record["after"][3]["value"] == outcome.after[3].value


def test_without_lines_held_out_there_are_no_figures(tiny, parallel):
    outcome = align_and_test(tiny, part(parallel.text, 0, 80), Procrustes(), held_out=0)
    assert (outcome.before, outcome.after, outcome.learned) == ([], [], 80)


def test_links_must_fit_the_whole_text(tiny, parallel):
    text, links = part(parallel.text, 0, 50), parallel.links[:50]
    settings = {"level": "word", "segmenter": "spaces"}
    with pytest.raises(InputError, match="49 lines of word links for 50 sentences"):
        align_and_test(tiny, text, Procrustes(), links=links[:49], **settings)
    # The last line is held out and its links are not used, but they show that something is wrong with the file.
    wrong = [*links[:49], WordLinks({(0, 99)})]
    with pytest.raises(FormatError, match="gold:50: the link 0-99"):
        align_and_test(tiny, text, Procrustes(), links=wrong, links_name="gold", **settings)


def sentences_of(space):
    return {parse_occurrence(name).sentence for name in space.words}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("test", [1, 300, 10**6])
def test_no_sentence_both_teaches_and_tests(found, seed, test):
    seen = []

    class Watched(Procrustes):
        def fit(self, src, tgt, lexicon=None, **settings):
            seen.append((src, tgt, lexicon))
            return super().fit(src, tgt, lexicon, **settings)

    alignment, held = held_out_words(Watched(), found, test=test, seed=seed)
    ((src, tgt, pairs),) = seen
    for taught, tested in ((src, held.src), (tgt, held.tgt)):
        assert not sentences_of(taught) & sentences_of(tested)
        assert sentences_of(taught) | sentences_of(tested) == set(range(200))
    assert len(pairs) + len(held) == len(found)
    # As many as asked for, and not a sentence more; never more than half of the sentences.
    largest = max(Counter(parse_occurrence(found.src.words[i]).sentence for i in found.pairs[:, 0]).values())
    assert len(sentences_of(held.src)) <= 100
    if test <= 300:
        assert test <= len(held) < test + largest
    names = {(found.src.words[i], found.tgt.words[j]) for i, j in found.pairs}
    assert {(held.src.words[i], held.tgt.words[j]) for i, j in held.pairs} <= names
    mapped = [alignment.transform(space, side) for space, side in ((held.src, "src"), (held.tgt, "tgt"))]
    if test == 300:
        before = cbli(held.src, held.tgt, held.pairs, bootstrap=0)[0].value
        assert cbli(*mapped, held.pairs, bootstrap=0)[0].value > before + 0.3


def test_one_sentence_cannot_be_held_out():
    space = Space("en", ["a@3:0", "b@3:1"], np.eye(2))
    with pytest.raises(InputError, match="from one sentence: there is nothing to hold out"):
        held_out_words(Procrustes(), ContextualPairs(space, space, np.array([[0, 0], [1, 1]])), test=1)


def judged(parallel, count=40):
    """Translations of which more and more words are wrong: people like them less and less."""
    random = np.random.default_rng(5)
    words = sorted({word for sentence in parallel.tgt for word in sentence})
    segments = []
    for number in range(count):
        hypothesis = list(parallel.tgt[TAUGHT + number])
        wrong = number % 5 / 4
        for place in random.choice(len(hypothesis), round(wrong * len(hypothesis)), replace=False):
            hypothesis[place] = words[random.integers(len(words))]
        source = " ".join(parallel.src[TAUGHT + number])
        segments.append(WmtSegment("system", number + 1, source, " ".join(hypothesis), 1 - wrong))
    return segments


def test_people_and_distances_agree_once_the_encoder_is_aligned(tiny, aligned, parallel):
    pytest.importorskip("ot")
    segments = judged(parallel)
    encoders = tuple(aligned.encoder_of(lang) for lang in LANGUAGES)
    before = judge_translations((tiny, tiny), segments, LANGUAGES, segmenter="spaces")
    after = judge_translations(encoders, segments, LANGUAGES, segmenter="spaces")
    assert [result.metric for result in after] == ["Pearson", "Kendall"]
    assert after[0].value > max(0.6, before[0].value + 0.1)
    assert (after[0].n, after[0].coverage, after[0].protocol["ngram"]) == (40, 1.0, 1)
    pairs = judge_translations(encoders, segments, LANGUAGES, ngram=2, segmenter="spaces")
    assert pairs[0].value > 0.4
    # Punctuation does not count; a translation of nothing is the worst of all.
    dotted = [dataclasses.replace(one, hypothesis=f"{one.hypothesis} . . !") for one in segments]
    marked = judge_translations((tiny, tiny), dotted, LANGUAGES, segmenter="spaces")
    assert np.corrcoef(*([item["score"] for item in r[0].per_item] for r in (marked, before)))[0, 1] > 0.5
    nothing = [dataclasses.replace(segments[0], hypothesis=""), *segments[1:]]
    scored = judge_translations(encoders, nothing, LANGUAGES, segmenter="spaces")
    assert scored[0].coverage == pytest.approx(39 / 40)
    assert scored[0].per_item[0]["score"] == min(item["score"] for item in scored[0].per_item)


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
    expected = [(kind, method) for kind in ("as it comes", "aligned") for method in METHODS] + [("statistical", "ibm1")]
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
    assert [row.kind for row in without] == ["as it comes"] * len(METHODS)


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
    pytest.importorskip("plotly")
    table = ([first, "de", "mean"], [["as it <comes>", "0.100", "0.100"], ["procrustes", "-", "0.250"]])
    write_table_page(
        tmp_path / "report.html", "Figures", "tiny", table, lead="What was measured.", settings={"rows": 2}
    )
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "What was measured." in page
    assert "as it &lt;comes&gt;" in page
    assert "<comes>" not in page
    assert ("Sentences found" in page) == (first == "alignment")
