"""SECURITY.md, made from docs/security-promises.md: ``python .ci/security_page.py > SECURITY.md``.

Under "What is promised" each item of a list is one promise, a sentence that ends with its id in braces. A test that
shows it has ``@pytest.mark.promise("id")``; the page names it beside the promise. A promise without a test, a mark
without a promise, and a mark anywhere but on a test function are errors.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

SOURCE = "docs/security-promises.md"
HEADING = "## What is promised"

_HEAD = f"<!-- Made from {SOURCE} and the tests by `make docs`; do not edit. -->\n"
_ITEM = re.compile(r"^- (?:.*\n)(?:  .*\n)*", re.MULTILINE)
_ID = re.compile(r"\s+\{([a-z0-9-]+)\}\n$")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Wrong(Exception):
    """What does not fit together."""


def page(root: Path) -> str:
    """The whole page, of the repository at ``root``.

    Raises:
        Wrong: promises and tests do not belong together one for one.
    """
    tests = marked_tests(root)
    before, heading, rest = (root / SOURCE).read_text(encoding="utf-8").partition(f"{HEADING}\n")
    promised, after_heading, after = rest.partition("\n## ")
    wrong: list[str] = []
    promises: list[str] = []

    def with_tests(item: re.Match[str]) -> str:
        found = _ID.search(item[0])
        if found is None:
            wrong.append(f"{SOURCE}: a promise without an id: {' '.join(item[0].split())}")
            return item[0]
        promises.append(found[1])
        shown = "".join(f"  - [`{path}::{name}`]({path})\n" for path, name in tests.get(found[1], ()))
        return item[0][: found.start()] + "\n" + shown

    promised = _ITEM.sub(with_tests, promised)
    wrong += [f"{SOURCE}: {one} is promised twice" for one in sorted({p for p in promises if promises.count(p) > 1})]
    wrong += [f"{SOURCE}: no test has @pytest.mark.promise({one!r})" for one in promises if one not in tests]
    for one in sorted(set(tests) - set(promises)):
        wrong += [f"{path}: {name} is marked for {one!r}, which {SOURCE} does not promise" for path, name in tests[one]]
    if not promises:
        wrong.insert(0, f"{SOURCE} promises nothing under {HEADING!r}")
    if wrong:
        raise Wrong("\n".join(wrong))
    return _HEAD + before + heading + promised + after_heading + after


def marked_tests(root: Path) -> dict[str, list[tuple[str, str]]]:
    """The path and the name of each test that is marked for a promise, by the promise's id.

    Raises:
        Wrong: a mark is not on a test function, or names no promise.
    """
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in sorted((root / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        where = str(path.relative_to(root))
        on_tests = 0
        for function in ast.walk(tree):
            if isinstance(function, _Function) and function.name.startswith("test_"):
                for mark in function.decorator_list:
                    if _is_mark(mark):
                        on_tests += 1
                        found[_id_of(mark, where)].append((where, function.name))
        if on_tests != sum(map(_is_mark, ast.walk(tree))):
            raise Wrong(f"{where}: mark each test function by itself, as a decorator: @pytest.mark.promise(...)")
    return found


def _is_mark(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.promise")


def _id_of(mark: ast.AST, where: str) -> str:
    match mark:
        case ast.Call(args=[ast.Constant(value=str(name))], keywords=[]):
            return name
        case _:
            raise Wrong(f"{where}: {ast.unparse(mark)} is not one id")


if __name__ == "__main__":
    try:
        sys.stdout.write(page(Path(__file__).parents[1]))
    except Wrong as error:
        sys.exit(str(error))
