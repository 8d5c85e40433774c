"""Protocols: the spellings that recorders use."""

import polars as pl
import pytest

from originset.analysis.har.protocols import normalise_protocol, normalise_protocols


# All spellings of the real recordings, and those of other exporters.
@pytest.mark.parametrize(
    ("protocol", "spellings"),
    [
        ("http/1.0", "http/1.0|HTTP/1.0|1.0"),
        ("http/1.1", "http/1.1|HTTP/1.1|1.1|http/1.1 "),
        ("h2", "h2|HTTP/2|HTTP/2.0|2.0|2 2|2 3|http/2|h2c|h2-14"),
        ("h3", "h3|HTTP/3|h3-Q050|h3-29|HTTP/3.0|http/2+quic/46"),
        ("other", "spdy/3.1|data|blob"),
        (None, "|unknown|spdy|me:|us:|: /|ori|od:|K|\x00"),
    ],
)
def test_spellings_of_protocols(protocol, spellings):
    texts = spellings.split("|")
    assert [normalise_protocol(text) for text in texts] == [protocol] * len(texts)
    assert normalise_protocols(pl.Series(texts)).to_list() == [protocol] * len(texts)
