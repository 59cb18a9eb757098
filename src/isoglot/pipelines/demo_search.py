"""The demo of an encoder: questions in four languages, answered from English text, with figures and a page."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from isoglot import catalogue
from isoglot.encoders import Encoder
from isoglot.files import atomic_path
from isoglot.pipelines.search import Answer, Line, SearchText, encode_lines
from isoglot.progress import Progress, silent
from isoglot.report import Section, escape, percent, render_page, table
from isoglot.tasks import Result, tatoeba

LANGUAGES = ("de", "es", "fr", "tr")
#: Of each language: lines that are asked, and questions that are shown.
_LINES, _SHOWN = 1000, 3


@dataclasses.dataclass(frozen=True, eq=False)
class SearchDemo:
    """Figures of each language, and questions with the three nearest lines and the translation that was expected."""

    encoder: str
    lines: int
    figures: dict[str, Result]
    examples: dict[str, list[tuple[Answer, str]]]
    report: Path

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "encoder": self.encoder,
            "lines": self.lines,
            "results": {lang: result.record() for lang, result in self.figures.items()},
            "examples": {
                lang: [answer.record() | {"translation": gold} for answer, gold in shown]
                for lang, shown in self.examples.items()
            },
            "report": str(self.report),
        }


def run_search_demo(output: Path, encoder: str, *, progress: Progress = silent) -> SearchDemo:
    """Search the program messages of the catalogue, and write a page into the folder `output`.

    Nothing is learned here, so all lines are new to it. For each language, the figure is the share of lines whose
    translation comes first among those of all lines; examples search the English lines of all languages at once.
    """
    texts = {lang: _spread(catalogue.load_parallel(lang, "en", progress=progress)) for lang in LANGUAGES}
    model = Encoder(encoder, progress=progress)
    english = list(dict.fromkeys(line for pairs in texts.values() for _, line in pairs))
    whole = encode_lines([Line("en", number, text) for number, text in enumerate(english, 1)], model, progress)
    rows = {text: row for row, text in enumerate(english)}
    figures, examples = {}, {}
    for lang, pairs in texts.items():
        asked = [line for line, _ in pairs]
        X = model.sentences(asked, step=f"encoding {lang}", progress=progress)
        Y = whole.vectors[[rows[line] for _, line in pairs]]
        there = tatoeba(X, Y, sentences=(asked, [line for _, line in pairs]))
        figures[lang] = next(result for result in there if result.metric == "P@1 src->tgt")
        examples[lang] = _examples(whole, pairs, X)
    demo = SearchDemo(model.name, len(english), figures, examples, output / "search.html")
    output.mkdir(parents=True, exist_ok=True)
    with atomic_path(demo.report) as temporary:
        temporary.write_text(_page(demo), "utf-8")
    return demo


def _spread(text: Any) -> list[tuple[str, str]]:
    """Lines spread evenly over the text: no picking of pretty ones."""
    pairs = list(text)
    return pairs[:: max(1, len(pairs) // _LINES)][:_LINES]


def _examples(whole: SearchText, pairs: list[tuple[str, str]], vectors: Any) -> list[tuple[Answer, str]]:
    rows = np.arange(0, len(pairs), max(1, len(pairs) // _SHOWN))[:_SHOWN]
    answers = whole.ask([pairs[row][0] for row in rows], vectors[rows], k=3)
    return [(answer, pairs[row][1]) for answer, row in zip(answers, rows, strict=True)]


def _page(demo: SearchDemo) -> str:
    rows = [
        [lang, percent(one.value), "" if one.interval is None else " – ".join(map(percent, one.interval))]
        for lang, one in demo.figures.items()
    ]
    sections = [
        Section(
            "Figures",
            table(["language", "P@1, %", "95% interval"], rows, numeric=[1, 2]),
            f"The share of {_LINES:,} lines whose English translation comes first among those of all lines asked.",
        )
    ]
    for lang, shown in demo.examples.items():
        body = "".join(
            f'<h3 dir="auto" lang="{escape(lang)}">{escape(answer.question)}</h3>'
            + table(
                ["score", "found", ""],
                [
                    [f"{score:.2f}", line.text, "the translation" if line.text == gold else ""]
                    for line, score in answer.hits
                ],
                numeric=[0],
            )
            for answer, gold in shown
        )
        sections.append(Section(f"Asked in {lang}", body, f"The three nearest of {demo.lines:,} English lines."))
    header = f'<h1>Search across languages</h1><p class="subtitle">{escape(demo.encoder)}, nothing learned</p>'
    return render_page("Search across languages", header, sections)
