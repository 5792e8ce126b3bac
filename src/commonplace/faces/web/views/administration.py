"""Pages of administration: bases with their indexes, locks and who holds them, access keys, and what `doctor` finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from commonplace.domain.activity import NO_LIMITS, WriteLimits
from commonplace.domain.errors import ForbiddenError, IndexingError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.query import Counts, EmbeddingStatus
from commonplace.faces.access.authentication import AccessKey, tier_named, write_limits
from commonplace.faces.access.callers import TIERS
from commonplace.faces.errors import error_mapping
from commonplace.faces.web.exchange import Administration, PageRequest, PageResponse
from commonplace.faces.web.pages import page
from commonplace.services.collections import Collection
from commonplace.services.diagnostics import embedding_status
from commonplace.services.history import CollectionState, collection_state
from commonplace.settings import Tier

MAX_DIGITS = 12
"""Maximum number of digits of a limit."""
NO_STORE = {"cache-control": "no-store"}
"""Headers of a page with a secret."""


@dataclass(frozen=True, slots=True)
class ShownBase:
    """A base and the state of its index."""

    collection: Collection
    state: CollectionState
    counts: Counts
    meaning: EmbeddingStatus
    indexing: str
    """Progress of its first index; "" if it is whole."""


def administration(request: PageRequest) -> PageResponse:
    """The overview, the keys, or what `doctor` finds; with POST, a change of the keys."""
    parts = request.administration
    if parts is None:
        raise NotFoundError("There is no such page.", kind="url", hint="This server has no administration.")
    if request.path == "keys":
        _require_whole(request)
        return _change_keys(request, parts) if request.method == "POST" else _keys(request, parts)
    if request.method == "POST":
        raise InvalidInputError("Nothing is changed here.", kind="form", hint="Keys are changed at /admin/keys.")
    if request.path == "doctor":
        _require_whole(request)
        return page(request, "doctor.html", findings=list(parts.diagnose()))
    if request.path:
        raise NotFoundError("There is no such page.", kind="url", hint="See /admin.")
    locks = [diagnostic for diagnostic in parts.locks() if request.services.unrestricted]
    return page(
        request,
        "admin.html",
        bases=[_base(collection) for collection in request.collections],
        locks=locks,
        whole=_is_whole(request),
    )


def _is_whole(request: PageRequest) -> bool:
    """Whether the caller is limited in nothing, so that keys and the machine are theirs to see."""
    return request.services.unrestricted and request.caller.limits == NO_LIMITS


def _require_whole(request: PageRequest) -> None:
    """Check that the caller is limited in nothing: a limited one could make a key that is wider than the own one.

    Raises:
        ForbiddenError: kind "limit".
    """
    if not _is_whole(request):
        raise ForbiddenError(
            "This needs a key of the tier admin without limits.", kind="limit", hint="Use one for all collections."
        )


def _base(collection: Collection) -> ShownBase:
    indexing = ""
    try:
        collection.index.wait_ready(0.0)
    except IndexingError as error:
        indexing = str(error)
    return ShownBase(
        collection, collection_state(collection), collection.index.counts(), embedding_status(collection), indexing
    )


def _keys(
    request: PageRequest,
    parts: Administration,
    *,
    token: str = "",
    made: AccessKey | None = None,
    problem: KnowledgeError | None = None,
) -> PageResponse:
    rows = [(key, parts.keys.last_use(key)) for key in parts.keys.all()]
    response = page(
        request,
        "keys.html",
        error_mapping(problem).http if problem else 200,
        rows=rows,
        tiers=TIERS,
        bases=[collection.name for collection in request.collections],
        token=token,
        made=made,
        problem=problem,
        form=request.form if problem else {},
        no_limits=NO_LIMITS,
    )
    return response.with_headers(NO_STORE)


def _change_keys(request: PageRequest, parts: Administration) -> PageResponse:
    """Create, limit, or revoke a key, and show it: the one time when a new key is shown."""
    form, action = request.form, request.form.get("action", "")
    try:
        if action == "create":
            tier, bases, limits = tier_named(form.get("tier", "")), _chosen_bases(request), _limits(form)
            _require_admin_first(request, parts, (tier, bases, limits))
            token, key = parts.keys.create(form.get("name", "").strip(), tier, bases, limits)
            return _keys(request, parts, token=token, made=key)
        if action == "limit":
            parts.keys.limit(form.get("id", ""), _limits(form))
        elif action == "revoke":
            parts.keys.revoke(form.get("id", ""))
        else:
            raise InvalidInputError("The form names no change.", kind="form", hint="Create, limit or revoke a key.")
    except KnowledgeError as error:
        return _keys(request, parts, problem=error)
    return _keys(replace(request, form={}), parts)


def _require_admin_first(
    request: PageRequest, parts: Administration, key: tuple[Tier, Sequence[str] | None, WriteLimits]
) -> None:
    """Check that the first key lets its maker in here again; who signs in through a provider needs no key.

    Raises:
        InvalidInputError: kind "tier".
    """
    if not request.provider and key != ("admin", None, NO_LIMITS) and not parts.keys.all():
        raise InvalidInputError(
            "The first key must be of the tier admin, without limits: with another alone, nobody could sign in.",
            kind="tier",
            hint="Make your own key first, then those of others.",
        )


def _chosen_bases(request: PageRequest) -> Sequence[str] | None:
    """The collections of a new key; None for all, also of those that are served later."""
    names = [collection.name for collection in request.collections]
    if request.form.get("bases", "all") == "all":
        return None
    return [name for number, name in enumerate(names) if f"base-{number}" in request.form]


def _limits(form: Mapping[str, str]) -> WriteLimits:
    return write_limits(
        _lines(form.get("folders", "")),
        _lines(form.get("types", "")),
        _number(form, "pages"),
        _number(form, "size"),
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _number(form: Mapping[str, str], name: str) -> int | None:
    text = form.get(name, "").strip().replace(",", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise InvalidInputError(
            f"Invalid number {text[:20]!r}: expected a whole number, or nothing.",
            kind="form",
            hint="Write digits only.",
        )
    return int(text)
