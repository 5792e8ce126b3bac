"""The pictures and other files beside the pages that a publication has."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress

from commonplace.domain.addresses import Address, address_or_none
from commonplace.domain.attachment_types import is_plain_svg
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.json import Json, list_of, mapping_of
from commonplace.domain.ports import Store
from commonplace.domain.site_file import PublishRules
from commonplace.faces.web.output_folder import RECENT_NS, OutputFolder, content_digest
from commonplace.services.site.publication import LeftOut, excluded_by, has_name


class PublishedFiles:
    """Says which files may be published, and writes them.

    Args:
        store: The files of the base.
        rules: What the base declares about publishing.
        hidden: The folded names of pages that are not published.
        stored: What `write` returned for the last publication; any other value counts as nothing.
    """

    def __init__(self, store: Store, rules: PublishRules, hidden: AbstractSet[str], stored: Json) -> None:
        self.used: list[str] = []
        """The files that were asked for and may be published, or only have the wrong content."""
        self.left_out: dict[str, LeftOut] = {}
        self._store = store
        self._rules = rules
        self._hidden = hidden
        self._stored = mapping_of(stored)
        self._fitting: dict[str, bool] = {}
        self._folders: dict[str, Mapping[Address, FileStat]] = {}
        self._statuses: dict[Address, FileStat | None] = {}

    def attach(self, path: str) -> bool:
        """Whether a file may be published, and if so, note that it is used."""
        if path not in self._fitting:
            address = address_or_none(path)
            fits = address is not None and not address.is_document
            is_open = fits and not excluded_by(path, self._rules)
            self._fitting[path] = bool(is_open and address and self._status(address)) and self._is_plain(path)
        if self._fitting[path] or path in self.left_out:
            self.used.append(path)
        return self._fitting[path]

    def _is_plain(self, path: str) -> bool:
        """Whether a file runs nothing when it is opened at its address in the site, and names no hidden page."""
        content = self._store.read(Address(path)) if path.lower().endswith((".svg", ".canvas", ".base")) else b""
        runs = path.lower().endswith(".svg") and not is_plain_svg(content)
        if runs or has_name(content, self._hidden):
            reason = "not a picture alone: it has a script, or what can run one" if runs else "names a page left out"
            self.left_out[path] = LeftOut(path, reason)
        return path not in self.left_out

    def _status(self, address: Address) -> FileStat | None:
        """Size and times of a file that is there and that no ignore file excludes; None for another one."""
        if address not in self._statuses:
            self._statuses[address] = None
            with suppress(KnowledgeError):
                if address.folder not in self._folders:
                    self._folders[address.folder] = dict(self._store.files(address.folder))
                status = self._folders[address.folder].get(address)
                self._statuses[address] = None if status is None or self._store.ignores(address) else status
        return self._statuses[address]

    def write(self, folder: OutputFolder, paths: Iterable[str]) -> dict[str, Json]:
        """Write files. One with the size and times that it had for the last publication is not read again.

        Returns:
            What the next publication may know of them, which may be lost.
        """
        now = time.time_ns()
        entries: dict[str, Json] = {}
        for path in paths:
            status = self._status(Address(path))
            before = list_of(self._stored.get(path))
            is_same = status is not None and before[1:] == [*status] and folder.earlier.get(path) == before[0]
            if is_same and folder.keeps(path):
                entries[path] = [*before]
                continue
            content = self._store.read(Address(path))
            folder.put(path, content)
            if status is not None and status.ctime_ns < now - RECENT_NS:
                entries[path] = [content_digest(content), *status]
        return entries
