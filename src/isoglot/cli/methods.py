"""`isoglot methods`: the table of aligners."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.options import Json


@tabular
def methods_table(
    name: Annotated[str | None, typer.Argument(metavar="METHOD", help="Show this method with its settings.")] = None,
    json: Json = False,
) -> None:
    """List the methods of alignment: what each needs, costs, and where it comes from.

    Examples:

    \b
      isoglot methods
      isoglot methods cca
      isoglot methods --json
    """
    import inspect

    from isoglot.aligners import aligner, methods
    from isoglot.cli.console import out, print_json, table

    chosen = methods() if name is None else {name: type(aligner(name))}
    if json:
        rows = [
            {**dataclasses.asdict(cls.method), "settings": dataclasses.asdict(cls()), "presets": cls.presets}
            for cls in chosen.values()
        ]
        print_json(rows)
        return
    if name is None:
        table(
            None,
            ["method", "needs pairs", "linear", "what it does", "paper"],
            [
                [row.name, _NEEDS[row.supervision], "yes" if row.linear else "no", row.summary, row.paper]
                for row in (cls.method for cls in chosen.values())
            ],
        )
        return
    cls = chosen[name]
    out().print(
        f"{cls.method.name}: {cls.method.summary}\npaper: {cls.method.paper}\ncost: {cls.method.cost}\n", markup=False
    )
    out().print(inspect.cleandoc(cls.__doc__ or "").split("\n>>>")[0].rstrip() + "\n", markup=False)
    table(
        None,
        ["setting", "default", "type"],
        [[field.name, repr(getattr(cls(), field.name)), str(field.type)] for field in dataclasses.fields(cls)],
    )
    for preset, settings in cls.presets.items():
        written = ", ".join(f"{key}={value}" for key, value in settings.items())
        out().print(f"preset={preset}: {written}", markup=False)


_NEEDS = {"supervised": "yes", "unsupervised": "no", "optional": "can use"}
