"""Every server of the table either has a writer or is refused with what helps instead."""

import pytest

from originset.cli.plan.config import _WRITERS
from originset.cli.writers.capabilities import CAPABILITIES, require_sender
from originset.data.errors import UsageError


def test_exactly_the_senders_have_writers() -> None:
    assert {name for name, capability in CAPABILITIES.items() if capability.sends == "yes"} == set(_WRITERS)


@pytest.mark.parametrize("name", CAPABILITIES)
def test_refusals(name: str) -> None:
    capability = CAPABILITIES[name]
    assert capability.source
    if capability.sends == "yes":
        require_sender(name)
        return
    words = {"no": "cannot send", "unknown": "not known to send"}[capability.sends]
    with pytest.raises(UsageError, match=words) as error:
        require_sender(name)
    assert error.value.advice == capability.instead
