"""Addresses of new and renamed pages, from a path or from a name without folder and suffix.

A path contains a slash or has the suffix of a document. Any other text is a name: the name of a new page must not be
that of another page or of a folder, and a page that gets a new name remains in its folder.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from datetime import date, datetime

from commonplace.domain.addresses import Address, fold, is_document_path, parse_document_address, portable_name
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from commonplace.domain.graphs import Graph, written_day
from commonplace.domain.links import link_key
from commonplace.domain.markdown.paths import ends_path
from commonplace.domain.markdown.wikitext import TIDDLER_SUFFIX
from commonplace.domain.query import Filter, ListQuery
from commonplace.domain.sites import SiteTree
from commonplace.services.collections import Collection, as_stored, is_other_file
from commonplace.services.writes.daily_notes import FOAM, FOAM_FOLDER, declared_daily_note

TEMPLATE_FOLDERS = ("templates", "Templates", "_templates")
"""Folders that are searched for templates of new pages, in this order."""
DAILY_FOLDER = "daily"
"""Folder of daily pages if there is none yet."""
DAILY = "daily"
"""Name of the template for daily pages."""
_FIELD = re.compile(r"\{\{\s*(title|date|time)\s*\}\}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
MAX_NAMED_PAGES = 3
"""Maximum number of pages of the same name that an error names."""


def new_page_address(collection: Collection, reference: str) -> Address:
    """The address of a page that may be new.

    Raises:
        InvalidInputError: the reference is not the path of a page, is the path of a folder without a suffix, or is the
            path of another file.
        AlreadyExistsError: the reference is a name that other pages have; context holds `nearest`, their paths.
    """
    in_graph = _path_in_graph(collection, reference)
    name, reference = reference, in_graph or reference
    address = as_stored(collection.index, parse_document_address(reference))
    if is_other_file(collection.index, reference):
        raise InvalidInputError(
            f"{reference} is a file and no page.",
            kind="path",
            hint=f"Give {address.path!r} for a page of this name beside it.",
        )
    if collection.store.stat(address) is not None:
        return address
    is_tiddler = in_graph.endswith(TIDDLER_SUFFIX)
    if is_tiddler or not is_document_path(reference):
        if not is_tiddler:
            _require_no_folder(collection, address)
        others = [] if "/" in reference and not is_tiddler else _called(collection, name)
        if others:
            raise AlreadyExistsError(
                f"There is a page of this name: {', '.join(others[:MAX_NAMED_PAGES])}.",
                kind="document",
                hint=f"Give its path if it is meant, or {address.path!r} for a new page at the top.",
                reference=others[0],
                nearest=others[:MAX_NAMED_PAGES],
            )
    return address


def title_and_name(collection: Collection, reference: str) -> tuple[str, str]:
    """The title of a new page, and its reference with a file name that every system allows.

    A path with the suffix of a page stays as it is, and its title is "": that of the file. The name of a page of Logseq
    or TiddlyWiki is its title, and stays as it is: the name of its file encodes what not every system allows.
    """
    if is_document_path(reference):
        return "", reference
    if _path_in_graph(collection, reference):
        return reference, reference
    folder, slash, title = reference.rpartition("/")
    return title, f"{folder}{slash}{portable_name(title) or title}"


def moved_address(collection: Collection, old: Address, to: str) -> Address:
    """The new address of a page.

    Args:
        collection: Collection of the page.
        old: The current address.
        to: A path; a folder with a trailing slash, to which the page is moved; or a new name in the same folder.

    Raises:
        InvalidInputError: `to` is not the path of a page, or is the path of a folder without the slash.
    """
    path = to.strip().removeprefix("./")
    if path in {"", ".", "/"} and to.strip():
        return Address(old.name)
    if path.endswith("/"):
        return parse_document_address(f"{path}{old.name}")
    if is_document_path(path):
        return parse_document_address(path)
    suffix = old.path[len(old.id) :]
    in_graph = _path_in_graph(collection, path)
    if in_graph and not in_graph.endswith(TIDDLER_SUFFIX):
        return parse_document_address(f"{in_graph.removesuffix('.md')}{suffix}")
    within = f"{old.folder}/{path}" if old.folder and "/" not in to else path
    address = parse_document_address(f"{within}{suffix}")
    if address == old and within != path:
        raise InvalidInputError(
            f"{path!r} is the page's name already: a name keeps the page in {old.folder}/.",
            kind="path",
            hint=f"Give './{path}' to move it to the top.",
        )
    for folder in {address.id, parse_document_address(path).id}:
        if folder != old.id:
            _require_no_folder(collection, Address(f"{folder}.md"), f"{folder}/")
    return address


def _path_in_graph(collection: Collection, name: str) -> str:
    """The path that Logseq or TiddlyWiki gives the page of a name; "" for a path, and elsewhere.

    For `a/b` these are `pages/a___b.md` and `tiddlers/a%2Fb.tid`.
    """
    if is_document_path(name) or name.startswith((".", "/")) or name.endswith("/"):
        return ""
    graphs = [(site, graph) for site, graph in _graphs(collection) if graph.has_own_files]
    if len(graphs) != 1 or ("/" in name and has_folder(collection, name.partition("/")[0])):
        return ""
    site, graph = graphs[0]
    suffix = TIDDLER_SUFFIX if graph.names == "title" else ".md"
    return f"{site.folder}/{graph.path_of(name)}{suffix}".lstrip("/")


def _graphs(collection: Collection) -> list[tuple[SiteTree, Graph]]:
    return [(site, site.graph) for site in collection.index.lookup().sites if site.graph]


def daily_folder(collection: Collection) -> str:
    """The folder with most pages that are named by a date; without one that of Foam, or `DAILY_FOLDER`."""
    folders = Counter(address.folder for address in collection.index.revisions() if _DAY.fullmatch(address.stem))
    is_foam = any(site.generator == FOAM for site in collection.index.lookup().sites)
    default = FOAM_FOLDER if is_foam else DAILY_FOLDER
    return max(folders, key=lambda folder: (folders[folder], folder)) if folders else default


def daily_address(collection: Collection, day: date) -> Address:
    """The address of the page of a day: as the settings in the collection say, else where most pages of a day are."""
    for site in collection.index.lookup().sites:
        if site.graph and site.graph.slashes:
            folder = f"{site.folder}/{site.graph.journals}".lstrip("/")
            return parse_document_address(f"{folder}/{written_day(day, site.graph.journal_file)}")
    declared = declared_daily_note(collection, day)
    if declared and declared.address:
        return as_stored(collection.index, declared.address)
    folder = daily_folder(collection)
    return parse_document_address(f"{folder}/{day:%Y-%m-%d}" if folder else f"{day:%Y-%m-%d}")


def template_names(collection: Collection) -> list[str]:
    """The names of the templates for new pages."""
    return sorted({address.stem for address in collection.index.revisions() if address.folder in TEMPLATE_FOLDERS})


def new_page_text(collection: Collection, title: str, now: datetime, template: str = "", *, daily: bool = False) -> str:
    """The text of a new page from a template; without one a heading.

    A daily page has its own template if there is one, first that of Foam, Obsidian or TiddlyWiki. Without a template,
    the page of a day in Logseq and a tiddler, which shows its title, have no text.

    Raises:
        NotFoundError: kind "template": there is no such template; context holds `nearest`, the names of all.
    """
    if daily and not template and (declared := declared_daily_note(collection, now)) and declared.text:
        return declared.text
    content = _template(collection, template or (DAILY if daily else ""))
    if content is not None:
        values = {"title": title, "date": f"{now:%Y-%m-%d}", "time": f"{now:%H:%M}"}
        return _FIELD.sub(lambda match: values[match[1]], content)
    if template:
        raise _no_template(collection, template)
    return "" if _begins_without_heading(collection, daily=daily) else f"# {title}\n\n"


def _no_template(collection: Collection, name: str) -> NotFoundError:
    names = template_names(collection)
    hint = f"Templates: {', '.join(names)}." if names else "Templates are pages in the folder templates/."
    return NotFoundError(f"There is no template {name!r}.", kind="template", hint=hint, nearest=names)


def _template(collection: Collection, name: str) -> str | None:
    """The text of a template; None if there is none of this name."""
    for folder in TEMPLATE_FOLDERS if name else ():
        with suppress(NotFoundError):
            return collection.store.read(parse_document_address(f"{folder}/{name}")).decode("utf-8", "replace")
    return None


def _begins_without_heading(collection: Collection, *, daily: bool) -> bool:
    graphs = [graph for _, graph in _graphs(collection)]
    return any((daily and graph.slashes) or graph.names == "title" for graph in graphs)


def has_folder(collection: Collection, path: str) -> bool:
    """Whether there are pages below a folder's path."""
    prefix = f"{path.strip('/')}/"
    return bool(collection.index.list(ListQuery(filter=Filter(prefix=prefix), limit=1)).total)


def _require_no_folder(collection: Collection, address: Address, into: str = "") -> None:
    folder = address.id
    if has_folder(collection, folder):
        inside = into or f"{folder}/NAME"
        raise InvalidInputError(
            f"{folder!r} is a folder.",
            kind="path",
            hint=f"Give {inside!r} to put the page into it, or {address.path!r} for a page beside it.",
        )


def _called(collection: Collection, name: str) -> list[str]:
    """The paths of the pages with a name: by the ends of their paths, otherwise by title, alias or id."""
    bare = fold(name)
    named = collection.index.lookup().named(link_key(name))
    ends = sorted(document.address.path for document in named if ends_path(bare, document.address, fold))
    if ends:
        return ends
    return sorted(
        document.address.path
        for document in named
        if bare in {fold(document.id), fold(document.title), *map(fold, document.aliases)}
    )
