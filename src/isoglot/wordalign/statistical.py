"""Word alignment by statistical models, learned from the sentence pairs themselves: the baseline of similarities.

The models of Brown et al. 1993 (IBM 1 to 4), Vogel, Ney & Tillmann 1996 (HMM) and Dyer, Chahuneau & Smith 2013
(fast_align) come from Thot (`sil-thot`), with variational Bayes, which keeps rare words from collecting links. So does
`thot-eflomal`, its own version of Östling & Tiedemann 2016; `eflomal` runs the authors' GPL program, if there is one.
Each model is trained in both directions and the two are symmetrised.
"""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from isoglot.errors import InputError, MissingExtraError
from isoglot.progress import Progress, silent
from isoglot.suggest import choose
from isoglot.text import write_lines
from isoglot.wordalign.links import WordLinks, read_links
from isoglot.wordalign.symmetrise import check_symmetrisation, symmetrise as merge

Sentences = list[list[str]]
Directed = list[set[tuple[int, int]]]

#: Iterations of each stage of an EM model, as usual with GIZA++.
ITERATIONS = 5
#: Longest sentence of the eflomal program.
_EFLOMAL_LENGTH = 1024
_BATCH = 1000


@dataclasses.dataclass(frozen=True)
class StatisticalModel:
    """A row of the table. stages: Thot's classes, each starting from the one before; none for an outside program."""

    name: str
    summary: str
    paper: str
    stages: tuple[str, ...]
    seed: str = "none: deterministic"


_IBM1, _HMM, _IBM3 = "Ibm1AlignmentModel", "HmmAlignmentModel", "Ibm3AlignmentModel"

#: All models by name.
MODELS: Mapping[str, StatisticalModel] = MappingProxyType(
    {
        row.name: row
        for row in (
            StatisticalModel("ibm1", "words only", "Brown et al. 1993", (_IBM1,)),
            StatisticalModel("ibm2", "words, positions", "Brown et al. 1993", (_IBM1, "Ibm2AlignmentModel")),
            StatisticalModel("hmm", "words, jumps", "Vogel, Ney & Tillmann 1996", (_IBM1, _HMM)),
            StatisticalModel("ibm3", "words, positions, fertility", "Brown et al. 1993", (_IBM1, _HMM, _IBM3)),
            StatisticalModel(
                "ibm4", "words, jumps, fertility", "Brown et al. 1993", (_IBM1, _HMM, _IBM3, "Ibm4AlignmentModel")
            ),
            StatisticalModel(
                "fast_align", "words, distance from the diagonal", "Dyer et al. 2013", ("FastAlignModel",)
            ),
            StatisticalModel(
                "thot-eflomal",
                "words, jumps, fertility; sampled",
                "Östling & Tiedemann 2016",
                ("EflomalAlignmentModel",),
                seed="taken",
            ),
            StatisticalModel(
                "eflomal",
                "the same by the authors' program",
                "Östling & Tiedemann 2016",
                (),
                seed="cannot be set: runs differ a little",
            ),
        )
    }
)


def statistical_align(
    src: Sequence[Sequence[str]],
    tgt: Sequence[Sequence[str]],
    model: str = "hmm",
    symmetrise: str = "grow-diag-final-and",
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> list[WordLinks]:
    """Train on these sentence pairs, given as lists of words, and link their words; all links are sure, without scores.

    Args:
        model: a name of `MODELS`. The default is good and quick; ibm3 and ibm4 are better and take four times as long.
        symmetrise: how the two directions are merged, a name of `isoglot.wordalign.symmetrise.SYMMETRISATIONS`.
        seed: for the models that take one; `MODELS` says which.

    A pair with an empty sentence has no links. Words are compared as they are: lower-case them first if case is noise.

    >>> statistical_align([[], ["a"]], [["x"], []])
    [WordLinks(''), WordLinks('')]
    """
    chosen = choose("model", model, MODELS, where="model")
    check_symmetrisation(symmetrise)
    _check_sentences(src, tgt)
    used = [number for number, (s, t) in enumerate(zip(src, tgt, strict=True)) if len(s) and len(t)]
    links = [WordLinks()] * len(src)
    if not used:
        return links
    # Numbers stand for words: Thot takes the word "NULL" for its empty word, and eflomal's reader lower-cases words and
    # splits them at any white space.
    numbered = _numbered([src[number] for number in used]), _numbered([tgt[number] for number in used])
    if chosen.stages:
        forward, backward = _thot(chosen, *numbered, seed, used, progress)
    else:
        forward, backward = _eflomal(*numbered, used, progress)
    for number, ahead, back in zip(used, forward, backward, strict=True):
        links[number] = WordLinks(merge(ahead, back, symmetrise, n=len(src[number]), m=len(tgt[number])))
    return links


def _check_sentences(src: Sequence[Sequence[str]], tgt: Sequence[Sequence[str]]) -> None:
    if len(src) != len(tgt):
        raise InputError(f"{len(src):,} source sentences but {len(tgt):,} target sentences")
    for name, sentences in (("src", src), ("tgt", tgt)):
        for number, sentence in enumerate(sentences, start=1):
            if isinstance(sentence, str):
                raise InputError(
                    f"sentence {number:,} is a string", where=name, remedy="split it into words: sentence.split()"
                )


def _numbered(sentences: Sequence[Sequence[str]]) -> Sentences:
    numbers: dict[str, str] = {}
    return [[numbers.setdefault(word, str(len(numbers))) for word in sentence] for sentence in sentences]


def _check_lengths(model: str, sentences: Sentences, used: list[int], longest: int) -> None:
    """Longer sentences would come back without links and without a word."""
    for number, sentence in zip(used, sentences, strict=True):
        if len(sentence) > longest:
            raise InputError(
                f"sentence {number + 1:,} has {len(sentence):,} words, but {model} takes {longest:,} at most",
                remedy="split or drop it" if longest > 200 else "split or drop it, or choose ibm1 or fast_align",
            )


def _thot(
    model: StatisticalModel, src: Sentences, tgt: Sentences, seed: int, used: list[int], progress: Progress
) -> tuple[Directed, Directed]:
    try:
        import thot.alignment as thot
    except ImportError as error:
        raise MissingExtraError("sil-thot", "word-alignment", f"the model {model.name}") from error
    longest = min(getattr(thot, stage)().max_sentence_length for stage in model.stages)
    for side in (src, tgt):
        _check_lengths(model.name, side, used, longest)
    forward = list(_decoded(_trained(thot, model, src, tgt, seed, "forward", progress), src, tgt))
    backward = _decoded(_trained(thot, model, tgt, src, seed, "backward", progress), tgt, src)
    return forward, [{(i, j) for j, i in links} for links in backward]


def _trained(
    thot: Any, model: StatisticalModel, src: Sentences, tgt: Sentences, seed: int, direction: str, progress: Progress
) -> Any:
    made = None
    for stage in model.stages:
        if made is None:
            made = getattr(thot, stage)()
            for pair in zip(src, tgt, strict=True):
                made.add_sentence_pair(*pair)
        else:
            made = getattr(thot, stage)(made)  # takes over the sentences and what was learned
        iterations = ITERATIONS
        if stage == "EflomalAlignmentModel":
            made.seed, made.deterministic = seed, True
        else:
            made.variational_bayes = True
        made.start_training()  # returns the number of pairs, not of iterations
        if stage == "EflomalAlignmentModel":
            iterations = made.scheduled_iterations
        label = f"{model.name} {direction}: {stage.removesuffix('AlignmentModel').removesuffix('Model')}"
        for iteration in range(iterations):
            made.train()
            progress(label, iteration + 1, iterations)
        made.end_training()
    return made


def _decoded(model: Any, src: Sentences, tgt: Sentences) -> Iterator[set[tuple[int, int]]]:
    for start in range(0, len(src), _BATCH):
        for _, matrix in model.get_best_alignments(src[start : start + _BATCH], tgt[start : start + _BATCH]):
            rows, columns = matrix.to_numpy().nonzero()
            yield set(zip(rows.tolist(), columns.tolist(), strict=True))


def _eflomal(src: Sentences, tgt: Sentences, used: list[int], progress: Progress) -> tuple[Directed, Directed]:
    # Its licence keeps it out of our process; beside our Python is where pip puts it, whether or not that is on PATH.
    program = shutil.which("eflomal-align") or shutil.which("eflomal-align", path=str(Path(sys.executable).parent))
    if program is None:
        raise InputError(
            "the model eflomal needs the program eflomal-align, which is not installed",
            where="model",
            remedy="pip install eflomal (GPL; needs a C compiler), or choose 'thot-eflomal'",
        )
    for side in (src, tgt):
        _check_lengths("eflomal", side, used, _EFLOMAL_LENGTH)
    with tempfile.TemporaryDirectory(prefix="isoglot-eflomal-") as name:
        folder = Path(name)
        for file, sentences in (("src", src), ("tgt", tgt)):
            write_lines(folder / file, [" ".join(sentence) for sentence in sentences])
        files = {
            flag: str(folder / file) for flag, file in (("-s", "src"), ("-t", "tgt"), ("-f", "fwd"), ("-r", "rev"))
        }
        progress("eflomal", 0, 1)
        command = [program, *(part for item in files.items() for part in item)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise InputError(f"eflomal-align does not start ({error.strerror})", where=program) from error
        outputs = [Path(files[flag]) for flag in ("-f", "-r")]
        if done.returncode or not all(path.exists() and path.stat().st_size for path in outputs):
            said = (done.stderr.strip().splitlines() or ["it wrote nothing"])[-1]
            raise InputError(f"eflomal-align failed: {said[:200]}", where=program)
        directions = [[set(links.sure) for links in read_links(path, base=0)] for path in outputs]
    if not all(len(links) == len(src) for links in directions):
        raise InputError(f"eflomal-align wrote links of {len(directions[0]):,} pairs, not {len(src):,}", where=program)
    progress("eflomal", 1, 1)
    return directions[0], directions[1]
