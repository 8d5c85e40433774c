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

from originset.data.errors import InputError
from originset.data.host_names import normalise_host
from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.listeners import NotUnderstood, Place

Table = dict[str, Any]

_ALIAS = re.compile(r"(?:^|[\s\[{,])[&*]\w", re.MULTILINE)
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
        InputError: it is no YAML, or has anchors, or ``read`` met something of another kind than it should be.
    """
    text = folder.text(path)
    reason = f"not-{of.replace(' ', '-').lower()}"
    if _ALIAS.search(text):
        raise InputError(str(path), reason, "has YAML anchors or aliases, which are not read here")
    try:
        for document in _NEXT_DOCUMENT.split(text):
            content = msgspec.yaml.decode(document, type=Table | None)
            if content is not None:
                read(content)
    except (msgspec.MsgspecError, RecursionError, ValueError, TypeError) as error:
        raise InputError(str(path), reason, f"is no configuration of {of} ({type(error).__name__})") from error


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
