"""`isoglot data`: the catalogue of real data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.options import Json

if TYPE_CHECKING:
    from isoglot.catalogue import Entry


def _names(incomplete: str) -> list[str]:
    from isoglot.catalogue import entries

    return [entry.name for entry in entries() if entry.name.startswith(incomplete)]


@tabular
def list_entries(
    kind: Annotated[
        Literal["vectors", "lexicon", "parallel", "similarity", "sentiment", "pos", "encoder"] | None,
        typer.Argument(metavar="KIND", help="Only this kind of data."),
    ] = None,
    json: Json = False,
) -> None:
    """List the data that can be fetched by name, with licences and sizes.

    Kinds are vectors, lexicon, parallel, similarity, sentiment, pos and encoder.

    Examples:

    \b
      isoglot data list
      isoglot data list lexicon --json
    """
    from isoglot.catalogue import cached, entries
    from isoglot.cli.console import print_json, table

    chosen = [entry for entry in entries() if kind in (None, entry.kind)]
    if json:
        print_json([_record(entry) for entry in chosen])
        return
    table(
        None,
        ["name", "what", "licence", "MB", "here"],
        [
            [
                e.name,
                e.description,
                e.licence,
                f"{e.size / 1e6:.1f}" if e.size else "",
                "yes" if cached(e) else "",
            ]
            for e in chosen
        ],
        right=(3,),
    )


def get(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME", help="Names of `isoglot data list`, such as vectors/fr.", autocompletion=_names),
    ],
    accept_licence: Annotated[
        list[str] | None,
        typer.Option(
            "--accept-licence",
            metavar="LICENCE",
            help="Accept a licence that binds what you do with the data, by its name, such as gemma.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Fetch data by name, check it, and keep it in the cache; shows where it is and its licence.

    Examples:

    \b
      isoglot data get vectors/en vectors/fr lexicon/en-fr
      isoglot data get encoder/gemma-3-270m --accept-licence gemma
    """
    from isoglot.catalogue import check_licence, entry, fetch
    from isoglot.cli.console import print_json, progress_bars, say
    from isoglot.errors import ConfigError

    chosen = [entry(name) for name in names]
    accepted = set(accept_licence or ())
    asked = {one.accept for one in chosen if one.opt_in}
    for name in sorted(accepted - asked):
        remedy = f"their licences are accepted as: {', '.join(sorted(asked))}" if asked else "leave it out"
        raise ConfigError(f"--accept-licence {name} has no effect on {', '.join(names)}", remedy=remedy)
    licences = [one.accept if one.accept in accepted else None for one in chosen]
    for one, licence in zip(chosen, licences, strict=True):
        check_licence(one, licence)  # before anything is downloaded
    rows = []
    for one, licence in zip(chosen, licences, strict=True):
        with progress_bars() as progress:
            path = fetch(one, progress, accept_licence=licence)
        rows.append({**_record(one), "path": str(path)})
        if not json:
            say(f"{one.name}: {path} (licence: {one.licence}; from {one.source})")
    if json:
        print_json(rows)
        return
    say("next: give these names wherever a file is asked for")


def path(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A name of `isoglot data list`, such as vectors/fr.", autocompletion=_names
        ),
    ],
    json: Json = False,
) -> None:
    """Print where fetched data is, for use in scripts; it is an error if it was not fetched.

    Examples:

    \b
      isoglot data path vectors/fr
      isoglot info "$(isoglot data path vectors/fr)"
    """
    from isoglot.catalogue import cached
    from isoglot.cli.console import print_json, print_line
    from isoglot.errors import InputError

    place = cached(name)
    if place is None:
        raise InputError(f"{name} was not fetched yet", remedy=f"run: isoglot data get {name}")
    if json:
        print_json({"name": name, "path": str(place)})
        return
    print_line(str(place))


def _record(entry: Entry) -> dict[str, Any]:
    from isoglot.catalogue import cached

    return {
        "name": entry.name,
        "kind": entry.kind,
        "languages": list(entry.languages),
        "description": entry.description,
        "licence": entry.licence,
        "homepage": entry.homepage,
        "source": entry.source,
        "bytes": entry.size or None,
        "sha256": [artefact.sha256 for artefact in entry.artefacts if artefact.sha256],
        "opt_in": entry.opt_in,
        "accept": entry.accept or None,
        "cached": cached(entry) is not None,
    }
