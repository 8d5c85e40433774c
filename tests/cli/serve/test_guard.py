"""Who is answered: one who has the token, by the server's own name, with a form of its own page."""

from __future__ import annotations

import pytest
from served_pages import TOKEN, Served, form

WITH_STUDY = ["", "queries", "query?name=ladder_summary", "visit?id=a", "style.css", "upload.js"]


@pytest.mark.promise("serve-answers-its-user")
@pytest.mark.parametrize(
    "path", ["/", "/style.css", f"/{TOKEN}", f"/{TOKEN}x/", "/a-toke/", "//", f"//{TOKEN}/", f"/x/{TOKEN}/"]
)  # fmt: skip
def test_nothing_is_shown_without_the_token(pages: Served, path: str) -> None:
    answer = pages.ask(path)
    assert answer.status == 404
    assert TOKEN not in answer.text


@pytest.mark.promise("serve-answers-its-user")
@pytest.mark.parametrize(
    "host", ["localhost:{port}", "attacker.test:{port}", "attacker.test", "127.0.0.1", "[::1]:{port}"]
)
def test_a_name_that_leads_here_is_no_name_of_it(pages: Served, host: str) -> None:
    """DNS rebinding: a page elsewhere has its own name lead to 127.0.0.1."""
    port = pages.authority.partition(":")[2]
    assert pages.ask(f"/{TOKEN}/", Host=host.format(port=port)).status == 421


@pytest.mark.promise("serve-answers-its-user")
@pytest.mark.parametrize("origin", [None, "null", "https://attacker.test", "http://127.0.0.1", "http://127.0.0.1:1"])
def test_forms_of_other_pages_are_refused_before_they_are_read(pages: Served, origin: str | None) -> None:
    answer = pages.ask(f"/{TOKEN}/explain", "POST", Origin=origin, Content_Length=str(1 << 29))
    assert answer.status == 403
    assert list(pages.folder.iterdir()) == []


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "PROPFIND"])
def test_other_methods(pages: Served, method: str) -> None:
    own = f"http://{pages.authority}"
    assert pages.ask(f"/{TOKEN}/", method, Origin=own).status == 405
    assert pages.ask(f"/{TOKEN}/", method).status == 403
    assert pages.ask(f"/{TOKEN}/explain").status == 405


@pytest.mark.promise("serve-answers-its-user")
@pytest.mark.parametrize(
    "path",
    ["../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "..%2f..%2fetc%2fpasswd", "style.css/../../guard.py", "guard.py",
     "/etc/passwd", "%00", "layout.html.j2", "style.css%00.py", "queries/"],
)  # fmt: skip
def test_no_file_is_reached(pages: Served, path: str) -> None:
    assert pages.ask(f"/{TOKEN}/{path}").status == 404


@pytest.mark.promise("serve-runs-nothing")
def test_every_answer_says_how_it_may_be_used(pages: Served) -> None:
    answers = [pages.ask(f"/{TOKEN}/{path}") for path in WITH_STUDY]
    assert {answer.status for answer in answers} == {200}
    answers += [pages.ask("/"), pages.ask(f"/{TOKEN}/query?name=x"), pages.upload(), pages.ask("/", Host="x")]
    answers += [pages.ask(f"/{TOKEN}/", "PUT", form())]
    for answer in answers:
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; ")
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers
        assert "set-cookie" not in answer.headers, "browsers send cookies of 127.0.0.1 to every port"
