"""The HTML of ``serve``'s own pages."""

from __future__ import annotations

from functools import cache
from importlib import resources

import jinja2

import originset
from originset.data.sanitising.printable import printable_lines


def html(template: str, **values: object) -> str:
    """A page of one of the templates beside this module; all values are escaped."""
    return _environment().get_template(f"{template}.html.j2").render(version=originset.__version__, **values)


def text_file(name: str) -> str:
    """A file beside this module."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(text_file),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["printable_lines"] = printable_lines
    return environment
