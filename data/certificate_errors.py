"""What `cryptography` raises for a certificate of invalid syntax or unknown content: while it loads it, or later."""

from __future__ import annotations

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

#: Of any field, but for an extension that is not there (``x509.ExtensionNotFound``).
CERTIFICATE_ERRORS = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
