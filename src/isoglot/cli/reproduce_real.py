"""The part of `isoglot reproduce density` that runs on a real encoder."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from isoglot.extras import require

if TYPE_CHECKING:
    from isoglot.reproductions.density.real.material import Trials
    from isoglot.text import ParallelText
    from isoglot.wordalign import WordLinks

#: Of `--quick` the English one, which is installed with the package and quick; the languages are those of the paper
#: that have test data (all but Latvian), and French, which has gold links.
QUICK_ENCODER, QUICK_LANGUAGES = "encoder/minilm", "de"
ENCODER, LANGUAGES = "encoder/use-multilingual", "cs,de,fi,fr,ru,tr"


def run_real_part(
    context: typer.Context,
    output: Path,
    *,
    quick: bool,
    encoder: str | None,
    languages: str | None,
    layer: str,
    tatoeba: Path | None,
    wmt: Path | None,
    gold_links: Path | None,
    base: int | None,
    infoxlm: str | None,
    settings: Sequence[str],
    seed: int,
    dry_run: bool,
    json: bool,
) -> None:
    """All alignments on all tasks that there is data for."""
    from isoglot.aligners import read_settings
    from isoglot.assignments import split_groups
    from isoglot.cli.console import finish, print_cost, progress_bars, say
    from isoglot.cli.encoder_inputs import check_encoder
    from isoglot.cli.inputs import split_commas
    from isoglot.cli.outputs import claim
    from isoglot.cli.setting_inputs import read_fields
    from isoglot.errors import locating
    from isoglot.reproductions.density.real.findings import real_findings
    from isoglot.reproductions.density.real.page import main_table, write_real_page
    from isoglot.reproductions.density.real.plan import FULL, QUICK, TABLE, RealCost, RealPlan
    from isoglot.reproductions.density.real.runs import run_real

    with locating("--set"):
        methods = list(dict.fromkeys(row.method for row in TABLE if row.method))
        groups = split_groups(settings, methods)
        overrides = {name: read_settings(name, texts) for name, texts in groups.items() if name and texts}
    own = read_fields(context, RealPlan, groups[""], "the plan")
    plan = dataclasses.replace(QUICK if quick else FULL, **own)
    name = encoder or (QUICK_ENCODER if quick else ENCODER)
    chosen = split_commas(languages or (QUICK_LANGUAGES if quick else LANGUAGES))
    trials = _trials(chosen, tatoeba, wmt, _gold_sets(gold_links, base))
    tested = sum(trial.sentences for trial in trials.values())
    cost = RealCost(len(list(plan.jobs(chosen))), len(chosen), plan.minutes(chosen, tested))
    if dry_run:
        print_cost(cost, json=json)
        return
    say(cost.sentence())
    require("flows", "the density methods")
    require("word-alignment", "linking words of parallel text")
    for one in filter(None, (name, infoxlm)):
        check_encoder(one)
    if plan.joint_align:
        require("training", "Joint-Align")
    claim(output)
    with progress_bars() as progress:
        outcomes = run_real(
            plan,
            name,
            chosen,
            trials,
            output,
            layer=layer,
            infoxlm=infoxlm,
            overrides=overrides,
            seed=seed,
            progress=progress,
        )
    found = real_findings(name, plan, chosen, outcomes)
    write_real_page(output / "report.html", found)
    for row, why in found.missing.items():
        say(f"{row}: left out, {why}")
    head, rows = main_table(found)
    title = f"Zhao & Eger 2022, Table 1, {name}"
    record = {**found.record(), "settings": overrides}
    finish(output, "density-real", record, json=json, title=title, head=head, rows=rows, right=range(1, len(head)))


def _trials(
    languages: Sequence[str],
    tatoeba: Path | None,
    wmt: Path | None,
    gold: Mapping[str, tuple[ParallelText, Sequence[WordLinks]]],
) -> dict[str, Trials]:
    """By language, what there is to test on beside CBLI; what is missing is told."""
    from isoglot.cli.console import say
    from isoglot.errors import InputError
    from isoglot.reproductions.density.real.material import RETRIEVED, Trials, read_gold
    from isoglot.reproductions.density.texts import tatoeba_text
    from isoglot.tasks import read_wmt

    found = {}
    for lang in languages:
        text: Any = None if tatoeba is None else tatoeba_text(tatoeba, lang, say)
        if text is not None:
            text = dataclasses.replace(text, src=text.src[:RETRIEVED], tgt=text.tgt[:RETRIEVED])
        judged = None
        if wmt is not None:
            if not wmt.is_dir():
                raise InputError("no such folder", where=str(wmt), remedy="name the folder of WMT17's files")
            try:
                judged = read_wmt(wmt, f"{lang}-en", unescape=True)
            except InputError as error:
                say(f"{lang}: not tested on judged translations ({error.what})")
        links = read_gold(gold, lang)
        if gold and links is None:
            say(f"{lang}: no gold links of {lang}en or en{lang}")
        found[lang] = Trials(text, judged, links)
    return found


def _gold_sets(folder: Path | None, base: int | None) -> dict[str, tuple[ParallelText, list[WordLinks]]]:
    """Sets of a folder as `isoglot reproduce word-alignment` takes it. The index base is never guessed."""
    from isoglot.errors import ConfigError, InputError
    from isoglot.text import ParallelText
    from isoglot.wordalign import check_links, read_links

    if folder is None:
        return {}
    if base is None:
        raise ConfigError("--gold-links needs --base", remedy="say whether its words count from 0 or from 1")
    found = {}
    for path in sorted(folder.glob("*.src-tgt")):
        text = ParallelText.load_joined(path, path.stem[:2], path.stem[-2:])
        links = read_links(path.with_suffix(".gold"), base=base)
        src, tgt = ([len(line.split()) for line in side] for side in (text.src, text.tgt))
        check_links(links, src, tgt, path.stem)
        found[path.stem] = text, links
    if not found:
        raise InputError("no file NAME.src-tgt here", where=str(folder), remedy="name a folder of texts and gold links")
    return found
