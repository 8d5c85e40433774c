"""Which extra installs a package that is not there."""

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

from originset.data.extras import missing_package

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def test_every_package_of_an_extra_is_told_with_its_extra() -> None:
    for extra, requirements in PROJECT["optional-dependencies"].items():
        for requirement in requirements:
            package = re.split("[<>=]", requirement)[0]
            assert find_spec(package) is not None, "packages of extras have the names of their modules"
            missing = missing_package(ModuleNotFoundError(f"No module named '{package}.sub'", name=f"{package}.sub"))
            assert str(missing) == f"the package {package} is missing; run: pip install 'originset[{extra}]'"


def test_what_no_extra_installs_is_a_fault_of_the_program() -> None:
    assert missing_package(ModuleNotFoundError("No module named 'polars'", name="polars")) is None
    assert missing_package(ModuleNotFoundError("No module named 'originset.nowhere'", name="originset.nowhere")) is None
    assert missing_package(ModuleNotFoundError()) is None
