"""Error pages: each states the problem, the valid values and the next step."""

from __future__ import annotations

from commonplace.domain.errors import IndexingError, KnowledgeError
from commonplace.faces.web.exchange import PageRequest, PageResponse
from commonplace.faces.web.pages import page


def error_page(request: PageRequest, error: KnowledgeError, status: int, near: str = "/p/") -> PageResponse:
    """An error as a page, with the nearest names as links.

    Args:
        request: The request.
        error: The error.
        status: HTTP status.
        near: URL prefix of the links to the nearest names.
    """
    nearest = error.context.get("nearest")
    names = [str(name) for name in nearest] if isinstance(nearest, list | tuple) else []
    return page(
        request,
        "error.html",
        status,
        message=str(error),
        hint=error.hint,
        nearest=names,
        near=near,
        code=status,
        problem=error,
    )


def waiting_page(request: PageRequest, error: IndexingError) -> PageResponse:
    """The page that is shown while the first index is being built. Browsers reload it every two seconds.

    One that answers a form stays, because loading it again would lose what was typed.
    """
    done, total = error.context.get("done", 0), error.context.get("total", 0)
    made = page(request, "waiting.html", 503, done=done, total=total)
    reload = {} if request.method == "POST" else {"refresh": "2"}
    return made.with_headers({**reload, "retry-after": "2", "cache-control": "no-store"})
