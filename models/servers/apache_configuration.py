"""Apache httpd: the virtual host by the request's host, if its TLS settings are those of the handshake's one.

Else 421. Which settings count is ``SSLVHostSNIPolicy``'s since 2.4.64; without it all of them do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from originset.data.errors import InputError
from originset.data.host_names import address_and_port, is_port, normalise_host
from originset.models.servers.apache_directives import Directive, directives
from originset.models.servers.configuration_files import MAX_DEPTH, ConfigurationFolder
from originset.models.servers.listeners import Answer, Configuration, Endpoint, Handshake, NotUnderstood, Place

_POLICIES = ("strict", "secure", "authonly", "insecure")
_CLIENT = re.compile(r"ssl(verify|ca(cert|dn|revocation)|ocsp)")
# Directives by which no answer depends on the connection's name, unless an argument of them does.
_HARMLESS = re.compile(
    r"(documentroot|directoryindex|serveradmin|servertokens|serversignature|serverroot|serverpath|errorlog|customlog"
    r"|transferlog|logformat|loglevel|loadmodule|pidfile|user|group|timeout|keepalive\w*|maxkeepaliverequests"
    r"|errordocument|header|requestheader|proxy(pass|passreverse|passmatch|preservehost|requests|timeout|set|via)"
    r"|redirect(match|permanent|temp)?|alias|aliasmatch|scriptalias|options|allowoverride|require|order|allow|deny"
    r"|satisfy|addtype|addhandler|addcharset|adddefaultcharset|addoutputfilter\w*|sethandler|setenv|passenv|unsetenv"
    r"|rewriteengine|rewritecond|rewriterule|rewritebase|rewriteoptions|expires\w*|deflate\w*|fileetag|accessfilename"
    r"|hostnamelookups|usecanonicalname|mutex|defaultruntimedir|startservers|serverlimit|threadlimit|threadsperchild"
    r"|(min|max)spare(servers|threads)|maxrequestworkers|maxconnectionsperchild|listen|h2\w+|traceenable|limitrequest\w+"
    r"|auth(type|name|basicprovider|userfile|groupfile)|typesconfig|mimemagicfile|acceptfilter|protocolshonororder"
    r"|dirextension|namevirtualhost|enablesendfile|enablemmap|(index|readme|header)name|index(options|ignore\w*)"
    r"|indexorderdefault|indexstylesheet|add(icon|alt)(bytype|byencoding)?|adddescription|defaulticon|addlanguage"
    r"|addencoding|defaultlanguage|remove(type|handler|charset|encoding|language)|(force)?languagepriority"
    r"|requestreadtimeout|browsermatch(nocase)?|setenvif(nocase)?|extendedstatus|(un)?define|allowencodedslashes"
    r"|acceptpathinfo|directoryslash|fallbackresource|allowmethods|cgipassauth|php_(admin_)?(value|flag)|brotli\w+"
    r"|wsgi\w+|remoteip\w+|proxy(status|badheader|erroroverride|addheaders|iobuffersize|receivebuffersize))"
)
# Directives whose variables (envvars, Define) are the machine's own paths and users, whatever they hold.
_OF_MACHINE = re.compile(
    r"user|group|pidfile|defaultruntimedir|mutex|errorlog|customlog|transferlog|documentroot|serverroot|serveradmin"
)
_PRESENT = (("mod_ssl.c",), ("ssl_module",), ("mod_http2.c",), ("http2_module",))
_SECTIONS = re.compile(
    r"if(module|define|version)|(directory|location|files)(match)?|proxy|requireall|requireany|requirenone|limit|limitexcept"
)
# Settings that are not compared: those of all virtual hosts, and those for upstreams.
_GLOBAL_SSL = re.compile(
    r"ssl(proxy\w*|sessioncache\w*|stapling\w*|usestapling|randomseed|passphrasedialog|cryptodevice|compression|sessiontickets"
    r"|insecurerenegotiation|honorcipherorder)"
)
_DEPENDS = re.compile(r"ssl[_:]|\$\{|remote_ident|\boid\(", re.IGNORECASE)


@dataclass(slots=True)
class _VirtualHost:
    place: Place
    endpoints: list[Endpoint]
    names: list[str] = field(default_factory=list)
    tls: list[tuple[str, ...]] = field(default_factory=list)
    http2: bool = False
    named: bool = True

    def setting(self, name: str) -> list[str]:
        """The first arguments of a directive."""
        return [one[1] for one in self.tls if one[0] == name and len(one) > 1]

    def has(self, host: str) -> bool:
        """Whether a ServerName or ServerAlias is for a host."""
        return any(fnmatchcase(host, name) for name in self.names)

    @property
    def client_settings(self) -> list[tuple[str, ...]]:
        """What it says of client certificates."""
        return [one for one in self.tls if _CLIENT.match(one[0])]

    @property
    def verifies(self) -> str | None:
        """What it demands of clients; None: nothing."""
        modes = self.setting("sslverifyclient")
        return None if not modes or modes[-1].lower() == "none" else repr(self.client_settings)


@dataclass(slots=True)
class _ApacheListener:
    """The virtual hosts of one address and port; the first is the default."""

    endpoint: Endpoint
    folder: ConfigurationFolder
    virtual_hosts: list[_VirtualHost]
    policy: str
    replaces_421: bool

    @property
    def hosts(self) -> dict[str, Place]:
        return {name: one.place for one in reversed(self.virtual_hosts) for name in one.names if "?" not in name}

    def _virtual_host(self, host: str) -> _VirtualHost:
        return next((one for one in self.virtual_hosts if one.has(host)), self.virtual_hosts[0])

    def handshake(self, server_name: str) -> Handshake | None:
        found = self._virtual_host(server_name)
        files = found.setting("sslcertificatefile")
        return Handshake(self.folder.certificate(files) if files else None, found.verifies, found.http2)

    @property
    def _misdirected(self) -> Answer:
        """A 421, unless an ErrorDocument makes another answer of it."""
        return Answer() if self.replaces_421 else Answer(status=421)

    def answer(self, server_name: str, host: str) -> Answer:
        opened, requested = self._virtual_host(server_name), self._virtual_host(host)
        if opened is not requested:
            if self.policy == "strict" or (self.policy == "secure" and opened.tls != requested.tls):
                return self._misdirected
            if opened.client_settings != requested.client_settings:
                # Without the check mod_ssl asks for the certificate after all, which HTTP/2 does not allow.
                return self._misdirected if self.policy == "authonly" else Answer(status=0)
        return Answer(site=str(requested.place))


class _Reader:
    def __init__(self, folder: ConfigurationFolder) -> None:
        self._folder = folder
        self._http2 = False
        self._tls: list[tuple[str, ...]] = []
        self._name: Directive | None = None
        self.policy = "secure"
        self.replaces_421 = False
        self.virtual_hosts: list[_VirtualHost] = []
        self.not_understood: list[NotUnderstood] = []

    def server(self, block: list[Directive]) -> None:
        """What stands outside of virtual hosts, which may follow what they inherit or come before it."""
        inner = []
        for one in self._with_includes(block):
            if one.name == "<virtualhost":
                inner.append(one)
            elif one.name == "sslvhostsnipolicy":
                self._policy(one)
            elif one.name == "protocols":
                self._http2 = "h2" in one.arguments
            elif _GLOBAL_SSL.fullmatch(one.name):
                continue
            elif one.name.startswith("ssl") and one.name != "sslengine":
                self._tls.append((one.name, *one.arguments))
            elif one.name == "servername":
                self._name = one
            else:
                self._inspect(one)
        for one in inner:
            self._virtual_host(one)

    def _policy(self, one: Directive) -> None:
        policy = one.arguments[0].lower() if len(one.arguments) == 1 else ""
        if policy in _POLICIES:
            self.policy = policy
        else:
            self._note_not_understood(one)

    def _with_includes(self, block: list[Directive], depth: int = 0) -> list[Directive]:
        """A block with what it includes, and what it has for mod_ssl and mod_http2, which are taken to be there."""
        if depth > MAX_DEPTH:
            raise InputError(block[0].place.file, "not-apache", "is included too deeply, or by itself")
        found: list[Directive] = []
        for one in block:
            if one.name in ("include", "includeoptional"):
                paths = self._folder.matching(one.arguments[0]) if len(one.arguments) == 1 else None
                if paths is None:
                    self._note_not_understood(one)
                for path in paths or ():
                    found += self._with_includes(directives(path, self._folder), depth + 1)
            elif one.name == "<ifmodule" and one.arguments[:1] in _PRESENT:
                found += self._with_includes(one.block, depth)
            else:
                found.append(one)
        return found

    def _note_not_understood(self, one: Directive) -> None:
        self.not_understood.append(NotUnderstood(one.place, " ".join((one.name.lstrip("<"), *one.arguments))))

    def _inspect(self, one: Directive) -> None:
        """Note a directive whose effect may depend on the connection, or is not known."""
        logs = one.name in ("logformat", "customlog", "transferlog", "errorlogformat", "loadmodule")
        apart = logs or _OF_MACHINE.fullmatch(one.name) is not None
        self.replaces_421 |= one.name == "errordocument" and one.arguments[:1] == ("421",)
        if one.name.startswith("<"):
            known = _SECTIONS.fullmatch(one.name[1:]) is not None
            for inner in self._with_includes(one.block) if known else ():
                self._inspect(inner)
        else:
            known = _HARMLESS.fullmatch(one.name) is not None
        if not known or (not apart and any(_DEPENDS.search(each) for each in one.arguments)):
            self._note_not_understood(one)

    def _virtual_host(self, block: Directive) -> None:
        ends = [_endpoint(each) for each in block.arguments]
        if None in ends or not ends:
            self._note_not_understood(block)
        found = _VirtualHost(block.place, [one for one in ends if one is not None], http2=self._http2)
        own: list[tuple[str, ...]] = []
        for one in self._with_includes(block.block):
            if one.name in ("servername", "serveralias"):
                self._names(found, one)
            elif one.name == "protocols":
                found.http2 = "h2" in one.arguments
            elif one.name == "sslvhostsnipolicy":
                self._note_not_understood(one)
            elif one.name.startswith("ssl") and not one.name.startswith("sslproxy"):
                own.append((one.name, *one.arguments))
            elif not one.name.startswith("sslproxy"):
                self._inspect(one)
        found.named = bool(found.names)
        if self._name is not None and not any(one.name == "servername" for one in self._with_includes(block.block)):
            self._names(found, self._name)  # it is inherited
        names = {one[0] for one in own}
        found.tls = own + [one for one in self._tls if one[0] not in names]
        self.virtual_hosts.append(found)

    def _names(self, found: _VirtualHost, one: Directive) -> None:
        for argument in one.arguments:
            name = re.sub(r"^https?://|:\d+$", "", argument.lower())
            if normalise_host(name.replace("*", "x").replace("?", "x")) != name.replace("*", "x").replace("?", "x"):
                self._note_not_understood(one)
            else:
                found.names.append(name)

    def listeners(self) -> list[_ApacheListener]:
        found: dict[Endpoint, list[_VirtualHost]] = {}
        for one in self.virtual_hosts:
            for endpoint in one.endpoints:
                found.setdefault(endpoint, []).append(one)
        of_tls = {
            endpoint: hosts
            for endpoint, hosts in found.items()
            if any(each.lower() in ("on", "optional") for one in hosts for each in one.setting("sslengine"))
        }
        for hosts in of_tls.values():
            self._name_default(hosts)
        return [
            _ApacheListener(endpoint, self._folder, hosts, self.policy, self.replaces_421)
            for endpoint, hosts in of_tls.items()
        ]

    def _name_default(self, hosts: list[_VirtualHost]) -> None:
        """The default virtual host has no name: it is for whatever no other names, of which its certificate tells."""
        if hosts[0].named:
            return
        covered = self._folder.certificate(hosts[0].setting("sslcertificatefile"))
        if covered is None:
            self.not_understood.append(NotUnderstood(hosts[0].place, "VirtualHost has no ServerName"))
        hosts[0].names += [name for name in sorted(covered or ()) if not any(one.has(name) for one in hosts)]


def read_apache(path: Path, folder: ConfigurationFolder) -> Configuration:
    """An Apache configuration, with what it includes below the folder.

    Raises:
        InputError: it is none.
    """
    reader = _Reader(folder)
    reader.server(directives(path, folder))
    return Configuration(reader.listeners(), reader.not_understood)


def _endpoint(text: str) -> Endpoint | None:
    address, _, port = text.rpartition(":")
    if address in ("*", "_default_") and is_port(port):
        return Endpoint(None, int(port))
    found = address_and_port(text, 0)
    return None if found is None or not found[1] else Endpoint(*found)
