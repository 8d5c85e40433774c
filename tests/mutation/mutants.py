"""Mutation testing: ``mutants.py [GROUP...]`` changes one operator at a time and runs the tests that should notice.

Mutants of each file of a group are drawn, the same ones while the file stays the same; MUTANTS of each (12). Those of
Python are made by cosmic-ray's operators, those of SQL by exchanging its words. A copy of the program in
``build/mutants`` is changed, never the program itself. Results are kept there one by one, so that a run that was
stopped goes on while neither the program nor a file's tests change; ``scores.json`` beside this file says how many
mutants were drawn and killed, and names survivors.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import resource
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "mutants"
RESULTS = COPY / "results.json"
SCORES = Path(__file__).with_name("scores.json")
_DRAWN = int(os.environ.get("MUTANTS") or "12")
# Processor time of the tests of one mutant: one that has them go on for ever is found by that.
_SECONDS = 300

#: By group: the files that are changed, and the tests that should notice.
GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "coverage of names": {
        "data/host_names.py": ("tests/data/test_host_names.py",),
        "models/certificates/certificate_coverage.sql": ("tests/models/certificates/test_certificate_coverage.py",),
    },
    "redaction": {
        "data/sanitising/url_redaction.py": ("tests/data/sanitising/test_url_redaction.py",),
        "data/sanitising/header_redaction.py": ("tests/data/sanitising/test_url_redaction.py",),
    },
    "rollout": {
        "models/plans/inventory/rollout.py": ("tests/models/plans/inventory/test_rollout.py",),
        "models/plans/inventory/ring_comparison.py": ("tests/models/plans/inventory/test_ring_comparison.py",),
        "models/plans/inventory/ring_changes.py": ("tests/models/plans/inventory/test_ring_changes.py",),
    },
    "models": {
        "models/certificates/greedy_names.py": ("tests/models/certificates/test_greedy_names.py",),
        "models/timeline/timeline_rules.py": ("tests/models/timeline/test_timeline_rules.py",),
        "models/browsers/lifetimes.py": ("tests/models/browsers/test_lifetimes.py",),
        "models/connections/page_counts.sql": ("tests/models/connections/test_page_counts.py",),
        "models/evidence/colocation_evidence_by_number.sql": ("tests/models/evidence/test_colocation_evidence.py",),
    },
}

_COMPARISONS = (("Eq", "NotEq"), ("NotEq", "Eq"), ("Lt", "LtE"), ("LtE", "Lt"), ("Gt", "GtE"), ("GtE", "Gt"),
                ("Is", "IsNot"), ("IsNot", "Is"))  # fmt: skip
_OPERATORS = (
    *(f"core/ReplaceComparisonOperator_{one}_{other}" for one, other in _COMPARISONS),
    *("core/ReplaceAndWithOr", "core/ReplaceOrWithAnd", "core/AddNot", "core/ReplaceTrueWithFalse"),
    *("core/ReplaceFalseWithTrue", "core/ReplaceBinaryOperator_Add_Sub", "core/ReplaceBinaryOperator_Sub_Add"),
    *("core/ReplaceBinaryOperator_BitAnd_BitOr", "core/ReplaceContinueWithBreak", "core/ZeroIterationForLoop"),
    *("core/NumberReplacer", "core/ReplaceUnaryOperator_Delete_Not"),
)
# What these lines say of a class (frozen, slots, kw_only) the type checker holds; it changes nothing that is computed.
_DECLARATION = re.compile(r"@dataclass\(|class \w+\(")
_SQL = (
    (r" = ", " <> "), (r" <> ", " = "), (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r"\band\b", "or"), (r"\bor\b", "and"), (r"\bis null\b", "is not null"), (r"\bis not null\b", "is null"),
    (r"\bnot exists\b", "exists"), (r"\bleft join\b", "join"), (r"\bmax\(", "min("), (r"\bmin\(", "max("),
    (r"count\(distinct ", "count("), (r" \+ ", " - "), (r" - ", " + "), (r"\bunion\b(?! all)", "union all"),
    (r"\bsemi join\b", "anti join"), (r"\banti join\b", "semi join"), (r"\bcoalesce\(", "greatest("),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one operator changed; ``name`` says which, and where."""

    name: str
    text: str


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All mutants of a file, each once."""
    text = path.read_text()
    if path.suffix == ".sql":
        yield from _mutants_of_sql(text)
        return
    nodes = list(ast_nodes(get_ast(text)))
    for name in _OPERATORS:
        operator = get_operator(name)()
        count = sum(1 for node in nodes for _ in operator.mutation_positions(node))
        for number in range(count):
            changed = mutate_code(text, operator, number)
            if changed is not None and changed != text:
                mutant = _named(name.removeprefix("core/"), text, changed)
                if not _DECLARATION.match(mutant.name.partition(": ")[2]):
                    yield mutant


def _mutants_of_sql(text: str) -> Iterator[Mutant]:
    end_of_header = next(re.finditer(r"^(?!--|\s*$)", text, re.MULTILINE)).start()
    for pattern, other in _SQL:
        for found in re.finditer(pattern, text, re.IGNORECASE):
            if found.start() > end_of_header and "--" not in text[text.rfind("\n", 0, found.start()) : found.start()]:
                changed = text[: found.start()] + other.upper() + text[found.end() :]
                yield _named(f"{found[0].strip()} to {other.strip()}", text, changed)


def _named(change: str, text: str, changed: str) -> Mutant:
    place = next(
        number for number, (one, other) in enumerate(zip(text.split("\n"), changed.split("\n"), strict=False), 1)
        if one != other
    )  # fmt: skip
    return Mutant(f"line {place}, {change}: {changed.split(chr(10))[place - 1].strip()}", changed)


def drawn(path: Path) -> list[Mutant]:
    """Those that are tried: drawn by the file's content, no two of one name; fewer are the first of more."""
    distinct = list({one.name: one for one in mutants_of(path)}.values())
    source = random.Random(path.read_bytes())  # noqa: S311 - the same ones each time
    source.shuffle(distinct)
    return distinct[:_DRAWN]


def is_killed(file: str, mutant: Mutant, tests: tuple[str, ...]) -> bool:
    """Whether a test fails with the mutant in place of the file, or the system ends what goes on for ever.

    Raises:
        RuntimeError: pytest ended otherwise, so that the tests say nothing of the mutant.
    """
    path = COPY / "originset" / file
    original = path.read_bytes()
    for cached in path.parent.glob(f"__pycache__/{path.stem}.*"):
        cached.unlink()
    path.write_text(mutant.text)
    try:
        process = os.fork()
        if not process:
            _run_tests(tests)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        return is_failure(code, f"{file}, {mutant.name}")
    finally:
        path.write_bytes(original)
        for cached in path.parent.glob(f"__pycache__/{path.stem}.*"):
            cached.unlink()


def is_failure(code: int, mutant: str) -> bool:
    """What pytest's exit code says of a mutant: 1 is a test that failed; a negative one is the signal that ended it.

    Raises:
        RuntimeError: tests were interrupted (2), or pytest had an error (3), bad arguments (4), or found none (5).
    """
    if code > 1:
        raise RuntimeError(f"pytest ended with exit code {code} for {mutant}")
    return code != 0


def _run_tests(tests: tuple[str, ...]) -> None:
    """In a process that began with the packages loaded that all tests need, and that ends here."""
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    import pytest  # noqa: PLC0415 - it is loaded already

    options = ("-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not testbed and not soak")
    # A module that cannot be imported any more is a failure then, too, not an interruption.
    code = pytest.main([*options, "--continue-on-collection-errors", *tests])
    os._exit(int(code))


def prepare_copy() -> None:
    """A copy of the program, which tests find before the program itself."""
    shutil.rmtree(COPY / "originset", ignore_errors=True)
    shutil.copytree(ROOT / "_originset", COPY / "originset")
    for name in ("analysis", "cli", "crawler", "data", "models", "queries"):
        shutil.copytree(ROOT / name, COPY / "originset" / name)
    os.environ |= {"PYTHONPATH": str(COPY), "ORIGINSET_NO_TESTBED": "mutants need none"}
    sys.path.insert(0, str(COPY))
    for package in ("cryptography.x509", "duckdb", "msgspec", "numpy", "polars", "pyarrow", "pytest"):
        __import__(package)


def main() -> None:
    """Try all mutants that no earlier run has tried; write the scores."""
    os.chdir(ROOT)
    prepare_copy()
    program = digest_of((COPY / "originset", ROOT / "tests" / "fixtures", ROOT / "tests" / "conftest.py"))
    results: dict[str, bool] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    scores = json.loads(SCORES.read_text()) if SCORES.exists() else {}
    for group in sys.argv[1:] or GROUPS:
        for file, tests in GROUPS[group].items():
            tried: dict[str, bool] = {}
            sources = f"{program} {digest_of(ROOT / name for name in tests)}"
            if is_killed(file, Mutant("none", (ROOT / file).read_text()), tests):
                raise LookupError(f"{tests} fail without a mutant, too")
            for mutant in drawn(ROOT / file):
                key = hashlib.sha256(f"{sources} {file} {tests} {mutant.text}".encode()).hexdigest()
                if key not in results:
                    results[key] = is_killed(file, mutant, tests)
                    RESULTS.write_text(json.dumps(results))
                tried[mutant.name] = results[key]
                sys.stdout.write(f"{'killed  ' if results[key] else 'SURVIVED'} {file} {mutant.name}\n")
                sys.stdout.flush()
            survivors = [name for name, killed in tried.items() if not killed]
            scores.setdefault(group, {})[file] = {
                "drawn": len(tried), "killed": len(tried) - len(survivors), "survivors": survivors,
            }  # fmt: skip
            SCORES.write_text(json.dumps(scores, indent=1) + "\n")


def digest_of(places: Iterable[Path]) -> str:
    """A digest of files, and of all that folders hold, but for what running them leaves."""
    digest = hashlib.sha256()
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and "__pycache__" not in path.parts:
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(f"{path.relative_to(place.parent)}\0{content}\n".encode())
    return digest.hexdigest()


if __name__ == "__main__":
    main()
