"""Requests for a moment of the past."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from commonplace.faces.web.exchange import PageRequest
from commonplace.services.past import Moment, as_of


@contextmanager
def at_moment(request: PageRequest) -> Generator[tuple[PageRequest, Sequence[Moment]]]:
    """The request with the collections at its moment, and the moment of each. Unchanged for a request of the present.

    URLs of documents then include the moment.

    Raises:
        InvalidInputError, NotFoundError, GitError: same as `services.past.as_of`.
    """
    if not request.at:
        yield request, ()
        return
    with as_of(request.collections, request.at) as base:
        services = replace(request.services, collections=base.collections)
        yield replace(request, services=services, urls=replace(request.urls, at=request.at)), base.moments
