"""What a real Node makes of the module: exactly the planned origins, or an import that fails with a reason."""

import base64
import json
import shutil
import subprocess
from typing import Any

import pytest

from originset.cli.writers import node
from originset.cli.writers.origin_set import OriginSet, choose
from originset.models.plans.origin_plan import Basis

pytestmark = pytest.mark.slow

IMPORT_EACH = """
import { createInterface } from "node:readline";
const before = Object.getOwnPropertyNames(Object.prototype).length;
for await (const line of createInterface({ input: process.stdin })) {
  try {
    const module = await import("data:text/javascript;base64," + line);
    const changed = Object.getOwnPropertyNames(Object.prototype).length !== before;
    const { origins } = module;
    console.log(JSON.stringify({ origins, frozen: Object.isFrozen(origins), names: Object.keys(module), changed }));
  } catch (error) {
    console.log(JSON.stringify({ error: `${error.name}: ${error.message}` }));
  }
}
"""

MODULE = node.render(
    OriginSet("a.test", "a.test", ("https://a.test", "https://b.test:8443"), Basis(study="S", visits=1, vantages=1), 0)
)


def imported(modules: list[str]) -> list[dict[str, Any]]:
    """What importing each module gives, in one Node."""
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    lines = "".join(base64.b64encode(module.encode()).decode() + "\n" for module in modules)
    command = ["node", "--input-type=module", "--eval", IMPORT_EACH]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_hostile_plans_give_modules_that_export_their_origins_and_nothing_else(hostile_plans) -> None:
    modules = [node.render(choose(plan, None)[0]) for plan, _ in hostile_plans]
    assert all(module.isascii() for module in modules)
    expected = [
        {"origins": origins, "frozen": True, "names": ["origins"], "changed": False} for _, origins in hostile_plans
    ]
    assert imported(modules) == expected


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('"https://a.test"', "RangeError: origins: an origin is there twice"),
        ('"http://b.test"', "not https"),
        ('"https://b.test/"', "not written as an origin"),
        ('"https://b.test/path"', "not written as an origin"),
        ('"https://B.test"', "not written as an origin"),
        ('"https://b.test:443"', "not written as an origin"),
        ('"https://*.b.test"', "not a host name"),
        ('"https://b_b.test"', "not a host name"),
        ('"https://192.0.2.1"', "an IP address"),
        ('"https://[2001:db8::1]"', "not a host name"),
        ('"https://xn--a.test"', "not a URL"),
        ('"b.test"', "not a URL"),
        ("null", "not a string"),
        ("...Array.from({ length: 700 }, (_, n) => `https://n${n}.example.test`)", "an ORIGIN frame holds 16382"),
    ],
)
def test_a_module_that_was_edited_badly_says_so_when_it_is_imported(entry: str, said: str) -> None:
    (result,) = imported([MODULE.replace('"https://b.test:8443"', entry)])
    assert said in result["error"]


def test_an_emptied_set_is_refused() -> None:
    """Node would send no frame for it, h2o an empty one: nobody who writes it can mean both."""
    head, _, _ = MODULE.rpartition("checked([")
    (result,) = imported([head + "checked([]);\n"])
    assert "the set is empty" in result["error"]
