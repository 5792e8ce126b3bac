"""Subscriptions last exactly as long as the client's connection."""

from __future__ import annotations

import gc
from typing import Any

import anyio
import pytest
from mcp import Client

from commonplace.faces.mcp import subscriptions
from commonplace.faces.mcp.server import build_server
from commonplace.services.collections import Collections
from commonplace.services.services import Services
from commonplace.toolsets.kb.mcp import KB

SERVER: Any = build_server(KB, Services(collections=Collections(list)), "read")


def followers() -> int:
    gc.unfreeze()  # what another thread's index had the collector leave alone
    gc.collect()
    return sum(isinstance(other_object, subscriptions._Subscriber) for other_object in gc.get_objects())


@pytest.mark.filterwarnings("ignore:resources/:mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.soak
def test_a_session_of_the_older_era_is_forgotten_at_its_end() -> None:
    async def talk() -> None:
        async with Client(SERVER, mode="legacy") as client:
            await client.subscribe_resource("pyrite://kbs")
            assert followers() == 1

    anyio.run(talk)
    assert followers() == 0


def test_a_stream_of_the_newer_era_is_forgotten_at_its_end() -> None:
    async def talk() -> None:
        async with Client(SERVER) as client:
            async with client.listen(resource_subscriptions=["pyrite://kbs"]):
                assert followers() == 1
            assert client.server_capabilities.resources is not None

    anyio.run(talk)
    assert followers() == 0
