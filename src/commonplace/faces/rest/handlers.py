"""What each endpoint does: one call of the wiki, and one answer."""

from __future__ import annotations

import base64
import binascii
from typing import TypeVar, cast

from pydantic import BaseModel

from commonplace.domain import wiki
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.revisions import revision_of
from commonplace.domain.wiki import name_of
from commonplace.faces.rest import models
from commonplace.faces.rest.endpoint import Asked, Reply

M = TypeVar("M", bound=BaseModel)


def health(_: Asked) -> Reply:
    """The server is there."""
    return Reply(models.Health())


def list_pages(asked: Asked) -> Reply:
    """Pages by filter, newest first."""
    query = cast("models.ListQuery", asked.query)
    page = asked.services.wiki.notes.list(wiki.Wanted(**query.model_dump()))
    return Reply(models.Pages(pages=[_summary(note) for note in page.notes], total=page.total))


def get_page(asked: Asked) -> Reply:
    """A page, now or at a revision."""
    query = cast("models.RevisionQuery", asked.query)
    note = asked.services.wiki.notes.read(asked.path, query.revision)
    etag = (("etag", f'"{note.revision}"'),)
    if _is_known(asked, note.revision, note.content.encode("utf-8", "replace")):
        return Reply(None, 304, etag)
    page = models.Page(
        name=name_of(note.path),
        path=note.path,
        content=note.content,
        frontmatter=dict(cast("dict[str, models.JsonValue]", note.frontmatter)),
        links_to=list(note.links_to),
        linked_from=list(note.linked_from),
        revision=note.revision,
        last_commit=_commit(note.last_commit) if note.last_commit else None,
    )
    return Reply(page, headers=etag)


def put_page(asked: Asked) -> Reply:
    """Create a page, or replace it at its revision."""
    body = _body(asked, models.Put)
    named = body.revision or asked.conditions.match
    message = body.commit_message or f"[api] {'Update' if named else 'Create'}: {asked.path}"
    saved = asked.services.wiki.notes.write(
        asked.path, body.content, revision=body.revision or "", message=message, conditions=asked.conditions
    )
    value = models.Saved(
        name=name_of(saved.path),
        path=saved.path,
        revision=saved.revision,
        created=saved.created,
        unchanged=saved.unchanged,
    )
    return Reply(value, 201 if saved.created else 200, (("etag", f'"{saved.revision}"'),))


def patch_page(asked: Asked) -> Reply:
    """Replace the one occurrence of a text."""
    body = _body(asked, models.Patch)
    saved = asked.services.wiki.notes.edit(
        asked.path,
        (body.old_string, body.new_string),
        revision=body.revision,
        message=body.commit_message or f"[api] Edit: {asked.path}",
        conditions=asked.conditions,
    )
    value = models.Edited(name=name_of(saved.path), path=saved.path, revision=saved.revision)
    return Reply(value, headers=(("etag", f'"{saved.revision}"'),))


def delete_page(asked: Asked) -> Reply:
    """Delete a page."""
    body = asked.body if isinstance(asked.body, models.Delete) else models.Delete()
    path = asked.services.wiki.notes.delete(
        asked.path,
        revision=body.revision or "",
        message=body.commit_message or f"[api] Delete: {asked.path}",
        conditions=asked.conditions,
    )
    return Reply(models.Deleted(path=path))


def rename_page(asked: Asked) -> Reply:
    """Move a page; links to it follow."""
    body = _body(asked, models.Rename)
    message = body.commit_message or f"[api] Rename: {asked.path} -> {body.new_path}"
    renamed = asked.services.wiki.notes.rename(asked.path, body.new_path, message=message, conditions=asked.conditions)
    value = models.Renamed(
        old_path=renamed.old_path,
        new_path=renamed.new_path,
        revision=renamed.revision,
        updated_pages=list(renamed.updated_pages),
    )
    return Reply(value, headers=(("etag", f'"{renamed.revision}"'),))


def page_history(asked: Asked) -> Reply:
    """The commits that touched a page."""
    query = cast("models.HistoryQuery", asked.query)
    path, changes = asked.services.wiki.notes.history(asked.path, query.limit)
    return Reply(models.History(path=path, history=[_commit(change) for change in changes]))


def search(asked: Asked) -> Reply:
    """Pages by words, or by the mode that is asked for."""
    query = cast("models.SearchQuery", asked.query)
    found = asked.services.wiki.finding.search(query.q, query.limit, query.mode)
    rows = [
        models.Hit(name=name_of(hit.path), path=hit.path, snippet=hit.snippet, score=hit.score) for hit in found.hits
    ]
    return Reply(models.Hits(query=query.q, results=rows, total=found.total))


def semantic_search(asked: Asked) -> Reply:
    """Pieces of pages by meaning."""
    query = cast("models.SemanticQuery", asked.query)
    chunks = asked.services.wiki.finding.semantic_search(query.q, query.n, query.max_chunks_per_page)
    rows = [_chunk(chunk) for chunk in chunks]
    return Reply(models.Chunks(query=query.q, results=rows, total=len(rows)))


def page_links(asked: Asked) -> Reply:
    """The links of a page, both ways."""
    links = asked.services.wiki.finding.links(asked.path)
    return Reply(models.Links(path=links.path, links_to=list(links.links_to), linked_from=list(links.linked_from)))


def all_links(asked: Asked) -> Reply:
    """All links."""
    graph = asked.services.wiki.finding.graph()
    edges = [models.Edge(source=source, target=target) for source, target in graph.edges]
    return Reply(models.Graph(nodes=list(graph.nodes), edges=edges))


def changelog(asked: Asked) -> Reply:
    """The latest commits."""
    query = cast("models.ChangelogQuery", asked.query)
    entries = [
        models.ChangeEntry(**_commit(change).model_dump(), pages_affected=list(change.pages))
        for change in asked.services.wiki.finding.changes(query.limit)
    ]
    return Reply(models.Changelog(entries=entries, total=len(entries)))


def list_attachments(asked: Asked) -> Reply:
    """The files of a page."""
    path, attachments = asked.services.wiki.attachments.list(asked.path)
    rows = [_attachment(one) for one in attachments]
    return Reply(models.Attachments(attachments=rows, total=len(rows), path=path))


def upload_attachment(asked: Asked) -> Reply:
    """Add a file to a page."""
    body = _body(asked, models.Upload)
    message = body.commit_message or f"[api] Attach: {asked.path}/{body.filename}"
    content = _decoded(body.content)
    path, one = asked.services.wiki.attachments.upload(
        asked.path, body.filename, content, message=message, conditions=asked.conditions
    )
    value = models.Uploaded(filename=one.filename, path=path, size=one.size, mime_type=one.mime_type)
    return Reply(value, 201, (("etag", f'"{revision_of(content)}"'),))


def download_attachment(asked: Asked) -> Reply:
    """A file of a page."""
    download = asked.services.wiki.attachments.download(asked.path, asked.filename)
    one, revision = download.attachment, revision_of(download.content)
    etag = (("etag", f'"{revision}"'),)
    if _is_known(asked, revision, download.content):
        return Reply(None, 304, etag)
    content = base64.b64encode(download.content).decode()
    value = models.Downloaded(filename=one.filename, content=content, size=one.size, mime_type=one.mime_type)
    return Reply(value, headers=etag)


def delete_attachment(asked: Asked) -> Reply:
    """Delete a file of a page."""
    body = asked.body if isinstance(asked.body, models.Delete) else models.Delete()
    message = body.commit_message or f"[api] Detach: {asked.path}/{asked.filename}"
    path, name = asked.services.wiki.attachments.delete(
        asked.path, asked.filename, message=message, conditions=asked.conditions
    )
    return Reply(models.Detached(filename=name, path=path))


def _is_known(asked: Asked, revision: str, content: bytes) -> bool:
    """Whether the client has what is asked for, by its `If-None-Match`.

    Raises:
        PreconditionError: `If-Match` is false.
    """
    names = (revision, revision_of(content))
    asked.conditions.require_match(names)
    return asked.conditions.is_known(names)


def _body(asked: Asked, model: type[M]) -> M:
    assert isinstance(asked.body, model)  # noqa: S101 - the dispatcher has checked it against the endpoint's row
    return asked.body


def _summary(note: wiki.Summary) -> models.Summary:
    return models.Summary(
        name=name_of(note.path),
        path=note.path,
        category=note.category or None,
        tags=list(note.tags),
        last_updated=note.last_updated or None,
        content_length=note.words,
    )


def _commit(change: wiki.Change) -> models.Commit:
    return models.Commit(revision=change.revision, author=change.author, date=change.date, message=change.message)


def _chunk(chunk: wiki.Chunk) -> models.Chunk:
    return models.Chunk(
        name=name_of(chunk.path),
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


def _attachment(one: wiki.Attachment) -> models.Attachment:
    return models.Attachment(
        filename=one.filename, size=one.size, mime_type=one.mime_type, last_modified=one.last_modified or None
    )


def _decoded(content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInputError(
            "Invalid content: it is no base64.", kind="content", hint="Send the file's bytes as standard base64."
        ) from error
