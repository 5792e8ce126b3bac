"""Documents made ready for searching, kept as long as their files stay as they were."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.projects.matching import Text, Texts, searchable
from commonplace.domain.reading import read_document

MAX_FOLDERS = 64
"""Projects that are kept, the last ones searched."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The documents of a folder, as they were."""

    files: Mapping[str, FileStat]
    by_name: Mapping[str, Text]
    texts: Texts


_NOTHING = _Kept({}, {}, Texts(()))


class Remembered:
    """The searchable texts of the last projects; safe from several threads."""

    def __init__(self) -> None:
        self._folders: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = Lock()

    def texts(self, folder: str, files: Mapping[str, FileStat], read: Callable[[Address], bytes]) -> Texts:
        """The texts of these files; only those that have changed are read.

        A file that is gone by the time it is read, or whose name no address may have, is left out.
        """
        with self._lock:
            known = self._folders.get(folder, _NOTHING)
        kept = known if known.files == files else _kept(folder, files, known, read)
        with self._lock:
            self._folders[folder] = kept
            self._folders.move_to_end(folder)
            while len(self._folders) > MAX_FOLDERS:
                self._folders.popitem(last=False)
        return kept.texts


def _kept(folder: str, files: Mapping[str, FileStat], known: _Kept, read: Callable[[Address], bytes]) -> _Kept:
    by_name: dict[str, Text] = {}
    for name, stat in files.items():
        text = known.by_name.get(name) if known.files.get(name) == stat else None
        try:
            if text is None:
                address = parse_address(f"{folder}/{name}")
                text = searchable(name, read_document(address, read(address)))
        except (NotFoundError, InvalidInputError):
            continue
        by_name[name] = text
    there = {name: stat for name, stat in files.items() if name in by_name}
    return _Kept(there, by_name, Texts(tuple(by_name.values())))
