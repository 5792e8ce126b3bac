"""Operations on link paths: join with a folder, complete to a file, make relative."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from commonplace.domain.addresses import MARKDOWN_SUFFIXES, Address, document_suffixes, fold, is_document_path

_INDEX_FILES = frozenset({"index.md", "index.html", "index.htm"})
"""Names of the file that a generator makes of a folder's page, whatever that page is called."""
INDEX_NAMES = ("index.md", "README.md", "readme.md", "Readme.md", "_index.md", "index.mdx")
"""Documents that represent their folder, in the order in which they are tried."""

HTML_SUFFIXES = (".html", ".htm")
"""Suffixes of rendered pages; links of published trees use them."""


def slashed(target: str) -> str:
    """The target with backslashes (the separator of Windows) replaced by `/`."""
    return target.replace("\\", "/")


def is_fixed(path: str) -> bool:
    """Whether a path states its base: `/a`, `./a`, `../a`."""
    return path.startswith(("/", "./", "../")) or path in {".", ".."}


def joined(folder: str, path: str) -> str | None:
    """The path from the root without `.` and `..`; a final `/` is preserved. None if it leads above the root."""
    parts = folder.split("/") if folder else []
    for part in path.lstrip("/").split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts) + ("/" if parts and path.endswith(("/", "/.", "/..")) else "")


def place_files(place: str | None) -> Iterator[str]:
    """The files that a path from the root can mean, in order of precedence; none if the path is None."""
    if place is None:
        return
    folder = place.rstrip("/")
    if folder and folder == place:
        yield from _own_files(place)
        above, _, own = place.rpartition("/")
        if own in _INDEX_FILES:
            folder = above
        elif is_document_path(place):
            return
    for name in INDEX_NAMES:
        yield f"{folder}/{name}" if folder else name


def _own_files(place: str) -> Iterator[str]:
    yield place
    if is_document_path(place):
        return
    for suffix in document_suffixes():
        yield place + suffix
    for suffix in HTML_SUFFIXES:
        if place.endswith(suffix):
            yield place.removesuffix(suffix) + MARKDOWN_SUFFIXES[0]


def leads_to(place: str | None, address: Address) -> bool:
    """Whether a path from the root can mean an address."""
    return fold(address.path) in map(fold, place_files(place))


def ends_path(bare: str, address: Address, form: Callable[[str], str]) -> bool:
    """Whether a document's path without suffix, or the path of the folder that it represents, ends with `bare`."""
    folder = address.folder if address.name in INDEX_NAMES else ""
    return f"/{form(address.id)}".endswith(f"/{bare}") or bool(folder and f"/{form(folder)}".endswith(f"/{bare}"))


def relative_path(path: str, folder: str) -> str:
    """The path relative to a folder, with `../` if needed; "." for the folder itself."""
    target, here = path.split("/") if path else [], folder.split("/") if folder else []
    common = 0
    while common < min(len(target), len(here)) and target[common] == here[common]:
        common += 1
    return "/".join([".."] * (len(here) - common) + target[common:]) or "."


def without_suffix(path: str) -> str:
    """The path without the suffix of a document, `.html` or `.htm`."""
    if path.endswith(MARKDOWN_SUFFIXES[0]):
        return path[: -len(MARKDOWN_SUFFIXES[0])]
    lowered, suffixes = path.lower(), (*document_suffixes(), *HTML_SUFFIXES)
    if not lowered.endswith(suffixes):
        return path
    return path[: -next(len(suffix) for suffix in suffixes if lowered.endswith(suffix))]
