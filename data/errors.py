"""Everything that originset raises on purpose.

::

    OriginsetError                 exit code 1
    ├── UsageError                 2   the call cannot work: wrong options, no study, nothing to do
    │   ├── StudyError             2   a study folder is missing, damaged or of another version
    │   └── MissingDependency      2   a program or right that the machine lacks, with the command that gives it
    ├── InputError                 2   one input that cannot be used: file, reason, place
    ├── BrowserError               1   a browser could not be started or was lost
    ├── ClusterError               1   a cluster that is not reached, or cannot do what was asked of it
    └── TestbedError               1   the testbed could not be brought up

Errors carry fields; their one-line text is made here, once, from the fields. The command line prints that line and
nothing else; with ``--debug`` the traceback too.
"""

from __future__ import annotations

from pathlib import Path


class OriginsetError(Exception):
    """The root of the tree; ``exit_code`` is the exit code of the command line."""

    exit_code = 1


class UsageError(OriginsetError):
    """A call that cannot work as it was made; ``advice`` says what would work."""

    exit_code = 2

    def __init__(self, problem: str, advice: str | None = None) -> None:
        self.problem = problem
        self.advice = advice
        super().__init__(problem if advice is None else f"{problem}; {advice}")


class StudyError(UsageError):
    """A study folder that is missing, damaged or made by another version."""

    def __init__(self, study: Path, problem: str, advice: str | None = None) -> None:
        self.study = study
        super().__init__(f"study {study}: {problem}", advice)


class MissingDependency(UsageError):
    """Something that this machine lacks; ``command`` installs or permits it."""

    def __init__(self, what: str, command: str) -> None:
        self.what = what
        self.command = command
        super().__init__(f"{what} is missing", f"run: {command}")


class InputError(OriginsetError):
    """One input that cannot be used.

    ``source`` names the file (or ``-``, or a list's line), ``reason`` is a short code that ends up in ``rejects``
    (such as ``not-json``), ``detail`` a sentence, ``byte_offset`` the place where reading stopped, if there is one.
    """

    exit_code = 2

    def __init__(self, source: str, reason: str, detail: str, byte_offset: int | None = None) -> None:
        self.source = source
        self.reason = reason
        self.detail = detail
        self.byte_offset = byte_offset
        place = "" if byte_offset is None else f" at byte {byte_offset}"
        super().__init__(f"{source}: {detail}{place}")

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str, int | None]]:
        """How to pickle it, for processes that share an import: the message alone is not enough."""
        return InputError, (self.source, self.reason, self.detail, self.byte_offset)


class BrowserError(OriginsetError):
    """A browser that did not start, or whose connection was lost for a reason other than the visited page."""

    def __init__(self, browser: str, problem: str) -> None:
        self.browser = browser
        self.problem = problem
        super().__init__(f"{browser}: {problem}")


class ClusterError(OriginsetError):
    """A cluster, or its shared storage, that cannot be reached or cannot do what is needed."""

    def __init__(self, address: str, problem: str) -> None:
        self.address = address
        self.problem = problem
        super().__init__(f"{address}: {problem}")

    def __reduce__(self) -> tuple[type[ClusterError], tuple[str, str]]:
        """How to pickle it, for workers; see InputError."""
        return ClusterError, (self.address, self.problem)


class ProbeError(OriginsetError):
    """A live server that could not be probed: it cannot be reached, is not trusted, or uses another protocol."""

    def __init__(self, server_name: str, address: str, port: int, problem: str) -> None:
        self.server_name = server_name
        self.address = address
        self.port = port
        self.problem = problem
        super().__init__(f"{server_name} at {address} port {port}: {problem}")


class TestbedError(OriginsetError):
    """The testbed could not be brought up or did not answer."""

    __test__ = False  # pytest would collect the name
