"""The three ports of a wiki (`domain.wiki`) over the REST API."""

from __future__ import annotations

import base64
from collections.abc import Generator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from urllib.parse import quote

from commonplace.domain.errors import NotFoundError
from commonplace.domain.json import JsonObject
from commonplace.domain.nearness import Mode
from commonplace.domain.revisions import UNCONDITIONAL, Conditions
from commonplace.domain.wiki import (
    Attachment,
    Change,
    Chunk,
    Download,
    Graph,
    Note,
    NoteHits,
    NoteLinks,
    Renamed,
    Saved,
    Summaries,
    Wanted,
    Wiki,
)
from commonplace.store.rest import answers
from commonplace.store.rest.client import Client, quoted


def remote_wiki(url: str, key: str = "") -> Wiki:
    """The wiki of a server that speaks the REST API.

    Args:
        url: Of the server, such as `https://wiki.example.org`.
        key: Its bearer key, or "".
    """
    client = Client(url, key)
    return Wiki(RemoteNotes(client), RemoteFinding(client), RemoteAttachments(client))


class RemoteNotes:
    """The notes of a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(self, wanted: Wanted) -> Summaries:
        """Notes, newest first, then by path."""
        answer = self._client.get(
            "/pages",
            prefix=wanted.prefix,
            category=wanted.category,
            tag=wanted.tag,
            updated_since=wanted.updated_since,
            limit=wanted.limit,
            offset=wanted.offset or None,
        )
        notes = tuple(map(answers.summary, answers.objects(answer, "pages")))
        return Summaries(notes, answers.number(answer, "total"))

    def read(self, path: str, revision: str = "") -> Note:
        """A note, now or at a revision."""
        with _about(path):
            return answers.note(self._client.get(f"/pages/{quoted(path)}", revision=revision))

    def write(
        self, path: str, content: str, *, revision: str = "", message: str, conditions: Conditions = UNCONDITIONAL
    ) -> Saved:
        """Create a note, or replace the one at this revision."""
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
    ) -> Saved:
        """Replace the one occurrence of the first text by the second."""
        old, new = change
        body = {"revision": revision, "old_string": old, "new_string": new, "commit_message": message}
        return self._saved("PATCH", path, body, conditions)

    def delete(self, path: str, *, revision: str = "", message: str, conditions: Conditions = UNCONDITIONAL) -> str:
        """Delete a note; its path as it was."""
        body = {"commit_message": message} | ({"revision": revision} if revision else {})
        with _about(path):
            answer = self._client.send("DELETE", f"/pages/{quoted(path)}", body, conditions=conditions)
        return answers.text(answer, "path") or path

    def rename(self, path: str, new_path: str, *, message: str, conditions: Conditions = UNCONDITIONAL) -> Renamed:
        """Move a note and rewrite the links that lead to it."""
        with _about(path):
            body = {"new_path": new_path, "commit_message": message}
            answer = self._client.send("POST", f"/pages/{quoted(path)}/rename", body, conditions=conditions)
        return Renamed(
            answers.text(answer, "old_path") or path,
            answers.text(answer, "new_path") or new_path,
            answers.text(answer, "revision"),
            answers.texts(answer, "updated_pages"),
        )

    def history(self, path: str, limit: int) -> tuple[str, list[Change]]:
        """The note's path and the commits that touched it, newest first."""
        with _about(path):
            answer = self._client.get(f"/pages/{quoted(path)}/history", limit=limit)
        return answers.text(answer, "path") or path, list(map(answers.change, answers.objects(answer, "history")))

    def _saved(self, method: str, path: str, body: JsonObject, conditions: Conditions) -> Saved:
        with _about(path):
            answer = self._client.send(method, f"/pages/{quoted(path)}", body, conditions=conditions)
        return Saved(
            answers.text(answer, "path") or path,
            answers.text(answer, "revision"),
            created=answer.get("created") is True,
            unchanged=answer.get("unchanged") is True,
        )


class RemoteFinding:
    """The notes of a server, found."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def search(self, query: str, limit: int, mode: Mode = "keyword") -> NoteHits:
        """Notes by words, meaning or both, best first."""
        answer = self._client.get("/search", q=query, limit=limit, mode=None if mode == "keyword" else mode)
        return NoteHits(tuple(map(answers.hit, answers.objects(answer, "results"))), answers.number(answer, "total"))

    def semantic_search(self, query: str, n: int, per_page: int) -> tuple[Chunk, ...]:
        """Pieces of notes by meaning, nearest first."""
        answer = self._client.get("/semantic-search", q=query, n=n, max_chunks_per_page=per_page)
        return tuple(map(answers.chunk, answers.objects(answer, "results")))

    def links(self, path: str) -> NoteLinks:
        """What a note links to and what links to it."""
        with _about(path):
            answer = self._client.get(f"/links/{quoted(path)}")
        links_to, linked_from = answers.texts(answer, "links_to"), answers.texts(answer, "linked_from")
        return NoteLinks(answers.text(answer, "path") or path, links_to, linked_from)

    def graph(self) -> Graph:
        """All links between two notes."""
        answer = self._client.get("/links")
        edges = [(answers.text(row, "source"), answers.text(row, "target")) for row in answers.objects(answer, "edges")]
        return Graph(answers.texts(answer, "nodes"), tuple(edges))

    def led_to(self, paths: AbstractSet[str]) -> AbstractSet[str]:
        """Paths of the notes that at least one of these notes links to."""
        return {target for source, target in self.graph().edges if source in paths}

    def changes(self, limit: int) -> list[Change]:
        """The latest commits with the notes that they touched."""
        return list(map(answers.change, answers.objects(self._client.get("/changelog", limit=limit), "entries")))


class RemoteAttachments:
    """The attachments of a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(self, path: str) -> tuple[str, list[Attachment]]:
        """The note's path and its attachments."""
        with _about(path):
            answer = self._client.get(f"/pages/{quoted(path)}/attachments")
        shown = map(answers.attachment, answers.objects(answer, "attachments"))
        return answers.text(answer, "path") or path, list(shown)

    def upload(
        self, path: str, filename: str, content: bytes, *, message: str, conditions: Conditions = UNCONDITIONAL
    ) -> tuple[str, Attachment]:
        """Add a file."""
        body = {"filename": filename, "content": base64.b64encode(content).decode(), "commit_message": message}
        with _about(path):
            answer = self._client.send("POST", f"/pages/{quoted(path)}/attachments", body, conditions=conditions)
        return answers.text(answer, "path") or path, answers.attachment(answer)

    def download(self, path: str, filename: str) -> Download:
        """A file."""
        with _about(path):
            return answers.download(self._client.get(_attachment_url(path, filename)))

    def delete(
        self, path: str, filename: str, *, message: str, conditions: Conditions = UNCONDITIONAL
    ) -> tuple[str, str]:
        """Delete a file; the note's path and the file's name."""
        with _about(path):
            url, body = _attachment_url(path, filename), {"commit_message": message}
            answer = self._client.send("DELETE", url, body, conditions=conditions)
        return answers.text(answer, "path") or path, answers.text(answer, "filename") or filename


def _attachment_url(path: str, filename: str) -> str:
    return f"/pages/{quoted(path)}/attachments/{quote(filename, safe='')}"


@contextmanager
def _about(path: str) -> Generator[None]:
    """Say which note was meant where the server's refusal does not."""
    try:
        yield
    except NotFoundError as error:
        error.context.setdefault("reference", path)
        raise
