"""The situations' files are written as the lab writes them; another form is refused."""

import pytest

from originset.crawler.testbed.server_lab.situation_text import TEXTS, parse, serialize, situations
from originset.data.errors import InputError


def test_every_file_is_as_it_would_be_written_and_observed() -> None:
    for situation in situations():
        assert serialize(situation) == (TEXTS / f"{situation.name}.md").read_text()
        assert situation.version, situation.name


def test_a_file_without_configuration_is_refused() -> None:
    with pytest.raises(InputError, match="is no title"):
        parse("nginx", "# A title\n\nno configuration\n")
