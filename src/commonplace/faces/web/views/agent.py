"""The text of a document as agents get it over MCP, with its number of tokens."""

from __future__ import annotations

from commonplace.domain.errors import NotFoundError
from commonplace.domain.tokens import QUARTERS, beginning, tokens_of
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.pages import page
from commonplace.services.site.documents import document_at_path

MAX_TOKENS = 100_000
"""Maximum number of tokens that are shown."""


def agent(request: PageRequest) -> PageResponse:
    """The answer for a document of the tool that reads pages: whole, within `budget` tokens, or for a `question`."""
    collection, path = request.located()
    document = document_at_path(collection, path)
    if document is None:
        raise NotFoundError("There is no such page.", kind="document")
    elsewhere = [pages.agent_url(request, document) for pages in request.toolsets if pages.agent_url is not None]
    if elsewhere:
        return redirect(elsewhere[0] or request.urls.page(document.collection.name, document.record.address.path))
    budget = min(request.number("budget", 0), MAX_TOKENS)
    question = request.query.get("question", "").strip()[:500]
    answer = request.agent_text(request.services, document, budget or (1_000 if question else 0), question)
    text = answer.text
    return page(
        request,
        "agent.html",
        found=document,
        record=document.record,
        answer=answer,
        text=beginning(text, MAX_TOKENS * QUARTERS),
        characters=len(text),
        max_tokens=MAX_TOKENS,
        tokens=tokens_of(text),
        budget=budget,
        question=question,
        tokens_of_cl100k=tokens_of(text, "cl100k"),
    )
