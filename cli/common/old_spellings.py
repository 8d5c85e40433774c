"""Commands and options of earlier versions, and how each is spelled now."""

from __future__ import annotations

from collections.abc import Sequence

SPELLINGS = {
    "plan --site": "plan site HOST",
    "plan --provider": "plan provider NAME",
    "plan --inventory": "plan inventory FILE --pairs FILE",
    "plan --predict": "plan predict PLAN",
    "config": "plan config",
    "certificate": "plan certificate",
    "check --site": "check server HOST",
    "check --budget": "check budget BUDGET [HAR]...",
    "check server --timeout": "check server --max-time SECONDS",
    "experiment --sites": "experiment run --sites N",
    "experiment --verify-plan": "experiment verify PLAN",
    "experiment --from-log": "experiment log LOG --window FROM TO",
    "model": "study model",
    "study model --ip-to-as": "study model --alternative-ip-to-as FILE",
    "enrich": "study enrich",
    "study enrich --live-timeout": "study enrich --max-time SECONDS",
    "merge": "study merge",
    "figures": "study figures",
    "report": "study report",
    "artifact": "study artifact",
    "reference": "study reference",
    "explain --live-timeout": "explain --max-time SECONDS",
    "compare": "study compare",
    "study compare --pages": "study compare --rows pages",
    "study compare --connections": "study compare --rows connections",
    "crawl --exclude": "crawl --exclude-from FILE",
    "doctor": "lab doctor",
    "dev": "lab",
    "scenario": "lab scenario HOST",
}


def new_spelling(path: Sequence[str], args: Sequence[str]) -> tuple[str, str] | None:
    """The old spelling in the arguments and the new one; None if there is none.

    ``path``: the words of the group or command that takes no such thing, without the program's name. ``args``: what
    follows them.
    """
    for word in [*args[:1], *(word for word in args[1:] if word.startswith("--"))]:
        old = " ".join([*path, word.partition("=")[0]])
        if old in SPELLINGS:
            return old, SPELLINGS[old]
    return None
