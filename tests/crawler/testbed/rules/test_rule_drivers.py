"""How long a page is waited for: until its last request, however deep its scripts are nested."""

import pytest

from originset.crawler.testbed.rules.rule_drivers import last_s
from originset.crawler.testbed.scenario import Resource


def script(*loads: Resource, after_ms: int | None = None) -> Resource:
    return Resource("script", "https://www.one.test/a.js", after_ms=after_ms, loads=loads)


def image(after_ms: int) -> Resource:
    return Resource("image", "https://www.one.test/a.svg", after_ms=after_ms)


@pytest.mark.parametrize(
    ("loads", "seconds"),
    [
        ((), 0.0),
        ((script(image(400)), script(image(900))), 0.9),
        ((script(script(script(image(300)), after_ms=500), image(600)),), 0.8),
    ],
)
def test_scripts_that_wait_for_one_another_add_up(loads: tuple[Resource, ...], seconds: float) -> None:
    assert last_s(Resource("page", "https://www.one.test/", loads=loads)) == pytest.approx(seconds)
