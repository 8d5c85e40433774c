"""Advice follows the browsers' rules, and the figures of what they save."""

from originset.models.browsers.browser_support import advice

SAVED = {"connections_saved_chromium": 1, "connections_saved_chromium_h3": 3, "connections_saved_firefox": 2}


def told(rows):
    return {(one.browser, one.protocol): one for one in advice(rows)}


def test_firefox_acts_over_http2_only_and_chromium_over_http3_only() -> None:
    given = told([SAVED, SAVED])
    assert {key: one.heeds_origin for key, one in given.items()} == {
        ("chromium", "h2"): False,
        ("chromium", "h3"): True,
        ("firefox", "h2"): True,
        ("firefox", "h3"): False,
    }
    assert {key: (one.connections_saved, one.connections_saved_one_address) for key, one in given.items()} == {
        ("chromium", "h2"): (2, 6),
        ("chromium", "h3"): (6, 6),
        ("firefox", "h2"): (4, 4),
        ("firefox", "h3"): (None, None),
    }
    assert given["firefox", "h2"].says.startswith("Firefox acts on ORIGIN frames over HTTP/2")
    assert "stays off the connection" in given["firefox", "h2"].says
    assert "one address" in given["chromium", "h2"].says
    assert "HTTPS record of the first" in given["chromium", "h3"].says
    assert all(("third-party cookies" in one.says) == (one.browser == "chromium") for one in given.values())


def test_one_unknown_saving_leaves_the_sum_open() -> None:
    given = told([SAVED, SAVED | {"connections_saved_chromium": None}])
    assert given["chromium", "h2"].connections_saved is None
    assert given["chromium", "h3"].connections_saved == 6
