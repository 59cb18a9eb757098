"""`isoglot data`: the catalogue of real data."""

from __future__ import annotations

from typing import Annotated

import typer

from isoglot.cli.options import Json

__all__ = ["app"]

app = typer.Typer(help="Real data by name: vectors, lexicons, parallel text.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A name of `isoglot data list`, e.g. vectors/fr.")]
OptIn = Annotated[bool, typer.Option("--accept-licence", help="Fetch data whose licence binds what you build with it.")]


@app.command("list")
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
    from isoglot.catalogue import entries, is_cached
    from isoglot.cli.console import print_json, table
    from isoglot.errors import ConfigError

    chosen = [entry for entry in entries() if kind in (None, entry.kind)]
    if not chosen:
        raise ConfigError(
            f"no data of kind {kind!r}", remedy=f"kinds: {', '.join(sorted({e.kind for e in entries()}))}"
        )
    if json:
        print_json([{**entry.record(), "cached": is_cached(entry.name)} for entry in chosen])
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
                "yes" if is_cached(e.name) else "",
            ]
            for e in chosen
        ],
        right=(3,),
    )


@app.command("get")
def get(
    names: Annotated[list[str], typer.Argument(help="Names of `isoglot data list`.")],
    accept_licence: OptIn = False,
    json: Json = False,
) -> None:
    """Fetch data, check it, and keep it in the cache.

    Examples:

    \b
      isoglot data get vectors/en vectors/fr lexicon/en-fr
      isoglot data get vectors/tr --accept-licence
    """
    from isoglot.catalogue import entry, fetch
    from isoglot.cli.console import print_json, progress_bars, say

    rows = []
    for name in names:
        entry(name)
    for name in names:
        with progress_bars() as progress:
            path = fetch(name, progress, accept_licence=accept_licence)
        rows.append({"name": name, "path": str(path), "licence": entry(name).licence, "source": entry(name).source})
        if not json:
            say(f"{name}: {path} (licence: {entry(name).licence}; from {entry(name).source})")
    if json:
        print_json(rows)


@app.command("path")
def path(name: Name, json: Json = False) -> None:
    """Print where fetched data lies, for use in scripts; an error if it was not fetched.

    Examples:

    \b
      isoglot info "$(isoglot data path vectors/fr)"
    """
    from isoglot.catalogue import cached_path
    from isoglot.cli.console import print_json
    from isoglot.errors import InputError

    place = cached_path(name)
    if place is None:
        raise InputError(f"{name} was not fetched yet", remedy=f"run: isoglot data get {name}")
    if json:
        print_json({"name": name, "path": str(place)})
        return
    typer.echo(place)
