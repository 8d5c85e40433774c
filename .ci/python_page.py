"""docs/python.md, made from the Python API's docstrings: ``python .ci/python_page.py > docs/python.md``."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator

import originset
from originset import python_api

_HEAD = """\
<!-- Made from originset/python_api.py by `make docs`; do not edit. -->
# Python API

{about}

These names keep their meaning within a major version, as do the commands with their options and exit codes, the format
of `plan.json`, and the format of studies ([schema.md](schema.md)). All else in the package may change in any version.
The examples run in a folder with a study `study` and a recording `page.har`, after `import originset`.
[notebook.md](notebook.md) has more of them.
"""


def page() -> str:
    """The whole page."""
    about = inspect.cleandoc(python_api.__doc__ or "").partition("\n\n")[2]
    return _HEAD.format(about=about.replace("``", "`")) + "".join(f"\n{entry}" for entry in _entries())


def _entries() -> Iterator[str]:
    for name in originset.__all__:
        value = getattr(originset, name)
        if not inspect.isclass(value):
            yield _entry("##", f"originset.{name}{_signature(value)}", value)
            continue
        yield _entry("##", f"originset.{name}", value)
        for member, what in vars(value).items():
            if isinstance(what, property):
                yield _entry("###", f"{name}.{member}", what)
            elif inspect.isfunction(what) and not member.startswith("_"):
                yield _entry("###", f"{name}.{member}{_signature(what)}", what)


def _entry(level: str, title: str, value: object) -> str:
    return f"{level} `{title}`\n{_markdown(inspect.getdoc(value) or '')}\n"


def _signature(function: Callable[..., object]) -> str:
    text = str(inspect.signature(function))
    return re.sub(r"\(self(, /)?(, )?", "(", text).replace("'", "")


def _markdown(docstring: str) -> str:
    """Docstrings as this project writes them: examples become blocks, ``Raises:`` a list."""
    text = re.sub(r":(?:meth|class|func):`(\w+)`", r"`\1`", docstring).replace("``", "`")
    text = re.sub(r"(?m)^>>> (?:.+\n?)+", lambda block: f"```pycon\n{block[0].rstrip()}\n```\n", text)
    text = re.sub(r"(?m)^Raises:\n", "Raises:\n\n", text)
    return re.sub(r"(?m)^    (\w+): (.*)$", r"- `\1`: \2", text).rstrip()


if __name__ == "__main__":
    sys.stdout.write(page())
