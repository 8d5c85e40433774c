"""A section of HAProxy's configuration: its lines by what they are, before its rules are taken together."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from originset.models.servers.haproxy.haproxy_conditions import HOST, depends_on_connection
from originset.models.servers.listeners import Place

# Directives by which no answer depends on the connection, unless their text names something of it.
_KNOWN = {
    "timeout", "option", "log", "log-format", "maxconn", "retries", "errorfile", "balance", "stats", "compression",
    "description", "id", "monitor-uri", "unique-id-format", "unique-id-header", "http-response", "http-after-response",
    "capture", "errorfiles", "http-error", "fullconn", "rate-limit", "tcp-response", "http-request", "redirect", "acl",
    "tcp-request", "server", "default-server", "use-server", "cookie", "http-reuse", "hash-type", "http-check",
    "stick-table", "stick", "server-template", "retry-on", "email-alert", "backlog", "grace", "disabled", "enabled",
}  # fmt: skip
_SETS_VARIABLE = re.compile(rf"http-request set-var\(([\w.]+)\) (?:{HOST.pattern})")
_REFUSES_OTHERS = re.compile(
    r"http-request (?:return status|deny deny_status|deny status) 421 "
    r"(?:unless |if (?:\{ ssl_fc_has_sni \} )?! ?)\{ ssl_fc_sni(?:,lower)?,strcmp\(([\w.]+)\) eq 0 \}"
)
# Before the line that answers 421, any other may answer, end the rules, or change what is compared.
_LEAVES_HOST = re.compile(
    r"http-request (?:(?:set|add|del)-header (?!(?i:host)\b)|set-log-level |track-sc|capture )"
    r"|tcp-request inspect-delay "
)
_CHANGES_ANSWER = re.compile(r"(?:errorfile|http-error status) 421\b|http-(?:after-)?response set-status ")


@dataclass(slots=True)
class HaproxySection:
    """``rules``: what stands behind ``use_backend``; ``acls``: the tests of each name, of which one has to hold.

    ``compares_names``: requests for another host than the handshake's server name are answered 421.
    """

    mode: str
    default: str
    binds: list[tuple[Place, list[str]]] = field(default_factory=list)
    rules: list[tuple[Place, list[str]]] = field(default_factory=list)
    acls: dict[str, list[str]] = field(default_factory=dict)
    compares_names: bool = False
    _variables: set[str] = field(default_factory=set)
    _decided_before: bool = False

    def take(self, place: Place, words: list[str]) -> bool:
        """Take a line; False: it is not understood."""
        first, *rest = words
        if first in ("mode", "default_backend") and rest:
            self.mode, self.default = (rest[0], self.default) if first == "mode" else (self.mode, rest[0])
        elif first in ("bind", "use_backend") and rest:
            (self.binds if first == "bind" else self.rules).append((place, rest))
        elif first == "acl" and len(rest) > 1:
            self.acls.setdefault(rest[0], []).append(" ".join(rest[1:]))
        else:
            return self._compares(" ".join(words)) or (
                first in _KNOWN
                and _CHANGES_ANSWER.match(" ".join(words)) is None
                and (first == "log-format" or not depends_on_connection(" ".join(words), self.acls))
            )
        return True

    def _compares(self, text: str) -> bool:
        """Whether it is one of the two lines by which other hosts are answered 421."""
        if (found := _SETS_VARIABLE.fullmatch(text)) is not None:
            self._variables.add(found[1])
        elif (found := _REFUSES_OTHERS.fullmatch(text)) is not None:
            if found[1] not in self._variables or self._decided_before:
                return False
            self.compares_names = True
        elif text.startswith(("http-request ", "tcp-request ")) and _LEAVES_HOST.match(text) is None:
            self._decided_before = True
        return found is not None
