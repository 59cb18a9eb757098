"""What a person types first: `import isoglot as ig`, and each name there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import isoglot as ig


def test_importing_loads_nothing_heavy():
    heavy = ("numpy", "numba", "torch", "scipy", "transformers", "typer", "rich")
    code = f"import sys, isoglot; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


LIGHT = ["Space", "Lexicon", "methods", "align", "compare", "compare_pairs", "load", "evaluate", "align_words"]


@pytest.mark.parametrize("name", LIGHT)
def test_a_name_loads_neither_torch_nor_numba(name):
    code = f"import sys, isoglot; isoglot.{name}; print([n for n in ('torch', 'numba', 'scipy') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_the_names_are_there_and_listed():
    assert set(ig.__all__) <= set(dir(ig))
    assert set(ig.__all__) == set(ig._ROOMS)
    for name in ig.__all__:
        assert getattr(ig, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'procrutes'"):
        _ = ig.procrutes


def test_every_name_has_a_docstring_that_says_what_it_does():
    for name in ig.__all__:
        assert len((getattr(ig, name).__doc__ or "").splitlines()[0]) > 20
