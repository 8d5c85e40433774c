"""Status codes of HTTP by which the project decides something."""

from __future__ import annotations

MISDIRECTED_REQUEST = 421  # RFC 9110 section 15.5.20
