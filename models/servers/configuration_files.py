"""Files of a configuration and what they name: read below one folder, whatever they say."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from pathlib import Path

from cryptography import x509

from originset.data.certificate_errors import CERTIFICATE_ERRORS
from originset.data.errors import InputError

_MAX_BYTES = 4 << 20
_MAX_FILES = 10_000
#: How many entries of folders all includes together look at.
_MAX_ENTRIES = 100_000
_WILDCARDS = "*?["
#: How deep includes may lie in one another.
MAX_DEPTH = 20


class ConfigurationFolder:
    """The folder beyond which nothing is read, but in further ones. Paths in a configuration are relative to it.

    A path that leads out of all of them, by ``..`` or a symbolic link, is as if it did not exist.
    """

    def __init__(self, folder: Path, *others: Path) -> None:
        self._folder = folder.resolve()
        # Includes may name a folder that is a link, such as /etc/nginx, by either of its paths.
        self._folders = {one.absolute(): one.resolve() for one in (folder, *others)}
        self._certificates: dict[str, frozenset[str] | None] = {}
        self._read = self._seen = 0

    def path(self, name: str) -> Path | None:
        """The regular file that a configuration names; None: it is not there, or not below a folder."""
        try:
            found = (self._folder / name).resolve()
            inside = any(found.is_relative_to(one) for one in self._folders.values()) and found.is_file()
        except (OSError, ValueError, RuntimeError):  # too long, a null character, a loop of links
            return None
        return found if inside else None

    def matching(self, pattern: str) -> list[Path] | None:
        """The files of an include, by name, if it stays below a folder; None: it may lead out, or to nothing."""
        folder, relative = self._folder, Path(pattern)
        if relative.is_absolute():
            named = [each for each in (*self._folders, *self._folders.values()) if relative.is_relative_to(each)]
            if not named:
                return None
            folder, relative = self._folders.get(named[0], named[0]), relative.relative_to(named[0])
        if ".." in relative.parts or "**" in pattern:
            return None
        if not any(sign in pattern for sign in _WILDCARDS):
            found = self.path(pattern)
            return None if found is None else [found]
        try:
            names = self._walk(folder, relative.parts)
        except (OSError, ValueError):
            return None
        paths = None if names is None else [self.path(str(name)) for name in sorted(names)]
        return None if paths is None or None in paths else [path for path in paths if path is not None]

    def _walk(self, folder: Path, parts: Sequence[str]) -> list[Path] | None:
        """The entries that a pattern's parts name; None: a link to a folder is among them, or there are too many.

        Hidden entries are named by patterns that begin with a dot alone (glob(7)).
        """
        part, *rest = parts
        if not any(sign in part for sign in _WILDCARDS):
            named = folder / part
            return self._walk(named, rest) if rest else [named] if named.exists() else []
        is_match = re.compile(translate(part)).match
        found: list[Path] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                self._seen += 1
                if self._seen > _MAX_ENTRIES:
                    return None
                if not is_match(entry.name) or (entry.name.startswith(".") and not part.startswith(".")):
                    continue
                if rest and entry.is_symlink():
                    return None
                below = self._walk(Path(entry.path), rest) if rest and entry.is_dir() else [Path(entry.path)]
                if below is None:
                    return None
                found += below if not rest or entry.is_dir() else []
        return found

    def name(self, path: Path) -> str:
        """A file's name below the folder; its whole path if it is in a further one."""
        return str(path.relative_to(self._folder) if path.is_relative_to(self._folder) else path)

    def text(self, path: Path) -> str:
        """A file's text.

        Raises:
            InputError: it is no text, too long, or one too many.
        """
        self._read += 1
        if self._read > _MAX_FILES:
            raise InputError(str(path), "too-many-files", f"is one of more than {_MAX_FILES} files")
        try:
            with path.open("rb") as file:
                content = file.read(_MAX_BYTES + 1)
            if len(content) > _MAX_BYTES:
                raise InputError(str(path), "too-large", "is too large for a configuration")
            return content.decode()
        except OSError as error:
            raise InputError(str(path), "unreadable", f"cannot be read ({error.strerror})") from error
        except UnicodeDecodeError as error:
            raise InputError(str(path), "not-text", "is not text in UTF-8", error.start) from error

    def certificate(self, names: Iterable[str]) -> frozenset[str] | None:
        """The DNS names that the first certificates of PEM files cover together; None where one cannot be read."""
        covered: frozenset[str] = frozenset()
        for name in names:
            if name not in self._certificates:
                self._certificates[name] = self._dns_names(name)
            found = self._certificates[name]
            if found is None:
                return None
            covered |= found
        return covered or None

    def _dns_names(self, name: str) -> frozenset[str] | None:
        path = self.path(name)
        if path is None:
            return None
        try:
            with path.open("rb") as file:
                return names_of_certificate(file.read(_MAX_BYTES))
        except OSError:
            return None


def names_of_certificate(pem: bytes) -> frozenset[str] | None:
    """The DNS names that the first certificate covers; None: it cannot be read."""
    try:
        leaf = x509.load_pem_x509_certificates(pem)[0]
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (*CERTIFICATE_ERRORS, x509.ExtensionNotFound):
        return None
    return frozenset(one.lower() for one in names.get_values_for_type(x509.DNSName))
