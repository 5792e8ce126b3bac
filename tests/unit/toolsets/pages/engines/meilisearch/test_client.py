"""The client of the search server where there is no server to speak to."""

from __future__ import annotations

import pytest

from commonplace.domain.errors import UnavailableError
from commonplace.toolsets.pages.engines.meilisearch.client import MeilisearchClient


def test_a_call_that_comes_after_the_end_says_that_the_server_is_not_available() -> None:
    client = MeilisearchClient("http://user:secret@127.0.0.1:9", "")
    client.close()
    with pytest.raises(UnavailableError, match=r"not available at http://127\.0\.0\.1:9\.") as caught:
        client.call("GET", "/health")
    assert "secret" not in str(caught.value)
