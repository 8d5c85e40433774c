"""The document or script that asked for an entry, out of what its recorder says of the cause."""

from __future__ import annotations

from originset.analysis.har.decoding.structs import Initiator


def initiator_url(initiator: Initiator) -> str | None:
    """The URL of the document whose parser made the request, or of the innermost script of the stack with a URL.

    Of each stack (a callback has that of the code that set it up as its parent) the four innermost frames are known.
    """
    if initiator.url:
        return initiator.url
    stack = initiator.stack
    while stack is not None:
        if (frames := stack.frames) is not None:
            for frame in (frames.first, frames.second, frames.third, frames.fourth):
                if frame is not None and frame.url:
                    return frame.url
        stack = stack.parent
    return None
