"""Discovery of the authorization server by a client without a token."""

from __future__ import annotations

from asgi import asked
from commonplace.faces.http.app import METADATA, ResourceMetadata

DOCUMENT = ResourceMetadata("https://kb.example.org", "https://id.example.org/realms/a")


def test_the_document_names_the_provider_and_the_scopes_of_every_tier() -> None:
    answer = asked(DOCUMENT, "GET", METADATA)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == {
        "resource": "https://kb.example.org",
        "authorization_servers": ["https://id.example.org/realms/a"],
        "scopes_supported": ["commonplace:read", "commonplace:propose", "commonplace:write", "commonplace:admin"],
        "bearer_methods_supported": ["header"],
    }


def test_the_path_of_a_resource_behind_it_leads_to_the_same_document() -> None:
    assert asked(DOCUMENT, "GET", f"{METADATA}/mcp/kb").json == asked(DOCUMENT, "GET", METADATA).json


def test_a_head_request_learns_the_length_and_gets_no_body() -> None:
    full, head = asked(DOCUMENT, "GET", METADATA), asked(DOCUMENT, "HEAD", METADATA)
    assert (head.status, head.body) == (200, b"")
    assert head.headers == full.headers
    assert int(head.headers["content-length"]) == len(full.body)
