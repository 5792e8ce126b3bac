"""Hosts in network namespaces of their own, on one switch that reaches nothing else."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import subprocess
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

NAMESPACES = Path("/run/netns")
ADDRESSES = "127.18.0.{}"
"""Loopback addresses, each on one host alone: nothing outside is ever meant by them, and an OpenSearch node that binds
another address refuses to start where the limit of open files is low."""
CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Host:
    """A namespace with one address. `port` is its end of the cable at the switch."""

    namespace: Path
    address: str
    switch: Path
    port: str

    def entering(self) -> list[str]:
        """The beginning of a command that runs in the namespace."""
        return ["nsenter", f"--net={self.namespace}"]

    def cut(self) -> None:
        """Pull the cable: what is sent from now on is lost, and nobody is told."""
        _ip("-n", self.switch.name, "link", "set", self.port, "down")

    def join(self) -> None:
        """Put the cable back."""
        _ip("-n", self.switch.name, "link", "set", self.port, "up")

    @contextmanager
    def inside(self) -> Generator[None]:
        """This thread, and what it starts, is in the namespace until the end of the block."""
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            with self.namespace.open("rb") as own:
                _enter(own.fileno())
            yield
        finally:
            _enter(before)
            os.close(before)


@contextmanager
def network(names: Sequence[str]) -> Generator[dict[str, Host]]:
    """Hosts by name, which are gone after the block; skips where namespaces cannot be made."""
    mark = f"cp{secrets.token_hex(3)}"
    with ExitStack() as stack:
        switch = _namespace(stack, f"{mark}-switch")
        _ip("-n", switch.name, "link", "add", "switch", "type", "bridge")
        _ip("-n", switch.name, "link", "set", "switch", "up")
        yield {name: _plugged(stack, switch, f"{mark}-{name}", number) for number, name in enumerate(names, 1)}


def _plugged(stack: ExitStack, switch: Path, name: str, number: int) -> Host:
    namespace, port = _namespace(stack, name), f"port{number}"
    _ip("-n", switch.name, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
    _ip("-n", switch.name, "link", "set", port, "master", "switch", "up")
    address = ADDRESSES.format(number)
    _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
    _ip("-n", name, "link", "set", "eth0", "up")
    _ip("-n", name, "link", "set", "lo", "up")
    # Loopback addresses beside 127.0.0.1 are on the other side of the cable.
    _ip("netns", "exec", name, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet")
    _ip("-n", name, "route", "delete", "local", "127.0.0.0/8", "dev", "lo", "table", "local")
    return Host(namespace, address, switch, port)


def _namespace(stack: ExitStack, name: str) -> Path:
    if os.getuid() or shutil.which("ip") is None:
        if "REQUIRE_TOOLS" in os.environ:
            raise AssertionError("needs ip (iproute2) and root for network namespaces")
        pytest.skip("needs ip (iproute2) and root for network namespaces")
    _ip("netns", "add", name)
    stack.callback(_ip, "netns", "delete", name)
    return NAMESPACES / name


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=30)


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
