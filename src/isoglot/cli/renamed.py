"""Names that people know from elsewhere or from earlier versions, and what is meant by them here."""

from __future__ import annotations

#: Commands of the first level.
COMMANDS = {
    "static-align": "align --pivot",
    "contextual": "encoder",
    "train": "vectors train (from text), or isoglot encoder finetune",
    "tatoeba": "evaluate tatoeba",
    "dictionary": "lexicon",
    "map": "align",
}

#: Options, each with what may be meant; only what the command takes is suggested.
OPTIONS = {
    "--seeds": ("--pairs (how many teach)", "--runs (how many runs)"),
    "--src-lang": ("LANG=FILE",),
    "--tgt-lang": ("LANG=FILE",),
    "--fold-case": ("--lower",),
    "--lowercase": ("--lower",),
    "--word-set": ("--set word.KEY=VALUE",),
    "--encoder-set": ("--set encoder.KEY=VALUE",),
    "--fresh": ("--set new.KEY=VALUE",),
    "--refine": ("--method",),
    "--align-method": ("--method",),
    "--target": ("--pivot",),
    "--per-word": ("--per-item",),
    "--train": ("--pairs", "--lexicon"),
    "--lines": ("--limit", "--pairs"),
    "--lexicons": ("--test FOLDER",),
    "--distill": ("--set distill.KEY=VALUE",),
    "--steps": ("--set steps=N",),
    "--form": ("--set form=NFKC",),
    "--max-tokens": ("--set max_tokens=N",),
    "--dedupe": ("--set dedupe=yes",),
    "--no-dedupe": ("--set dedupe=no",),
    "--trained": ("--languages",),
    "--t": ("--set t=N",),
    "--k": ("--set k=N",),
    "--eps": ("--set eps=X",),
    "--dictionary": ("--lexicon",),
    "--normalize": ("--normalise",),
    "--model-name": ("--encoder",),
    "--out": ("--output",),
    "--pair": ("--languages", "LANG=FILE"),
    "--max-vocab": ("--limit",),
    "--dico-train": ("--lexicon",),
    "--dico-eval": ("--test",),
}
