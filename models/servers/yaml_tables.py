"""Configurations in YAML: documents of tables and lists without anchors; what is of another kind is an error.

A key that is absent or null is as an empty table or list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import yaml

from originset.data.errors import InputError
from originset.data.host_names import normalise_host
from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.listeners import NotUnderstood, Place

Table = dict[str, Any]

# As msgspec has it: without libyaml where PyYAML was built without it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_DEPTH = 100
# A number to base 60 (YAML 1.1, section 10.2), which takes the square of its length to read.
_LONG_NUMBER = re.compile(r"[-+0-9_:.]{1000,}")
_NEXT_DOCUMENT = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)


class YamlReader:
    """What readers of YAML have in common: ``not_understood``, whose places are paths of keys in ``file``."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.not_understood: list[NotUnderstood] = []

    def miss(self, path: str, text: str) -> None:
        """Note what is not understood."""
        self.not_understood.append(NotUnderstood(Place(self.file, path), text))

    def check_keys(self, table: Table, known: set[str], path: str) -> None:
        """Note the keys of a table that are not among those known."""
        for key in table.keys() - known:
            self.miss(f"{path}.{key}", f"{key} is not known here")

    def check_name(self, name: str, path: str) -> None:
        """Note a name that is neither a host's nor ``*.`` and a host's."""
        plain = name.removeprefix("*.")
        if normalise_host(plain) != plain:
            self.miss(path, f"{name} names hosts in a way that is not understood here")


def read_documents(path: Path, folder: ConfigurationFolder, of: str, read: Callable[[Table], None]) -> None:
    """Call ``read`` with each document of a file; ``of``: whose configuration it is.

    Raises:
        InputError: it is no YAML, has anchors, is nested too deeply, or ``read`` met something of another kind than it
            should be.
    """
    text = folder.text(path)
    reason = f"not-{of.replace(' ', '-').lower()}"
    try:
        for document in _NEXT_DOCUMENT.split(text):
            if (problem := _problem_of(document)) is not None:
                raise InputError(str(path), reason, problem)
            content = msgspec.yaml.decode(document, type=Table | None)
            if content is not None:
                read(content)
    except (msgspec.MsgspecError, yaml.YAMLError, ArithmeticError, RecursionError, ValueError, TypeError) as error:
        raise InputError(str(path), reason, f"is no configuration of {of} ({type(error).__name__})") from error


def _problem_of(document: str) -> str | None:
    """Why a document is not decoded: an alias stands for a table of any size, and depth takes the stack.

    Raises:
        yaml.YAMLError: it is no YAML.
    """
    depth = 0
    for event in yaml.parse(document, Loader=_LOADER):
        if getattr(event, "anchor", None) is not None:
            return "has YAML anchors or aliases, which are not read here"
        if isinstance(event, yaml.ScalarEvent) and _LONG_NUMBER.fullmatch(event.value):
            return "has a number that is too long"
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            return f"is nested more than {_MAX_DEPTH} deep"
    return None


def table_at(table: Table, *keys: str) -> Table:
    """The table at the end of the keys."""
    for key in keys:
        value = table.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise TypeError(key)
        table = value
    return table


def values_at(table: Table, key: str) -> list[Any]:
    """The list of that key."""
    value = table.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise TypeError(key)
    return value


def tables_at(table: Table, key: str) -> list[Table]:
    """The list of tables of that key."""
    values = values_at(table, key)
    if not all(isinstance(one, dict) for one in values):
        raise TypeError(key)
    return values


def text_of(value: object) -> str:
    """A text that is the same for the same content."""
    return json.dumps(value, sort_keys=True, default=str)
