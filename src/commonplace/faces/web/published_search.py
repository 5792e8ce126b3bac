"""The search index of published files, which Pagefind makes and the browser reads.

Pagefind can only index all pages, which takes it a minute for 10,000. So when few of many pages have changed, a small
index of these is put beside the whole one, with the list of the entries in the whole one that no longer count. The
texts of such entries are removed. Their words stay in the whole index, which is made anew if one of them is on no
published page any more.

Pagefind ends a word at a blank. In scripts without blanks each character is made a word of its own, and the browser
searches several of them as a phrase (`published.js`).
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from commonplace.domain.errors import UnavailableError
from commonplace.domain.json import Json, list_of, mapping_of, text_of
from commonplace.domain.words.grams import SPACELESS
from commonplace.faces.web.output_folder import OutputFolder, content_digest
from commonplace.faces.web.published_links import OWN

SEARCH = f"{OWN}/search"
"""Folder of the search index."""
CHANGES = f"{SEARCH}/changes"
"""Folder of the index of the pages that have changed since the whole one was made."""
CHANGES_LIST = f"{CHANGES}.json"
"""Says whether there is an index of changes, and which entries of the whole one no longer count."""
CHANGED_SHARE = 50
"""The whole index is made again when more than one page in this many has changed since."""
MAX_MESSAGE = 300
"""Maximum number of characters of Pagefind's message that an error repeats."""
_UNUSED = ("pagefind-ui.", "pagefind-modular-ui.", "pagefind-component-ui.", "pagefind-highlight.")
"""Beginnings of the names of Pagefind's own interfaces, which the pages do not use."""
_FRAGMENTS = "fragment/"
_FRAGMENT_SUFFIX = ".pf_fragment"
_FRAGMENT_MARK = b"pagefind_dcd"
"""The first bytes of an entry, before its JSON."""

_WORD = re.compile(r"\w+")
_SPACELESS = re.compile(f"[{SPACELESS}]")
_SHOWN_TEXT = re.compile(r'>[^<]+|data-names="[^"]*"')
_CHARACTER_END = re.compile(rf"(?<=[{SPACELESS}])(?=\w|\Z)|(?<=\w)(?=[{SPACELESS}])(?=\w)")
_RUN_AFTER_TAG = re.compile(rf"^>(?=[{SPACELESS}])")
CHARACTER_END = "\u2060 "
"""Ends a character of a script without blanks in the index; the browser removes it from what it shows."""
FORM = 2
"""Version of the form of the index; one of another form is made anew."""


@dataclass(slots=True)
class _IndexedPages:
    """The whole index as it lies in the folder."""

    entries: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Digest and entry of each output file that is still as it was indexed."""
    gone: dict[str, str] = field(default_factory=dict[str, str])
    """Entries that no longer count, by output file; their texts are removed, but their words are still in the index."""
    words: set[str] = field(default_factory=set[str])
    """Words of these entries that must be on a changed page, because no other page is known to have them."""


def write_search(folder: OutputFolder, outputs: Collection[str], stored: object) -> dict[str, object]:
    """Write the search index of published pages, or leave it if no page has changed.

    Args:
        folder: The folder, in which the pages lie already.
        outputs: The output files of the pages.
        stored: What this function returned for the last publication; any other value makes the whole index anew.

    Returns:
        What is to be stored for the next publication.

    Raises:
        UnavailableError: Pagefind failed.
    """
    digests = {output: folder.digest(output) for output in outputs}
    whole = _stored_index(stored)
    if not (_without_changed(folder, whole, digests) and _write_changed(folder, whole, digests)):
        whole = _IndexedPages(dict(_write_whole(folder, digests)))
        _write_changes(folder, {}, {})
    pages = {output: list(values) for output, values in whole.entries.items()}
    return {"form": FORM, "pages": pages, "gone": whole.gone, "words": sorted(whole.words)}


def _stored_index(stored: object) -> _IndexedPages:
    values = mapping_of(cast("Json", stored))
    if values.get("form") != FORM:
        return _IndexedPages()
    gone = mapping_of(values.get("gone")).items()
    whole = _IndexedPages(gone={output: text_of(entry) for output, entry in gone})
    whole.words = {*map(text_of, list_of(values.get("words")))}
    for output, entry in mapping_of(values.get("pages")).items():
        digest, name = (*map(text_of, list_of(entry)), "", "")[:2]
        whole.entries[output] = (digest, name)
    return whole


def _without_changed(folder: OutputFolder, whole: _IndexedPages, digests: Mapping[str, str]) -> bool:
    """Take the pages that have changed since out of the whole index. Returns whether it can still be used."""
    for output in [output for output, (digest, _) in whole.entries.items() if digests.get(output) != digest]:
        entry = whole.entries.pop(output)[1]
        words = _words_of(folder, _file_of(entry))
        if words is None:
            return False
        whole.gone[output] = entry
        whole.words |= words
    changed = len(digests) - len(whole.entries)
    if not whole.entries or max(changed, len(whole.gone)) * CHANGED_SHARE > len(digests):
        return False
    gone = {_file_of(entry) for entry in whole.gone.values()}
    return folder.keeps(*(name for name in _of_whole(folder) if name not in gone))


def _file_of(entry: str) -> str:
    """The file of an entry of the whole index."""
    return f"{SEARCH}/{_FRAGMENTS}{entry}{_FRAGMENT_SUFFIX}"


def _of_whole(folder: OutputFolder) -> Iterator[str]:
    """The files of the whole index that the last publication left."""
    return (name for name in folder.earlier if name.startswith(f"{SEARCH}/") and not name.startswith(CHANGES))


def _write_changed(folder: OutputFolder, whole: _IndexedPages, digests: Mapping[str, str]) -> bool:
    """Write the index of changed pages. Returns whether each word that is in an index is on a published page."""
    changed = {output: digest for output, digest in digests.items() if output not in whole.entries}
    _write_changes(folder, changed, whole.gone)
    on_changed: set[str] = set()
    for name in folder.names(f"{CHANGES}/{_FRAGMENTS}"):
        on_changed |= _words_of(folder, name) or set()
    missing, whole.words = whole.words - on_changed, whole.words & on_changed
    for _, entry in whole.entries.values():
        if not missing:
            break
        missing -= _words_of(folder, _file_of(entry)) or set()
    return not missing


def _words_of(folder: OutputFolder, name: str) -> set[str] | None:
    """The words of an entry of an index; None if it cannot be read."""
    try:
        entry = _entry((folder.path / name).read_bytes())
    except (OSError, EOFError, zlib.error, ValueError):
        return None
    shown = [entry.get(key) for key in ("content", "meta", "filters")]
    shown += [mapping_of(anchor).get("text") for anchor in list_of(entry.get("anchors"))]
    return set(_WORD.findall(json.dumps(shown, ensure_ascii=False).casefold()))


def _entry(content: bytes) -> Mapping[str, Json]:
    """The values of an entry: `url`, `content`, `meta`, `filters`, `anchors`, and numbers.

    Raises:
        OSError, EOFError, zlib.error, ValueError: it is no entry.
    """
    return mapping_of(json.loads(gzip.decompress(content).removeprefix(_FRAGMENT_MARK)))


def _write_whole(folder: OutputFolder, digests: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Write the index of all pages. Yields the digest and the entry of each output file."""
    folder.forget(f"{SEARCH}/")
    folder.sweep(besides=f"{SEARCH}/")  # what is indexed is what lies there
    is_spaced = any(_SPACELESS.search(_text_of(folder, output)) for output in digests)
    for name, content in _index_of(folder, digests) if is_spaced else _index_files(folder.path):
        folder.put(f"{SEARCH}/{name}", content)
        if name.startswith(_FRAGMENTS):
            output = text_of(_entry(content).get("url")).lstrip("/")
            if output in digests:
                yield output, (digests[output], Path(name).stem)


def _write_changes(folder: OutputFolder, changed: Mapping[str, str], gone: Mapping[str, str]) -> None:
    """Write the index of changed pages, unless the last publication wrote the same one."""
    version = blake2b("\n".join(f"{output} {digest}" for output, digest in changed.items()).encode(), digest_size=8)
    listed = {"index": version.hexdigest() if changed else "", "gone": gone}
    content = json.dumps(listed, separators=(",", ":")).encode()
    is_same = folder.earlier.get(CHANGES_LIST) == content_digest(content)
    folder.put(CHANGES_LIST, content)
    old = [name for name in folder.earlier if name.startswith(f"{CHANGES}/")]
    if not changed or (is_same and old and folder.keeps(*old)):
        return
    for name, file_content in _index_of(folder, changed):
        folder.put(f"{CHANGES}/{name}", file_content)


def _index_of(folder: OutputFolder, outputs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """The files of an index of some pages alone."""
    with TemporaryDirectory() as place:
        for output in outputs:
            copy = Path(place) / output
            copy.parent.mkdir(parents=True, exist_ok=True)
            text = _text_of(folder, output)
            if _SPACELESS.search(text):
                text = _SHOWN_TEXT.sub(_with_ends, text)
            copy.write_text(text, encoding="utf-8", newline="")
        yield from _index_files(Path(place))


def _with_ends(text: re.Match[str]) -> str:
    """A text of a page in which each character of a script without blanks is ended, also beside a tag."""
    return _CHARACTER_END.sub(CHARACTER_END, _RUN_AFTER_TAG.sub("> ", text[0]))


def _text_of(folder: OutputFolder, output: str) -> str:
    return (folder.path / output).read_bytes().decode("utf-8", "replace")


def _index_files(site: Path) -> Iterator[tuple[str, bytes]]:
    """The files of an index of the pages in a folder, by name, as Pagefind writes them."""
    with TemporaryDirectory() as place:
        command = [
            str(import_module("pagefind.service").get_executable()),
            "--site",
            str(site),
            "--output-path",
            place,
            "-k",
        ]
        command += ["--include-characters", "_+#@", "--exclude-selectors", ".anchor", "--silent"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - paths, and no shell
        if done.returncode:
            raise UnavailableError(
                f"The search index was not written: {done.stderr.strip()[-MAX_MESSAGE:]}",
                kind="search",
                hint="Try --no-search.",
            )
        for file in sorted(Path(place).rglob("*")):
            if file.is_file() and not file.name.startswith(_UNUSED):
                yield file.relative_to(place).as_posix(), _in_order(file)


def _in_order(file: Path) -> bytes:
    """The bytes of a file of the search index; the languages and letters of the index are put in order."""
    content = file.read_bytes()
    if file.name != "pagefind-entry.json":
        return content
    entry: dict[str, Any] = json.loads(content)
    entry["include_characters"] = sorted(entry.get("include_characters", ()))
    return json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()
