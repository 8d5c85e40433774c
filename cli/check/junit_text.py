"""JUnit's XML, as continuous integration shows it as a list of tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as ET

from originset.data.sanitising.printable import printable


@dataclass(frozen=True, slots=True)
class JunitCase:
    """One test case. ``problem``: None if it passed; ``error``: it could not be decided. ``kind``: of the problem."""

    name: str
    text: str
    problem: Literal["failure", "error"] | None = None
    kind: str = ""


def junit_text(tool: str, suites: Mapping[str, Iterable[JunitCase]]) -> str:
    """Test suites by name, without the characters that XML 1.0 has no way to write."""
    root = ET.Element("testsuites", name=tool)
    for name, cases in suites.items():
        suite = ET.SubElement(root, "testsuite", name=printable(name))
        counts = {"tests": 0, "failure": 0, "error": 0}
        for one in cases:
            counts["tests"] += 1
            case = ET.SubElement(suite, "testcase", classname=printable(name), name=printable(one.name))
            if one.problem is None:
                ET.SubElement(case, "system-out").text = printable(one.text)
            else:
                counts[one.problem] += 1
                ET.SubElement(case, one.problem, type=one.kind, message=printable(one.text))
        suite.set("tests", str(counts["tests"]))
        suite.set("failures", str(counts["failure"]))
        suite.set("errors", str(counts["error"]))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)
