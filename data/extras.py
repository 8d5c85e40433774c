"""The extras of the distribution: which of them installs a package that is not there."""

from __future__ import annotations

import re
from importlib.metadata import requires

from originset.data.errors import MissingDependency


def missing_package(error: ModuleNotFoundError) -> MissingDependency | None:
    """The error that names the extra which installs the module; None where no extra does: a fault of the program.

    The packages of extras have the names of their modules.
    """
    module = (error.name or "").partition(".")[0]
    for requirement in requires("originset") or ():
        found = re.fullmatch(r"([A-Za-z0-9_]+).*;\s*extra\s*==\s*[\"']([a-z]+)[\"']", requirement)
        if found is not None and found[1] == module:
            return MissingDependency(f"the package {module}", f"pip install 'originset[{found[2]}]'")
    return None
