"""The four ports of a wiki (`toolsets.wiki.rules`) over the REST API."""

from __future__ import annotations

import base64
from collections.abc import Generator
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from urllib.parse import quote

from commonplace.domain.errors import AlreadyExistsError, ConflictError, KnowledgeError, NotFoundError
from commonplace.domain.json import JsonObject
from commonplace.domain.query import SearchMode, StatusChoice
from commonplace.domain.revisions import UNCONDITIONAL, Conditions
from commonplace.toolsets.wiki.remote import client as json_values
from commonplace.toolsets.wiki.remote.client import RestClient, quoted
from commonplace.toolsets.wiki.rules import (
    AttachmentContent,
    Note,
    NoteAttachment,
    NoteChunks,
    NoteCommit,
    NoteDiff,
    NoteFilter,
    NoteGraph,
    NoteHits,
    NoteLinks,
    NoteList,
    RenamedNote,
    SavedNote,
    Wiki,
    revision_not_found,
    semantic_search_missing,
)


def remote_wiki(url: str, key: str, closing: ExitStack) -> Wiki:
    """The wiki of a server with the REST API.

    Args:
        url: URL of the server, such as `https://wiki.example.org`.
        key: Bearer key; "" for none.
        closing: Exit stack that closes the connections.
    """
    client = RestClient(url, key)
    closing.callback(client.close)
    return Wiki(RemoteNotes(client), RemoteNoteQueries(client), RemoteAttachments(client), RemoteNoteVersions(client))


class RemoteNotes:
    """The notes of a server."""

    def __init__(self, client: RestClient) -> None:
        self._client = client

    def list(self, note_filter: NoteFilter) -> NoteList:
        """Notes, newest first, then by path."""
        answer = self._client.get(
            "/pages",
            "pages",
            prefix=note_filter.prefix,
            category=note_filter.category,
            tag=note_filter.tag,
            updated_since=note_filter.updated_since,
            limit=note_filter.limit,
            offset=note_filter.offset or None,
        )
        notes = tuple(map(json_values.summary, json_values.objects(answer, "pages")))
        total = json_values.number(answer, "total")
        if len(notes) == total:  # all notes: Otterwiki's API has no pages of a list
            notes = notes[note_filter.offset :][: note_filter.limit]
        return NoteList(notes, total)

    def read(self, path: str, revision: str = "") -> Note:
        """A note, now or at a revision."""
        try:
            with _about(path):
                return json_values.note(self._client.get(f"/pages/{quoted(path)}", "content", revision=revision))
        except NotFoundError as error:
            if not revision or error.kind != "page":
                raise
            self.read(path)  # Otterwiki's API has one error for a missing page and a missing revision
            raise revision_not_found(path, revision) from error

    def write(
        self, path: str, content: str, *, revision: str = "", message: str, conditions: Conditions = UNCONDITIONAL
    ) -> SavedNote:
        """Create a note, or replace the note at this revision."""
        body: JsonObject = {"content": content, "commit_message": message}
        return self._saved("PUT", path, {**body, "revision": revision} if revision else body, conditions)

    def edit(
        self,
        path: str,
        change: tuple[str, str],
        *,
        revision: str,
        message: str,
        conditions: Conditions = UNCONDITIONAL,
        occurrence: int = 0,
    ) -> SavedNote:
        """Replace one occurrence of the first text with the second."""
        old, new = change
        body: JsonObject = {"revision": revision, "old_string": old, "new_string": new, "commit_message": message}
        return self._saved("PATCH", path, {**body, "occurrence": occurrence} if occurrence else body, conditions)

    def delete(self, path: str, *, revision: str = "", message: str, conditions: Conditions = UNCONDITIONAL) -> str:
        """Delete a note; return the path that it had."""
        body = {"commit_message": message} | ({"revision": revision} if revision else {})
        with _about(path):
            answer = self._client.send("DELETE", f"/pages/{quoted(path)}", "deleted", body, conditions=conditions)
        return json_values.text(answer, "path") or path

    def rename(self, path: str, new_path: str, *, message: str, conditions: Conditions = UNCONDITIONAL) -> RenamedNote:
        """Move a note and rewrite the links to it."""
        with _about(path):
            body = {"new_path": new_path, "commit_message": message}
            url = f"/pages/{quoted(path)}/rename"
            try:
                answer = self._client.send("POST", url, "new_path", body, conditions=conditions)
            except ConflictError as error:
                if error.context.get("current_revision"):
                    raise
                hint = "Choose another path."
                raise AlreadyExistsError(str(error).rstrip(".") + ".", kind="page", hint=hint) from error
        return RenamedNote(
            json_values.text(answer, "old_path") or path,
            json_values.text(answer, "new_path") or new_path,
            json_values.text(answer, "revision"),
            json_values.texts(answer, "updated_pages"),
            json_values.texts(answer, "not_rewritten"),
        )

    def history(self, path: str, limit: int) -> tuple[str, list[NoteCommit]]:
        """The note's path and the commits that changed it, newest first."""
        with _about(path):
            answer = self._client.get(f"/pages/{quoted(path)}/history", "history", limit=limit)
        return json_values.text(answer, "path") or path, list(
            map(json_values.change, json_values.objects(answer, "history"))
        )

    def _saved(self, method: str, path: str, body: JsonObject, conditions: Conditions) -> SavedNote:
        with _about(path):
            return _saved(
                path, self._client.send(method, f"/pages/{quoted(path)}", "revision", body, conditions=conditions)
            )


class RemoteNoteVersions:
    """Versions of a server's notes."""

    def __init__(self, client: RestClient) -> None:
        self._client = client

    def diff(self, path: str, old: str, new: str = "") -> NoteDiff:
        """The differences of a note between two revisions."""
        with _about(path):
            answer = self._client.get(f"/pages/{quoted(path)}/diff", "diff", **{"from": old, "to": new or None})
        return NoteDiff(json_values.text(answer, "path") or path, json_values.text(answer, "diff"))

    def restore(self, path: str, revision: str, *, message: str, conditions: Conditions = UNCONDITIONAL) -> SavedNote:
        """Write the text of an older revision again."""
        body = {"revision": revision, "commit_message": message}
        with _about(path):
            url = f"/pages/{quoted(path)}/restore"
            return _saved(path, self._client.send("POST", url, "revision", body, conditions=conditions))


class RemoteNoteQueries:
    """Queries of a server's notes."""

    def __init__(self, client: RestClient) -> None:
        self._client = client

    def search(self, query: str, limit: int, mode: SearchMode = "keyword", status: StatusChoice = "any") -> NoteHits:
        """Notes by words, similarity or both, best first."""
        chosen = {"mode": None if mode == "keyword" else mode, "status": None if status == "any" else status}
        answer = self._client.get("/search", "results", q=query, limit=limit, **chosen)
        return NoteHits(
            tuple(map(json_values.hit, json_values.objects(answer, "results")))[:limit],
            json_values.number(answer, "total"),
            json_values.text(answer, "notice"),
        )

    def semantic_search(self, query: str, n: int, per_page: int) -> NoteChunks:
        """Chunks of notes by similarity, most similar first."""
        try:
            answer = self._client.get("/semantic-search", "results", q=query, n=n, max_chunks_per_page=per_page)
        except KnowledgeError as error:
            if error.context.get("status") in {HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE}:
                raise semantic_search_missing() from error
            raise
        chunks = tuple(map(json_values.chunk, json_values.objects(answer, "results")))
        return NoteChunks(chunks, json_values.text(answer, "notice"))

    def links(self, path: str) -> NoteLinks:
        """Outgoing and incoming links of a note."""
        with _about(path):
            answer = self._client.get(f"/links/{quoted(path)}", "links_to")
        links_to, linked_from = json_values.texts(answer, "links_to"), json_values.texts(answer, "linked_from")
        more_links = answer.get("links_truncated") is True
        return NoteLinks(json_values.text(answer, "path") or path, links_to, linked_from, more_links)

    def graph(self) -> NoteGraph:
        """All links between two notes."""
        answer = self._client.get("/links", "edges")
        edges = [
            (json_values.text(row, "source"), json_values.text(row, "target"))
            for row in json_values.objects(answer, "edges")
        ]
        nodes = map(json_values.node, json_values.items(answer, "nodes"))
        return NoteGraph(tuple(node for node in nodes if node), tuple(edges))

    def linked_from_any(self, paths: AbstractSet[str]) -> AbstractSet[str]:
        """Paths of the notes to which at least one of these notes links."""
        return {target for source, target in self.graph().edges if source in paths}

    def changes(self, limit: int) -> list[NoteCommit]:
        """The latest commits with the notes that they changed."""
        answer = self._client.get("/changelog", "entries", limit=limit)
        return list(map(json_values.change, json_values.objects(answer, "entries")))

    def change_count(self) -> int:
        """Number of all commits that changed the wiki, as the server counts them."""
        return int(json_values.number(self._client.get("/changelog", "entries", limit=1), "total"))


class RemoteAttachments:
    """The attachments of a server."""

    def __init__(self, client: RestClient) -> None:
        self._client = client

    def list(self, path: str) -> tuple[str, list[NoteAttachment]]:
        """The note's path and its attachments."""
        with _about(path):
            answer = self._client.get(f"/pages/{quoted(path)}/attachments", "attachments")
        shown = map(json_values.attachment, json_values.objects(answer, "attachments"))
        return json_values.text(answer, "path") or path, list(shown)

    def upload(
        self, path: str, filename: str, content: bytes, *, message: str, conditions: Conditions = UNCONDITIONAL
    ) -> tuple[str, NoteAttachment]:
        """Add an attachment; return the note's path and the attachment."""
        body = {"filename": filename, "content": base64.b64encode(content).decode(), "commit_message": message}
        with _about(path):
            url = f"/pages/{quoted(path)}/attachments"
            answer = self._client.send("POST", url, "filename", body, conditions=conditions)
        return json_values.text(answer, "path") or path, json_values.attachment(answer)

    def download(self, path: str, filename: str) -> AttachmentContent:
        """An attachment with its bytes."""
        with _about(path):
            return json_values.download(self._client.get(_attachment_url(path, filename), "content"))

    def delete(
        self, path: str, filename: str, *, message: str, conditions: Conditions = UNCONDITIONAL
    ) -> tuple[str, str]:
        """Delete an attachment; return the note's path and the file's name."""
        with _about(path):
            url, body = _attachment_url(path, filename), {"commit_message": message}
            answer = self._client.send("DELETE", url, "deleted", body, conditions=conditions)
        return json_values.text(answer, "path") or path, json_values.text(answer, "filename") or filename


def _saved(path: str, answer: JsonObject) -> SavedNote:
    return SavedNote(
        json_values.text(answer, "path") or path,
        json_values.text(answer, "revision"),
        json_values.name(answer),
        created=answer.get("created") is True,
        unchanged=answer.get("unchanged") is True,
    )


def _attachment_url(path: str, filename: str) -> str:
    return f"/pages/{quoted(path)}/attachments/{quote(filename, safe='')}"


@contextmanager
def _about(path: str) -> Generator[None]:
    """Add the note's path to a NotFoundError of the server that has none."""
    try:
        yield
    except NotFoundError as error:
        error.context.setdefault("reference", path)
        raise
