"""A docs tree: the mapping from folders to URLs by its generator, and the candidate paths of links."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from commonplace.domain.addresses import Address, fold, is_document_path
from commonplace.domain.json import Json
from commonplace.domain.markdown.paths import INDEX_NAMES, joined

_DATE = re.compile(r"(?<![^/])(\d{4})-(\d{2})-(\d{2})[-_/](?=.)")
_NUMBER = re.compile(r"\A\d+\s*[-_.]+\s*(?=[^\d\s])")


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder whose files a site publishes under a URL."""

    url: str
    """The URL's path without the leading slash: "" for the site's root, otherwise with a final slash (`docs/`)."""
    folder: str
    """Path of the folder from the collection's root; "" for the root itself."""


@dataclass(frozen=True, slots=True)
class SiteTree:
    """A docs tree that was recognised by its configuration file, or declared in the settings."""

    generator: str
    config: str
    """Path of the configuration file; "" for a declared tree."""
    folder: str
    """The folder of the configuration file, to which `@site/` leads."""
    mounts: tuple[Mount, ...]
    """Mounts in the order in which they are tried."""
    base: str = ""
    """The path under which the site is published, as in `Mount.url`; links may contain or omit it."""
    pages_are_folders: bool = False
    """Whether `guide/a.md` is published as `guide/a/`, so that its relative URLs begin there."""
    numbered: bool = False
    """Whether URLs omit ordering numbers and dates before names."""
    translated: tuple[tuple[str, str], ...] = ()
    """Pairs of a folder with translations and the folder of the originals."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Docs trees and unread files around the documents of a collection."""

    sites: tuple[SiteTree, ...]
    left_out: Mapping[str, int]
    """Number of text files that are not documents, by suffix, most frequent first."""


def under(path: str, folder: str) -> bool:
    """Whether a path is in a folder, at any depth, or is that folder."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def site_of(sites: Sequence[SiteTree], address: Address) -> SiteTree | None:
    """The innermost site of a document; None if it is not in a site."""
    best, length = None, -1
    for site in sites:
        for folder in (site.folder, *(mount.folder for mount in site.mounts), *(one for one, _ in site.translated)):
            if len(folder) > length and under(address.path, folder):
                best, length = site, len(folder)
    return best


def places(site: SiteTree, path: str, source: Address) -> Iterator[str]:
    """The candidate paths, from the collection's root, of a link in a site's document, in order.

    Args:
        site: The site of the document.
        path: The target with `/` as separator, without fragment and query.
        source: The document.
    """
    if path.startswith("@site/"):
        yield _joined(site.folder, path.removeprefix("@site/"))
    elif path.startswith("/"):
        for mount, rest in mounted(site, path):
            place = _joined(mount.folder, rest).rstrip("/")
            yield from _translations(site, place, source)
            yield place
    else:
        yield from _relative_places(site, path, source)


def mounted(site: SiteTree, path: str) -> Iterator[tuple[Mount, str]]:
    """The mounts that can contain an absolute URL path, each with the rest of the path; longest URL first."""
    urls = [path.lstrip("/")]
    if site.base and urls[0].startswith(site.base):
        urls.append(urls[0].removeprefix(site.base))
    for url in urls:
        for mount in sorted(site.mounts, key=lambda one: -len(one.url)):
            if url.startswith(mount.url) or url == mount.url.rstrip("/"):
                yield mount, url.removeprefix(mount.url) if url != mount.url.rstrip("/") else ""


def published_paths(mount: Mount, address: Address, names: Sequence[str]) -> Iterator[str]:
    """The URL paths below a mount under which a document can be published, folded, without numbers and suffix.

    Args:
        mount: The mount; the result is empty for a document outside of its folder.
        address: The document.
        names: The document's `id` in the frontmatter, if any, its slug and other aliases.
    """
    if not under(address.path, mount.folder):
        return
    inside = address.id[len(mount.folder) :].lstrip("/")
    path = without_numbers(inside)
    folder = path.rpartition("/")[0]
    yield fold(path)
    if address.name in INDEX_NAMES or path.rpartition("/")[2] == folder.rpartition("/")[2]:
        yield fold(folder)
    for name in names:
        yield fold((name if name.startswith("/") else f"{folder}/{name}").strip("/"))


def without_numbers(path: str) -> str:
    """A path with its dates as folders and without the ordering numbers of its parts: `01-a/2-b` as `a/b`."""
    return "/".join(_NUMBER.sub("", part, count=1) for part in _DATE.sub(r"\1/\2/\3/", path, count=1).split("/"))


def name_without_number(name: str) -> str:
    """A file name without the ordering number or date in front of it."""
    return _NUMBER.sub("", _DATE.sub("", name, count=1), count=1)


def as_json(site: SiteTree) -> Json:
    """The JSON form, which is stored and shown by `commonplace status --json`."""
    return asdict(site)


def from_json(stored: dict[str, object]) -> SiteTree:
    """Parse the result of `as_json`, after a round trip through JSON."""
    mounts = tuple(Mount(**mount) for mount in stored.pop("mounts"))  # type: ignore[arg-type]
    translated = tuple((one, other) for one, other in stored.pop("translated"))  # type: ignore[misc]
    return SiteTree(mounts=mounts, translated=translated, **stored)  # type: ignore[arg-type]


def _relative_places(site: SiteTree, path: str, source: Address) -> Iterator[str]:
    if site.pages_are_folders and not is_document_path(path):
        own = source.folder if source.name in INDEX_NAMES else source.id
        place = joined(own, path)
        if place is not None:
            yield place.rstrip("/")
    place = joined(source.folder, path)
    for folder, original in site.translated:
        # A page without a translation is published as the original.
        if place is not None and under(place, folder) and under(source.path, folder):
            yield place
            yield _joined(original, place[len(folder) :])


def _translations(site: SiteTree, place: str, source: Address) -> Iterator[str]:
    """The translation of a place in the language of the source, if the site has one."""
    for folder, original in site.translated:
        if under(source.path, folder) and under(place, original):
            yield _joined(folder, place[len(original) :])


def _joined(folder: str, path: str) -> str:
    return joined(folder, path) or ""
