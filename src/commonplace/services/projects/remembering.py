"""Documents made ready for searching, kept as long as their files stay as they were."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.projects.matching import Text, searchable
from commonplace.domain.reading import read_document

MAX_FOLDERS = 64
"""Projects that are kept, the last ones searched."""

_Kept = dict[str, tuple[FileStat, Text]]
"""By the file's name."""


class Remembered:
    """The searchable texts of the last projects; safe from several threads."""

    def __init__(self) -> None:
        self._folders: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = Lock()

    def texts(self, folder: str, files: Sequence[tuple[str, FileStat]], read: Callable[[Address], bytes]) -> list[Text]:
        """The texts of these files, in their order; only those that have changed are read.

        A file that is gone by the time it is read, or whose name no address may have, is left out.
        """
        with self._lock:
            known = self._folders.get(folder, {})
        kept: _Kept = {}
        for name, stat in files:
            found = known.get(name)
            if found is None or found[0] != stat:
                try:
                    address = parse_address(f"{folder}/{name}")
                    found = (stat, searchable(name, read_document(address, read(address))))
                except (NotFoundError, InvalidInputError):
                    continue
            kept[name] = found
        with self._lock:
            self._folders[folder] = kept
            self._folders.move_to_end(folder)
            while len(self._folders) > MAX_FOLDERS:
                self._folders.popitem(last=False)
        return [text for _, text in kept.values()]
