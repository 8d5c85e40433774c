"""A thousand strangers' texts, in every field of a plan that ends up in a file."""

import itertools
import random

import pytest

from originset.models.plan import Announced, Basis, Plan, Server

HOSTILE = [
    "a\nb", "a\r\nb", "a\u2028b", "a\u2029b", "a\x00b", "a\x1b[2J", "a\x7fb", "a\x85b", "\ufeff", "\ud7ff",
    '"', "'", "`", "\\", '\\"', '"]);process.exit(1)//', '"]\nhosts: {}', "*/", "/*", "<!--", "-->", "//",
    "${process.exit(1)}", "$(touch /tmp/x)", "`id`", "; rm -rf ~", "| cat", "&& true", "%s%n", "{{7*7}}",
    "# not a comment", ": ", "- a", "!!python/object", "&anchor", "*alias", "? key", "|", ">", "%YAML 1.1", "---",
    "...",
    "~", "0x1F", "<<: *a", "[a, b]", "{a: b}", "@at", "\t", " ",
    "__proto__", "toString",
    "\u202egnp.test", "\u2066a\u2069.test", "\u200b.test", "a\u0301.test", "münchen.test", "ＡＢＣ.test", "a。test",  # noqa: RUF001
    "a" * 300, "a" * 64 + ".test", ".".join(["a" * 63] * 5), "", ".", "..", "a..b", ".a", "a.",
    "-a.test", "a-.test", "a_b.test", "*.test", "*", "xn--", "xn--a.test", "xn--99999999999.test",
    "192.0.2.1", "127.1", "0x7f.1", "2130706433", "[::1]", "2001:db8::1", "a.1",
    "a/b", "a?b", "a#b", "u@a.test", "u:p@a.test", "a.test:0", "a.test:65536", "a.test:443", "a.test:x", "A.TEST",
    "a.test\n", " a.test", "a.test ", "a,b", "a;b", "a(b)", "a=b", "a|b", "a^b", "a~b", "a!b", "a+b", "a%62",
]  # fmt: skip

# Valid host names that formats without quotes would take for something else.
ODD = ["null", "yes", "1e3", "constructor", "prototype"]


def _plan(number: int, chance: random.Random) -> tuple[Plan, list[str]]:
    good = [f"https://h{number}-{i}.good.test{':8443' if i == 2 else ''}" for i in range(3)]
    good = sorted([*good, f"https://{chance.choice(ODD)}"])
    texts = chance.sample(HOSTILE, 4)
    bad = [f"{scheme}{text}" for scheme, text in zip(itertools.cycle(["https://", "", "http://"]), texts, strict=False)]
    entries = [
        Announced(origin=origin, level=None, requests=None, visits=None, seen_share=None, coalesces_today=False)
        for origin in chance.sample(good + bad, 8)
    ]
    text = itertools.cycle(texts)
    basis = Basis(
        study=next(text), visits=-1, vantages=0, first_visit=next(text) + next(text), last_visit="".join(HOSTILE)
    )
    server = Server(server=f"h{number}-0.good.test", announce=entries, left_out=[], warnings=[])
    plan = Plan(
        site=next(text),
        basis=basis,
        servers=[server],
        additions=[],
        additions_left_out=[],
        additions_not_taken=0,
        certificate_id=None,
        certificate_names=None,
    )
    return plan, good


@pytest.fixture(scope="session")
def hostile_plans() -> list[tuple[Plan, list[str]]]:
    """Plans whose every text is hostile, with the only four origins of each that may come out, sorted."""
    chance = random.Random(8336)  # noqa: S311 - a choice of cases, and the same every time
    return [_plan(number, chance) for number in range(250)]
