"""The testbed as others use it, in a namespace of ``run_inside``: ``with Testbed(scenario, folder) as testbed:``."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from originset.crawler.browsers.trust import trust_in_home
from originset.crawler.probe.resolver import Resolver
from originset.crawler.programs import require_programs
from originset.crawler.testbed import namespace, server_logs
from originset.crawler.testbed.latency import BANDWIDTH, ROUND_TRIP_MS, LatencyMeans, LatencyProfile, delay_by_kernel
from originset.crawler.testbed.scenario import Scenario
from originset.crawler.testbed.servers import web_server
from originset.crawler.testbed.servers.certificate_authority import Authority, Issued
from originset.crawler.testbed.servers.server_process import CERTIFICATES, LOGS, SCENARIO
from originset.data.errors import TestbedError

# What resolvers read. Without our own, a host's systemd-resolved would be asked over its socket, past the namespace.
_ETC = {
    "resolv.conf": "nameserver {dns}\noptions timeout:1 attempts:2\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


_ASKS_BESIDE = "127.0.0.53"


class Testbed:
    """A scenario brought up: addresses, DNS, servers, trust. All of it is gone when the ``with`` ends or we are killed.

    ``latency`` gives every connection and lookup the round trips of an access network; ``latency_means`` says, once it
    is up, whether the kernel makes them or our relay. ``limits_bandwidth``: it also has that network's bandwidth, which
    our relay makes, and nothing else. ``folder`` is made anew and holds certificates, logs and the
    browsers' home. Two testbeds may be entered one within the other if they share no address and no DNS address; names
    are then resolved by the inner one.

    Raises ``TestbedError`` outside a namespace or where something does not come up, ``MissingDependency`` where a
    program is not installed.
    """

    __test__ = False  # pytest would collect the name

    def __init__(
        self, scenario: Scenario, folder: Path, latency: LatencyProfile = "none", *, limits_bandwidth: bool = False
    ) -> None:
        self.scenario = scenario
        self.folder = folder.absolute()
        self.latency = latency
        self.latency_means: LatencyMeans = "none"
        self._bandwidth = BANDWIDTH[latency] if limits_bandwidth else (0, 0)
        self._stack = contextlib.ExitStack()
        self._servers: subprocess.Popen[bytes] | None = None
        self._authority: Authority | None = None

    def __enter__(self) -> Self:
        if not namespace.in_namespace():
            raise TestbedError("a testbed needs a network namespace: start it through namespace.run_inside")
        require_programs("ip", "mount", "certutil")
        with contextlib.ExitStack() as stack:
            self._prepare_folder()
            self._add_addresses(stack)
            self._mount_resolver(stack)
            self._choose_latency(stack)
            self._start_servers(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def sites(self) -> list[str]:
        """The sites to visit, as a crawl's list has them."""
        return list(self.scenario.sites)

    @property
    def browser_flags(self) -> tuple[str, ...]:
        """Flags that a Chromium needs for this scenario; none where no host speaks HTTP/3."""
        return self.scenario.browser_flags

    @property
    def authority(self) -> Authority:
        """The authority that all clients are to trust; ``root`` is its PEM file."""
        if self._authority is None:
            raise TestbedError("the testbed has not been entered")
        return self._authority

    @property
    def environment(self) -> dict[str, str]:
        """What to add to a browser's environment: a home of its own, in which Chromium finds the authority."""
        home = self.folder / "home"
        return {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "XDG_DATA_HOME": str(home / ".local/share"),
        }

    def certificate_of(self, host: str) -> Issued:
        """Chain and key of a host of the scenario, for a server that the test itself puts at an external host."""
        name = self.scenario.hosts[host].certificate
        return web_server.certificate_folder(self.folder / CERTIFICATES, self.scenario)[name or ""]

    def handshakes(self) -> list[server_logs.TlsHandshake]:
        """All TLS handshakes that the servers completed so far."""
        return server_logs.read_records(self._written_logs(), server_logs.TlsHandshake)

    def requests(self) -> list[server_logs.LoggedRequest]:
        """All requests that the servers answered so far."""
        return server_logs.read_records(self._written_logs(), server_logs.LoggedRequest)

    def messages(self) -> list[server_logs.WebSocketMessage]:
        """All WebSocket messages that the servers received so far."""
        return server_logs.read_records(self._written_logs(), server_logs.WebSocketMessage)

    @property
    def resolver(self) -> Resolver:
        """The testbed's DNS for those who ask beside the browser: from an address by which their queries are told."""
        return Resolver(self.scenario.dns_address, source=_ASKS_BESIDE)

    def dns_queries(self, *, background: bool = False, beside: bool = False) -> list[server_logs.LoggedDnsQuery]:
        """All DNS queries so far for the scenario's names; with ``background`` for the browsers' own names too.

        Those of :attr:`resolver` are left out; with ``beside`` they are all that is given.
        """
        queries = server_logs.read_records(self._written_logs(), server_logs.LoggedDnsQuery)
        queries = [query for query in queries if (query.client == _ASKS_BESIDE) == beside]
        return [query for query in queries if background or query.name in self.scenario.names]

    def _written_logs(self) -> Path:
        process = self._servers
        if process is None or process.stdin is None or process.stdout is None:
            raise TestbedError("the testbed is not running")
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"\n")
        if process.stdout.readline() != b"written\n":
            raise TestbedError(f"the testbed's servers have ended: {self._last_words()}")
        return self.folder / LOGS

    def _prepare_folder(self) -> None:
        if self.folder.exists():
            if any(self.folder.iterdir()) and not (self.folder / SCENARIO).exists():
                raise TestbedError(f"{self.folder} holds something else than a testbed, which would be overwritten")
            shutil.rmtree(self.folder)
        for name in ("home", "etc", CERTIFICATES, LOGS):
            (self.folder / name).mkdir(parents=True)
        (self.folder / SCENARIO).write_bytes(msgspec.json.encode(self.scenario))
        self._authority = Authority(self.folder / "authority")
        for name, place in web_server.certificate_folder(self.folder / CERTIFICATES, self.scenario).items():
            certificate = self.scenario.certificates[name]
            issued = self._authority.issue(certificate.names, expired=certificate.expired)
            issued.chain.rename(place.chain)
            issued.key.rename(place.key)
        trust_in_home(self.folder / "home", self._authority.root)

    def _add_addresses(self, stack: contextlib.ExitStack) -> None:
        addresses = [self.scenario.dns_address, *self.scenario.addresses]
        (loopback,) = json.loads(_run(["ip", "-json", "address", "show", "dev", "lo"]))
        if taken := {one["local"] for one in loopback["addr_info"]}.intersection(addresses):
            raise TestbedError(f"another testbed in this namespace has {min(taken)}")
        lines = [f"{one}/32" if ipaddress.ip_address(one).version == 4 else f"{one}/128 nodad" for one in addresses]
        _run(["ip", "-batch", "-"], "".join(f"address add {line} dev lo\n" for line in lines))
        removal = "".join(f"address del {line.removesuffix(' nodad')} dev lo\n" for line in lines)
        stack.callback(_run, ["ip", "-batch", "-"], removal)

    def _mount_resolver(self, stack: contextlib.ExitStack) -> None:
        for name, text in _ETC.items():
            ours, theirs = self.folder / "etc" / name, Path("/etc") / name
            ours.write_text(text.format(dns=self.scenario.dns_address))
            if not theirs.exists():
                if name != "nsswitch.conf":  # the C library's default for a missing one is files, then dns
                    raise TestbedError(f"{theirs} does not exist, so that it cannot be replaced in the namespace")
                continue
            _run(["mount", "--bind", str(ours), str(theirs)])
            stack.callback(_run, ["umount", str(theirs)])

    def _choose_latency(self, stack: contextlib.ExitStack) -> None:
        if self.latency != "none":
            by_relay = any(self._bandwidth) or not delay_by_kernel(stack, self.latency)
            self.latency_means = "relay" if by_relay else "netem"

    def _start_servers(self, stack: contextlib.ExitStack) -> None:
        relayed_ms = ROUND_TRIP_MS[self.latency] / 2 if self.latency_means == "relay" else 0
        with (self.folder / LOGS / "servers.txt").open("wb") as errors:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "originset.crawler.testbed.servers.server_process",
                    str(self.folder),
                    str(relayed_ms),
                    *map(str, self._bandwidth),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                start_new_session=True,  # a terminal's Ctrl-C is for the crawl; the servers end with our pipe
            )
        self._servers = process
        stack.callback(self._end_servers, process)
        if process.stdout is None or process.stdout.readline() != b"ready\n":
            raise TestbedError(f"the testbed's servers did not start: {self._last_words()}")

    def _end_servers(self, process: subprocess.Popen[bytes]) -> None:
        self._servers = None
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _last_words(self) -> str:
        lines = (self.folder / LOGS / "servers.txt").read_text(errors="replace").splitlines()
        return lines[-1] if lines else "without a word"


def _run(command: list[str], text: str = "") -> str:
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise TestbedError(f"{command[0]} failed: {done.stderr.strip()}")
    return done.stdout
