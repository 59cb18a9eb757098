"""The command reference, from the grammar of the command line."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from isoglot.cli.grammar import Command, Parameter, commands_and_groups

from .markdown import code, prose, table


def split_help(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Paragraphs and examples of a help text.

    >>> split_help("Do it.\\n\\nExamples:\\n\\n\\b\\n  isoglot it\\n  isoglot it --now")
    (('Do it.',), ('isoglot it', 'isoglot it --now'))
    """
    before, _, after = inspect.cleandoc(text).replace("\b", "").partition("Examples:")
    paragraphs = tuple(" ".join(part.split()) for part in before.split("\n\n") if part.strip())
    return paragraphs, tuple(line.strip() for line in after.splitlines() if line.strip())


def pages() -> dict[str, str]:
    """One page for each command of the first level, by its path below docs/."""
    by_page: dict[str, list[Command]] = {}
    for record in commands_and_groups():
        by_page.setdefault(record.path[0], []).append(record)
    return {f"commands/{name}.md": page(group) for name, group in by_page.items()}


def page(group: Sequence[Command]) -> str:
    """A command with all that stand below it."""
    first, *below = group
    parts = [f"# isoglot {first.name}", *_description(first)]
    if below:
        rows = [[f"[`isoglot {one.name}`](#{_anchor(one)})", prose(_summary(one))] for one in below]
        parts.append(table(["command", "what it does"], rows))
    else:
        parts += _usage(first, "##")
    for one in below:
        parts += [f"## isoglot {one.name} {{ #{_anchor(one)} }}", *_description(one), *_usage(one, "###")]
    return "\n\n".join(parts) + "\n"


def overview() -> str:
    """The table of all commands, with links."""
    rows = []
    for record in commands_and_groups():
        page_of = f"commands/{record.path[0]}.md"
        target = page_of if len(record.path) == 1 else f"{page_of}#{_anchor(record)}"
        if not record.is_group:
            rows.append([f"[`isoglot {record.name}`]({target})", prose(_summary(record))])
    return table(["command", "what it does"], rows)


def _description(record: Command) -> list[str]:
    paragraphs, examples = split_help(record.help)
    parts = [prose(paragraph) for paragraph in paragraphs]
    return [*parts, code("\n".join(examples), "text")] if examples else parts


def _summary(record: Command) -> str:
    """The first sentence, without its full stop."""
    paragraphs, _ = split_help(record.help)
    return paragraphs[0].split(". ")[0].rstrip(".") if paragraphs else ""


def _anchor(record: Command) -> str:
    return "-".join(("isoglot", *record.path))


def _usage(record: Command, heading: str) -> list[str]:
    parameters = [one for one in record.parameters if "--help" not in one.names]
    arguments, options = ([one for one in parameters if one.is_option is kind] for kind in (False, True))
    pieces = ["isoglot", record.name]
    for one in arguments:
        name = one.names[0] + (" ..." if one.repeatable and not one.names[0].endswith("...") else "")
        pieces.append(name if one.required else f"[{name}]")
    pieces += [f"{one.names[0]} {one.value}".strip() for one in options if one.required]
    anchor = "-".join(record.path)
    parts = [f"{heading} Usage {{ #{anchor}-usage }}", code(" ".join([*pieces, "[OPTIONS]"]), "text")]
    for title, group in (("Arguments", arguments), ("Options", options)):
        if group:
            parts += [f"{heading} {title} {{ #{anchor}-{title.lower()} }}", "\n\n".join(map(_entry, group))]
    return parts


def _entry(parameter: Parameter) -> str:
    names = ", ".join(f"`{name}`" for name in parameter.names)
    notes = [
        *(["required"] if parameter.required else []),
        *(["may be repeated"] if parameter.repeatable else []),
        *([f"default: `{parameter.default}`"] if parameter.default else []),
    ]
    head = names + (f" `{parameter.value}`" if parameter.value else "") + (f" *({'; '.join(notes)})*" if notes else "")
    return f"{head}\n:   {prose(parameter.help) or '.'}"
