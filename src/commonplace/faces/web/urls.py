"""The URLs of pages, folders and files. They are stable and the same for every reader."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode

from commonplace.domain.addresses import Address, address_or_none
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.query import Filter, ListQuery
from commonplace.services.collections import Collection, Collections

COLLECTION_MARK = "@"
"""Marks a collection's name at the start of a path, as in `/p/@notes/plans`."""
_SUFFIX = ".md"


@dataclass(frozen=True, slots=True)
class Urls:
    """Creates URLs of this server.

    Paths in the first served collection have no prefix; paths in other collections begin with `@name/`.
    """

    first: str
    """Name of the first served collection, even if the reader may not see it."""
    at: str = ""
    """The moment at which documents and files are shown, as typed; "" for the present."""

    def page(self, collection: str, path: str, element: str = "") -> str:
        """The URL of a document by its path in a collection, or of the element with this `id` in it."""
        bare = path.removesuffix(_SUFFIX) or path
        return f"/p/{self.path(collection, bare)}{_query({'at': self.at})}{element_fragment(element)}"

    def view(self, name: str, collection: str, path: str, **query: str) -> str:
        """The URL of another view of a document or folder, such as `history`. URLs of folders include the moment."""
        bare = path.removesuffix(_SUFFIX) or path
        query = {"at": self.at, **query} if name == "tree" else query
        return f"/{name}/{self.path(collection, bare)}{_query(query)}"

    def file(self, collection: str, path: str) -> str:
        """The URL of a file's bytes."""
        return f"/files/{self.path(collection, path)}{_query({'at': self.at})}"

    def path(self, collection: str, path: str) -> str:
        """A path in a collection, percent-encoded, with the collection's prefix if needed."""
        named = collection != self.first or path.startswith(COLLECTION_MARK)
        return quote(f"{COLLECTION_MARK}{collection}/{path}" if named else path, safe="/@,;:+ ~".replace(" ", ""))


def split_path(path: str, collections: Collections, first: str) -> tuple[Collection | None, str]:
    """The collection and path that a URL's path names. The collection is None if the reader may not see it.

    Names of folders and pages of the first collection can begin with the mark, too. A collection takes precedence.
    """
    visible = {collection.name: collection for collection in collections}
    if not path.startswith(COLLECTION_MARK):
        return visible.get(first), path
    beginning, _, rest = path.partition("/")
    collection, own = collections.named(beginning.removeprefix(COLLECTION_MARK)), visible.get(first)
    if collection is None and own is not None and _holds(own, beginning):
        return own, path
    return collection, rest


def _holds(collection: Collection, beginning: str) -> bool:
    """Whether the path of a page begins with a text."""
    return bool(collection.index.list(ListQuery(filter=Filter(prefix=beginning), limit=1)).total)


def with_query(path: str, **query: str) -> str:
    """A URL with the non-empty query parameters."""
    return f"{path}{_query(query)}"


def possible_addresses(path: str) -> list[Address]:
    """The possible addresses of the document at a page's path: with the suffix that URLs omit, and as written."""
    found_pair = (address_or_none(f"{path}{_SUFFIX}"), address_or_none(path))
    return [address for address in found_pair if address is not None and address.is_document]


def first_name(collections: Collections) -> str:
    """Name of the first served collection; "" if there is none or it cannot be opened."""
    try:
        return next((collection.name for collection in collections), "")
    except KnowledgeError:
        return ""


def element_fragment(element: str) -> str:
    """The fragment of a URL for the element with this `id`; "" for none."""
    return f"#{quote(element, safe='^')}" if element else ""


def _query(query: dict[str, str]) -> str:
    given_values = {name: value for name, value in query.items() if value}
    return f"?{urlencode(given_values)}" if given_values else ""
