"""One function per endpoint: each calls the wiki once and returns one response."""

from __future__ import annotations

import base64
import binascii
from typing import TypeVar, cast

from pydantic import BaseModel

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.faces.rest.endpoint import RestRequest, RestResponse
from commonplace.services.services import Services
from commonplace.toolsets.wiki import rules
from commonplace.toolsets.wiki.rest import models
from commonplace.toolsets.wiki.rules import note_name
from commonplace.toolsets.wiki.service import WIKI_KEY
from commonplace.toolsets.wiki.service.local import WikiState, wiki_at

M = TypeVar("M", bound=BaseModel)


def is_page(services: Services, path: str) -> bool:
    """Whether a page with this path exists."""
    try:
        services.of(WIKI_KEY).notes.read(path)
    except (NotFoundError, InvalidInputError):
        return False
    return True


def health(_: RestRequest) -> RestResponse:
    """Report that the server is running."""
    return RestResponse(models.Health())


def list_pages(request: RestRequest) -> RestResponse:
    """Pages that match a filter, newest first."""
    query = cast("models.ListParameters", request.query)
    with wiki_at(request.services, query.at) as state:
        page = state.notes.list(rules.NoteFilter(**query.model_dump(exclude={"at"})))
    value = models.Pages(pages=[_summary(note) for note in page.notes], total=page.total)
    return RestResponse(value, headers=_told(state))


def get_page(request: RestRequest) -> RestResponse:
    """A page, current or at a revision."""
    query = cast("models.RevisionParameters", request.query)
    with wiki_at(request.services, query.at) as state:
        note = state.notes.read(state.path_then(request.path), query.revision)
    etag = (("etag", f'"{note.revision}"'), *_told(state))
    if not request.conditions.is_empty and _is_known(request, note.revision, note.content.encode("utf-8", "replace")):
        return RestResponse(None, 304, etag)
    page = models.Page(
        name=note_name(note.path, note.frontmatter),
        path=note.path,
        content=note.content,
        frontmatter=dict(cast("dict[str, models.JsonValue]", note.frontmatter)),
        links_to=list(note.links_to),
        linked_from=list(note.linked_from),
        revision=note.revision,
        last_commit=_commit(note.last_commit) if note.last_commit else None,
        links_truncated=note.more_links,
    )
    return RestResponse(page, headers=etag)


def put_page(request: RestRequest) -> RestResponse:
    """Create a page, or replace it at its revision."""
    body = _body(request, models.Put)
    named = body.revision or request.conditions.match
    message = body.commit_message or f"[api] {'Update' if named else 'Create'}: {request.path}"
    saved = request.services.of(WIKI_KEY).notes.write(
        request.path, body.content, revision=body.revision or "", message=message, conditions=request.conditions
    )
    return _saved(saved)


def patch_page(request: RestRequest) -> RestResponse:
    """Replace one occurrence of a text."""
    body = _body(request, models.Patch)
    saved = request.services.of(WIKI_KEY).notes.edit(
        request.path,
        (body.old_string, body.new_string),
        revision=body.revision,
        message=body.commit_message or f"[api] Edit: {request.path}",
        conditions=request.conditions,
        occurrence=body.occurrence,
    )
    value = models.Edited(name=saved.name, path=saved.path, revision=saved.revision)
    return RestResponse(value, headers=(("etag", f'"{saved.revision}"'),))


def delete_page(request: RestRequest) -> RestResponse:
    """Delete a page."""
    body = request.body if isinstance(request.body, models.Delete) else models.Delete()
    path = request.services.of(WIKI_KEY).notes.delete(
        request.path,
        revision=body.revision or "",
        message=body.commit_message or f"[api] Delete: {request.path}",
        conditions=request.conditions,
    )
    return RestResponse(models.Deleted(path=path))


def rename_page(request: RestRequest) -> RestResponse:
    """Rename a page and rewrite the links to it."""
    body = _body(request, models.Rename)
    message = body.commit_message or f"[api] Rename: {request.path} -> {body.new_path}"
    renamed = request.services.of(WIKI_KEY).notes.rename(
        request.path, body.new_path, message=message, conditions=request.conditions
    )
    value = models.Renamed(
        old_path=renamed.old_path,
        new_path=renamed.new_path,
        revision=renamed.revision,
        updated_pages=list(renamed.updated_pages),
        not_rewritten=list(renamed.not_rewritten),
    )
    return RestResponse(value, headers=(("etag", f'"{renamed.revision}"'),))


def page_history(request: RestRequest) -> RestResponse:
    """The commits that changed a page."""
    query = cast("models.HistoryParameters", request.query)
    path, changes = request.services.of(WIKI_KEY).notes.history(request.path, query.limit)
    return RestResponse(models.History(path=path, history=[_commit(change) for change in changes]))


def page_diff(request: RestRequest) -> RestResponse:
    """The differences between two revisions of a page."""
    query = cast("models.DiffParameters", request.query)
    diff = request.services.of(WIKI_KEY).versions.diff(request.path, query.old, query.new)
    return RestResponse(models.Differences(path=diff.path, old=query.old, new=query.new, diff=diff.diff))


def restore_page(request: RestRequest) -> RestResponse:
    """Write the text of an older revision of a page again."""
    body = _body(request, models.Restore)
    message = body.commit_message or f"[api] Restore: {request.path} at {body.revision}"
    versions = request.services.of(WIKI_KEY).versions
    return _saved(versions.restore(request.path, body.revision, message=message, conditions=request.conditions))


def search(request: RestRequest) -> RestResponse:
    """Pages that match words, or that match in the requested mode."""
    query = cast("models.SearchParameters", request.query)
    with wiki_at(request.services, query.at) as state:
        hits = state.queries.search(query.q, query.limit, query.mode, query.status)
    rows = [models.Hit(name=hit.name, path=hit.path, snippet=hit.snippet, score=hit.score) for hit in hits.hits]
    return RestResponse(
        models.Hits(query=query.q, results=rows, total=hits.total, notice=hits.notice), headers=_told(state)
    )


def semantic_search(request: RestRequest) -> RestResponse:
    """Chunks of pages that are semantically close to a query."""
    query = cast("models.SemanticSearchParameters", request.query)
    chunks = request.services.of(WIKI_KEY).queries.semantic_search(query.q, query.n, query.max_chunks_per_page)
    rows = [_chunk(chunk) for chunk in chunks.chunks]
    return RestResponse(models.Chunks(query=query.q, results=rows, total=len(rows), notice=chunks.notice))


def page_links(request: RestRequest) -> RestResponse:
    """Outgoing and incoming links of a page."""
    with wiki_at(request.services, cast("models.MomentParameters", request.query).at) as state:
        links = state.queries.links(state.path_then(request.path))
    value = models.Links(
        path=links.path,
        links_to=list(links.links_to),
        linked_from=list(links.linked_from),
        links_truncated=links.more_links,
    )
    return RestResponse(value, headers=_told(state))


def all_links(request: RestRequest) -> RestResponse:
    """All links between pages."""
    with wiki_at(request.services, cast("models.MomentParameters", request.query).at) as state:
        graph = state.queries.graph()
    edges = [models.Edge(source=source, target=target) for source, target in graph.edges]
    nodes = [models.Node(path=node.path, exists=node.exists) for node in graph.nodes]
    return RestResponse(models.Graph(nodes=nodes, edges=edges), headers=_told(state))


def changelog(request: RestRequest) -> RestResponse:
    """The latest commits."""
    query = cast("models.ChangelogParameters", request.query)
    queries = request.services.of(WIKI_KEY).queries
    entries = [
        models.ChangeEntry(**_commit(change).model_dump(), pages_affected=list(change.pages))
        for change in queries.changes(query.limit)
    ]
    total = len(entries) if len(entries) < query.limit else queries.change_count()
    return RestResponse(models.Changelog(entries=entries, total=total))


def list_attachments(request: RestRequest) -> RestResponse:
    """The attachments of a page."""
    path, attachments = request.services.of(WIKI_KEY).attachments.list(request.path)
    rows = [_attachment(attachment) for attachment in attachments]
    return RestResponse(models.Attachments(attachments=rows, total=len(rows), path=path))


def upload_attachment(request: RestRequest) -> RestResponse:
    """Add an attachment to a page."""
    body = _body(request, models.Upload)
    return _upload(request, body.filename, _decoded(body.content), body.commit_message)


def put_attachment(request: RestRequest) -> RestResponse:
    """Add an attachment to a page as bytes, or replace the one that `If-Match` names."""
    return _upload(request, request.filename, request.content)


def download_attachment(request: RestRequest) -> RestResponse:
    """An attachment of a page."""
    download = request.services.of(WIKI_KEY).attachments.download(request.path, request.filename)
    attachment, revision = download.attachment, revision_of(download.content)
    etag = (("etag", f'"{revision}"'),)
    if _is_known(request, revision, download.content):
        return RestResponse(None, 304, etag)
    if request.accepts_bytes:
        return RestResponse(None, headers=etag, body=download.content, media_type=attachment.mime_type)
    content = base64.b64encode(download.content).decode()
    value = models.Downloaded(
        filename=attachment.filename, content=content, size=attachment.size, mime_type=attachment.mime_type
    )
    return RestResponse(value, headers=etag)


def delete_attachment(request: RestRequest) -> RestResponse:
    """Delete an attachment of a page."""
    body = request.body if isinstance(request.body, models.Delete) else models.Delete()
    message = body.commit_message or f"[api] Detach: {request.path}/{request.filename}"
    path, name = request.services.of(WIKI_KEY).attachments.delete(
        request.path, request.filename, message=message, conditions=request.conditions
    )
    return RestResponse(models.Detached(filename=name, path=path))


def _saved(saved: rules.SavedNote) -> RestResponse:
    value = models.Saved(
        name=saved.name,
        path=saved.path,
        revision=saved.revision,
        created=saved.created,
        unchanged=saved.unchanged,
    )
    return RestResponse(value, 201 if saved.created else 200, (("etag", f'"{saved.revision}"'),))


def _upload(request: RestRequest, filename: str, content: bytes, message: str | None = None) -> RestResponse:
    path, attachment = request.services.of(WIKI_KEY).attachments.upload(
        request.path,
        filename,
        content,
        message=message or f"[api] Attach: {request.path}/{filename}",
        conditions=request.conditions,
    )
    value = models.Uploaded(
        filename=attachment.filename, path=path, size=attachment.size, mime_type=attachment.mime_type
    )
    return RestResponse(value, 201 if attachment.created else 200, (("etag", f'"{revision_of(content)}"'),))


def _told(state: WikiState) -> tuple[tuple[str, str], ...]:
    """The header with the commit of a past state; () for the current state."""
    return (("commonplace-at", state.commit),) if state.commit else ()


def _is_known(request: RestRequest, revision: str, content: bytes) -> bool:
    """Whether the client already has the content, according to `If-None-Match`.

    Raises:
        PreconditionError: `If-Match` does not match.
    """
    names = (revision, revision_of(content))
    request.conditions.require_match(names)
    return request.conditions.is_known(names)


def _body(request: RestRequest, model: type[M]) -> M:
    assert isinstance(request.body, model)  # noqa: S101 - the dispatcher has checked it against the endpoint's row
    return request.body


def _summary(note: rules.NoteSummary) -> models.Summary:
    return models.Summary(
        name=note.name,
        path=note.path,
        category=note.category or None,
        tags=list(note.tags),
        last_updated=note.last_updated or None,
        content_length=note.words,
    )


def _commit(change: rules.NoteCommit) -> models.Commit:
    return models.Commit(revision=change.revision, author=change.author, date=change.date, message=change.message)


def _chunk(chunk: rules.NoteChunk) -> models.Chunk:
    return models.Chunk(
        name=chunk.name,
        path=chunk.path,
        snippet=chunk.snippet,
        text=chunk.text,
        distance=chunk.distance,
        section=chunk.section,
        section_path=chunk.section_path,
        chunk_index=chunk.chunk_index,
        total_chunks=chunk.total_chunks,
        page_word_count=chunk.page_word_count,
    )


def _attachment(attachment: rules.NoteAttachment) -> models.Attachment:
    return models.Attachment(
        filename=attachment.filename,
        size=attachment.size,
        mime_type=attachment.mime_type,
        last_modified=attachment.last_modified or None,
    )


def _decoded(content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInputError(
            "Invalid content: it is no base64.", kind="content", hint="Send the file's bytes as standard base64."
        ) from error
