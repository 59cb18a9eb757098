"""`isoglot data`: the catalogue of real data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.options import Json

if TYPE_CHECKING:
    from isoglot.catalogue import Entry

Name = Annotated[str, typer.Argument(help="A name of `isoglot data list`, e.g. vectors/fr.")]


def list_entries(
    kind: Annotated[str | None, typer.Argument(help="Only this kind: vectors, lexicon, parallel, ...")] = None,
    json: Json = False,
) -> None:
    """List what can be fetched, with licences.

    Examples:

    \b
      isoglot data list
      isoglot data list lexicon --json
    """
    from isoglot.catalogue import cached, entries
    from isoglot.cli.console import print_json, table
    from isoglot.errors import ConfigError

    chosen = [entry for entry in entries() if kind in (None, entry.kind)]
    if not chosen:
        raise ConfigError(
            f"no data of kind {kind!r}", remedy=f"kinds: {', '.join(sorted({e.kind for e in entries()}))}"
        )
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
    names: Annotated[list[str], typer.Argument(help="Names of `isoglot data list`.")],
    accept_licence: Annotated[
        bool, typer.Option("--accept-licence", help="Also fetch data whose licence binds what you build with it.")
    ] = False,
    json: Json = False,
) -> None:
    """Fetch data, check it, and keep it in the cache; tells licence and source.

    Examples:

    \b
      isoglot data get vectors/en vectors/fr lexicon/en-fr
      isoglot data get vectors/tr --accept-licence
    """
    from isoglot.catalogue import entry, fetch
    from isoglot.cli.console import print_json, progress_bars, say
    from isoglot.errors import ConfigError

    chosen = [entry(name) for name in names]
    for one in chosen:
        if one.opt_in and not accept_licence:
            raise ConfigError(f"{one.name} is under {one.licence}", remedy="add --accept-licence if that suits you")
    rows = []
    for one in chosen:
        with progress_bars() as progress:
            path = fetch(one, progress)
        rows.append({**_record(one), "path": str(path)})
        if not json:
            say(f"{one.name}: {path} (licence: {one.licence}; from {one.source})")
    if json:
        print_json(rows)


def path(name: Name, json: Json = False) -> None:
    """Print where fetched data lies, for use in scripts; an error if it was not fetched.

    Examples:

    \b
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
        "cached": cached(entry) is not None,
    }
