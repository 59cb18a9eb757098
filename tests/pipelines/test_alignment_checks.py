"""Text of other kinds: what is measured on it, and how it chooses the pull."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.aligners import Anchored, AnchoredLocal, Procrustes
from isoglot.encoders import Encoder
from isoglot.errors import InputError
from isoglot.pipelines import Check, CheckOutcome, align_and_test, align_encoder
from isoglot.pipelines.alignment_checks import choose_with_checks, run_checks
from isoglot.pipelines.contextual import _huge_dimensions
from isoglot.tasks import tatoeba
from isoglot.text import ParallelText

TAUGHT = 200


@pytest.fixture(scope="module")
def text(lines):
    return ParallelText("north", "south", *(tuple(side[:TAUGHT]) for side in lines))


@pytest.fixture(scope="module")
def same(lines):
    """A text that the encoder needs no alignment for: the same language twice."""
    unlike = tuple(dict.fromkeys(lines[0]))[-120:]
    return Check.of("same", unlike, unlike)


def test_blank_lines_are_left_out_and_halves_share_no_line():
    check = Check.of("some", ("a", "", "b", "c", "d", "e"), ("A", "X", "B", " ", "D", "E"))
    assert (check.src, check.tgt) == (("a", "b", "d", "e"), ("A", "B", "D", "E"))
    longer = Check.of("more", tuple("abcdefgh"), tuple("ABCDEFGH"))
    assert (longer.half(0).src, longer.half(1).tgt) == (tuple("aceg"), tuple("BDFH"))
    apart = Check.of("apart", ("a", "", "b", "c", "d"), ("A", "B", "C", "D"), parallel=False)
    assert (len(apart.src), len(apart.tgt)) == (4, 4)
    with pytest.raises(InputError, match="some: 2 and 1 lines do not translate each other"):
        Check.of("some", ("a", "b"), ("A",))


def test_a_change_hurts_only_if_its_whole_interval_is_below_zero():
    assert CheckOutcome("a", "P@1", 10, 0.5, 0.4, (-0.2, -0.01)).hurts
    assert not CheckOutcome("a", "P@1", 10, 0.5, 0.4, (-0.2, 0.01)).hurts


@pytest.mark.parametrize("level", ["sentence", "word"])
def test_checks_raise_the_pull_as_far_as_they_need(tiny, text, same, level, parallel):
    more = {"level": level, "segmenter": "spaces"}
    more |= {"links": parallel.links[:TAUGHT]} if level == "word" else {}
    free = align_encoder(tiny, text, Anchored(), **more)
    bound = align_encoder(
        tiny, text, Anchored(), choose=lambda learn: choose_with_checks(learn, Anchored(), [same]), **more
    )
    before, after = (one.alignments[0].info["pull"] for one in (free, bound))
    assert after > before
    hurt, spared = (run_checks(one, [same])[0] for one in (free, bound))
    assert (hurt.lines, spared.lines) == (120, 60)
    assert hurt.before > 0.95 > hurt.after
    assert hurt.hurts
    assert spared.difference > hurt.difference


def test_nothing_is_chosen_for_methods_without_a_pull_or_with_a_given_one(tiny, text, same):
    for aligner in (Procrustes(), Anchored(pull=0.5), AnchoredLocal(pull=0.5)):
        made = align_and_test(tiny, text, aligner, held_out=40, checks=[same])
        assert "pull_choice" not in made.aligned.info
        assert made.checks[0].lines == 120
        assert made.record()["checks"][0]["name"] == "same"
    assert made.record()["warnings"] == made.aligned.info["warnings"]


def test_several_layers_are_measured_as_they_are_combined(tiny_folder, text, same):
    encoder = Encoder(tiny_folder, layer="last2")
    for per_layer in (False, True):
        made = align_and_test(encoder, text, Anchored(), per_layer=per_layer, held_out=40, checks=[same])
        assert len({alignment.info["pull"] for alignment in made.aligned.alignments}) == 1
        sides = [made.aligned.sentences(same.half(1).src, lang) for lang in ("north", "south")]
        found = tatoeba(*sides, score="csls", sentences=(same.half(1).src, same.half(1).tgt), bootstrap=0)[0]
        assert found.value == pytest.approx(made.checks[0].after, abs=0.02)


def test_huge_dimensions_are_told_unless_they_are_scaled():
    random = np.random.default_rng(0)
    even = random.normal(size=(50, 20)).astype(np.float32)
    huge = even * np.where(np.arange(20) == 4, 100, 1).astype(np.float32)
    (told,) = _huge_dimensions([huge, huge], Procrustes())
    assert told.startswith("three dimensions hold 100% of the length")
    assert _huge_dimensions([huge, huge], Procrustes(normalise="standardise,unit")) == []
    assert _huge_dimensions([even, huge], Procrustes()) == []
