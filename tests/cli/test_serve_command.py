"""``originset serve`` as users start it, in real browsers: files that are chosen and dropped, and a study's pages."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import resources
from pathlib import Path

import psutil
import pytest
from hand_made_har import write_har
from open_pages import OpenPage, opened
from selenium.common import WebDriverException

from originset.cli.pages.commands_page import split_help
from originset.cli.serve_command import command
from originset.data.errors import OriginsetError
from originset.data.studies.study import Study

HAR = Path(__file__).parents[1] / "fixtures" / "hars" / "chrome-har" / "dora-421.har"
HOSTILE = "<img src=x onerror=document.title='owned'>"


@pytest.fixture(scope="module")
def running(
    modelled_example: Study, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The example of its help: the URL that it prints, and its process."""
    folder = tmp_path_factory.mktemp("serve")
    (folder / "S").symlink_to(modelled_example.root)
    call = [sys.executable, "-m", *shlex.split(split_help(command)[1])]
    with subprocess.Popen(call, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@pytest.mark.promise("serve-answers-its-user")
def test_it_listens_on_loopback_alone(running: tuple[str, subprocess.Popen[str]]) -> None:
    url, process = running
    listening = [each.laddr for each in psutil.Process(process.pid).net_connections() if each.status == "LISTEN"]
    ((address, port),) = listening
    assert address == "127.0.0.1"
    assert url.startswith(f"http://127.0.0.1:{port}/")
    assert len(url.split("/")[3]) >= 40
    assert url.split("/")[3] not in " ".join(psutil.Process(process.pid).cmdline())


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    urls = ("https://www.site.test/", f"https://{HOSTILE}.test/", "https://pixel.site.test/")
    path = tmp_path / f"{HOSTILE.replace('/', '')}.har"
    return write_har(path, [(url, "104.20.8.1", str(number)) for number, url in enumerate(urls)])


@pytest.mark.browser
def test_in_chromium(running: tuple[str, subprocess.Popen[str]], hostile: Path) -> None:
    url, _ = running
    with opened("chromium", url, 390, 800, dark=True) as page:
        axe_finds_nothing(page)
        go(page, f"{url}query?name=pages_top_summary")
        axe_finds_nothing(page)
        go(page, url)
        assert page.run("return document.documentElement.scrollWidth") <= 390
        page.choose("#recordings", HAR, hostile)
        page.run("document.querySelector('#upload button').click()")
        wait_for(page, "document.title === 'Connections of 2 recordings'")
        explained_without_running_anything(page)
        go(page, url)
        drop(page, "{")
        wait_for(page, "document.title.startsWith('Not possible')")
        assert page.run("return document.body.textContent.includes('dropped.har')")
        go(page, url)
        to_the_pages_of_a_cause(page)
        nothing_else_is_asked(page, url)


@pytest.mark.browser
def test_in_firefox(running: tuple[str, subprocess.Popen[str]], hostile: Path) -> None:
    url, _ = running
    with opened("firefox", url, 390, 800) as page:
        assert page.run("return document.documentElement.scrollWidth") <= 390
        drop(page, hostile.read_text())
        wait_for(page, "document.title === 'Connections of dropped.har'")
        explained_without_running_anything(page)
        go(page, url)
        to_the_pages_of_a_cause(page)
        nothing_else_is_asked(page, url)


def explained_without_running_anything(page: OpenPage) -> None:
    page.run("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert page.run("return document.body.textContent.includes('pixel.site.test')")
    assert page.run("return document.querySelectorAll('img, iframe, [onerror]').length") == 0


def nothing_else_is_asked(page: OpenPage, url: str) -> None:
    # Firefox asks for an icon that no page has, and the policy forbids it; what was dropped is refused with 400.
    expected = ("favicon.ico", "status of 400")
    assert [said for said in page.complaints if not any(part in said for part in expected)] == []
    assert all(asked.startswith(url) for asked in page.asked), page.asked


def to_the_pages_of_a_cause(page: OpenPage) -> None:
    """From the first page to a cause's number, the pages that it counts, one of these."""
    follow(page, "a[href*='cause=NOT_DECIDABLE'][href*='vantage=here']", "pages_top_summary")
    assert page.run("return document.querySelector('#cause').value") == "NOT_DECIDABLE"
    assert page.run("return document.querySelector('#sql ~ pre').textContent.includes('NOT_DECIDABLE')")
    assert page.run("return document.querySelectorAll('tbody tr').length") == 1
    assert page.run("return document.documentElement.scrollWidth") <= 390
    follow(page, "tbody a[href='visit?id=a']", "Connections of")
    assert page.run("return document.body.textContent.includes('fonts.g.test')")


def axe_finds_nothing(page: OpenPage) -> None:
    page.run(resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = page.run("return axe.run().then(result => result.violations.map(v => [v.id, v.nodes.map(n => n.html)]))")
    assert found == []


def follow(page: OpenPage, selector: str, title: str) -> None:
    page.run(f"document.querySelector({json.dumps(selector)}).click()")
    wait_for(page, f"document.title.startsWith({json.dumps(title)})")


def go(page: OpenPage, url: str) -> None:
    page.run(f"location.href = {json.dumps(url)}")
    wait_for(page, f"location.href === {json.dumps(url)} && document.querySelector('main')")


def drop(page: OpenPage, text: str) -> None:
    page.run(
        "const files = new DataTransfer();"
        f"files.items.add(new File([{json.dumps(text)}], 'dropped.har'));"
        "document.querySelector('#upload').dispatchEvent("
        "new DragEvent('drop', {dataTransfer: files, bubbles: true, cancelable: true}))"
    )


def wait_for(page: OpenPage, condition: str) -> None:
    deadline = time.monotonic() + 120
    arrived = False
    while not arrived:
        assert time.monotonic() < deadline, condition
        time.sleep(0.2)
        with suppress(WebDriverException, OriginsetError):  # while it goes to another page
            arrived = page.run(f"return document.readyState === 'complete' && Boolean({condition})")


def test_what_keeps_it_from_starting_is_one_line(run: object) -> None:
    done = run("serve", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert "study nowhere: " in done.stderr
