"""Addresses of new and renamed pages, from a path or from a name without folder and suffix.

A path contains a slash or has the suffix of a document. Any other text is a name: the name of a new page must not be
that of another page or of a folder, and a page that gets a new name remains in its folder.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import cast

from commonplace.domain.activity import moment_of_write
from commonplace.domain.addresses import (
    Address,
    fold,
    is_document_path,
    parse_address,
    parse_document_address,
    portable_name,
)
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.graphs import Graph, written_day
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.links import link_key
from commonplace.domain.markdown.paths import ends_path
from commonplace.domain.markdown.wikitext import MARKDOWN_TYPE, TIDDLER_SUFFIX, WIKITEXT_TYPE
from commonplace.domain.query import Filter, ListQuery
from commonplace.domain.site_recognition import MAX_CONFIG_BYTES
from commonplace.domain.sites import SiteTree
from commonplace.services.collections import Collection, as_stored, is_other_file

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


# The page of a day as the settings of Foam, Obsidian or TiddlyWiki want it: its path, and its text from a template.
#
# Foam: `daily-note-service.ts`, `variable-resolver.ts` and `note-creation-engine.ts` in
# https://github.com/foambubble/foam/tree/9f56a235/packages. Obsidian: https://help.obsidian.md/plugins/daily-notes and
# https://help.obsidian.md/plugins/templates. TiddlyWiki: `core/language/en-GB/NewJournal.multids` and
# `formatDateString` in
# `core/modules/utils/utils.js` of https://github.com/TiddlyWiki/TiddlyWiki5/tree/0606f71d. Scripts of Foam
# (`daily-note.js`) are not run.


FOAM = "Foam"
"""The recognised generator of a folder of Foam."""
FOAM_SETTINGS = ".vscode/settings.json"
FOAM_TEMPLATE = ".foam/templates/daily-note.md"
FOAM_FOLDER = "journals"
"""Foam's folder of daily notes if nothing else is said."""
OBSIDIAN_SETTINGS = ".obsidian/daily-notes.json"


@dataclass(frozen=True, slots=True)
class DailyNote:
    """The page of a day, as the settings of a program have it."""

    address: Address | None
    """Address of the page; None if nothing is said, or nothing that is a path of a page."""
    text: str
    """Text of the page; "" if there is no template."""


def declared_daily_note(collection: Collection, day: date) -> DailyNote | None:
    """The page of a day as the settings in a collection want it; None without such settings.

    Args:
        collection: The collection.
        day: The day; a moment also gives the time.
    """
    moment = day if isinstance(day, datetime) else datetime.combine(day, time())
    for site in collection.index.lookup().sites:
        if site.generator == FOAM:
            return _of_foam(collection, site.folder, moment)
        if site.graph and site.graph.names == "title":
            return _of_tiddlywiki(collection, site.folder, site.graph, moment)
    settings = _settings(collection, OBSIDIAN_SETTINGS)
    return _of_obsidian(collection, settings, moment) if settings is not None else None


# Foam.


_NAMED_FORMS = {
    "default": "ddd MMM DD YYYY HH:mm:ss", "isoDate": "YYYY-MM-DD", "shortDate": "M/D/YY",
    "paddedShortDate": "MM/DD/YYYY", "mediumDate": "MMM D, YYYY", "longDate": "MMMM D, YYYY",
    "fullDate": "dddd, MMMM D, YYYY",
}  # fmt: skip
_FOAM_TOKEN = re.compile(r"yyyy|yy|mmmm|mmm|mm|m|dddd|ddd|dd|d|WW|W")
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::([^{}]*))?\}|(\w+))")
"""A variable or a tab stop of a snippet: `$NAME`, `${NAME}`, `${NAME:value if it is not known}`, `${1:text}`."""
_UNFIT = re.compile(r'[<>?*"|]')


def _of_foam(collection: Collection, folder: str, moment: datetime) -> DailyNote | None:
    settings = _settings(collection, _below(folder, FOAM_SETTINGS)) or {}

    def setting(name: str) -> str:
        value = settings.get(f"foam.openDailyNote.{name}")
        return value.strip() if isinstance(value, str) else ""

    form = _moment_form(setting("filenameFormat") or "isoDate")
    name = f"{written_moment(moment, form)}.{setting('fileExtension').lstrip('.') or 'md'}"
    place = _below(_below(folder, setting("directory").strip("/")), name) if settings.keys() & _DAILY_KEYS else ""
    template = _text(collection, Address(_below(folder, FOAM_TEMPLATE)))
    if not template:
        title = written_moment(moment, _moment_form(setting("titleFormat") or setting("filenameFormat") or "isoDate"))
        return DailyNote(_address(place), f"# {title}\n") if place else None
    path, text = _of_template(_with_variables(template, moment))
    return DailyNote(_address(_below(folder, path.lstrip("/")) if path else place), text)


_DAILY_KEYS = {f"foam.openDailyNote.{name}" for name in ("directory", "filenameFormat", "fileExtension")}


def _moment_form(form: str) -> str:
    """A form of the library dateformat, or its name, as one of Moment."""
    return _NAMED_FORMS.get(form) or _FOAM_TOKEN.sub(
        lambda match: match[0] if match[0] in {"dddd", "ddd"} else match[0].upper(), form
    )


def _of_template(text: str) -> tuple[str, str]:
    """The path in `foam_template` of a template's front matter, and the text without this key."""
    document = read_document(Address("template.md"), text.encode())
    own = document.frontmatter.values.get("foam_template")
    if not isinstance(own, Mapping):
        return "", text
    path = cast("Mapping[str, Json]", own).get("filepath")
    if len(document.frontmatter.values) == 1:
        text = document.body.lstrip("\n")
    else:
        text = set_fields(document, {"foam_template": None}).decode()
    return _UNFIT.sub("-", path.strip()) if isinstance(path, str) else "", text


def _with_variables(text: str, moment: datetime) -> str:
    """A snippet with the values of its variables. Tab stops become their texts; unknown variables remain."""
    values = {
        "FOAM_TITLE": "YYYY-MM-DD", "FOAM_TITLE_SAFE": "YYYY-MM-DD", "FOAM_SLUG": "YYYY-MM-DD",
        "FOAM_DATE_YEAR": "YYYY", "FOAM_DATE_YEAR_SHORT": "YY", "FOAM_DATE_MONTH": "MM",
        "FOAM_DATE_MONTH_NAME": "MMMM", "FOAM_DATE_MONTH_NAME_SHORT": "MMM", "FOAM_DATE_DATE": "DD",
        "FOAM_DATE_DAY_ISO": "E", "FOAM_DATE_DAY_NAME": "dddd", "FOAM_DATE_DAY_NAME_SHORT": "ddd",
        "FOAM_DATE_WEEK": "WW", "FOAM_DATE_WEEK_YEAR": "GGGG", "FOAM_DATE_HOUR": "HH", "FOAM_DATE_MINUTE": "mm",
        "FOAM_DATE_SECOND": "ss", "FOAM_DATE_SECONDS_UNIX": "X", "FOAM_SELECTED_TEXT": "",
    }  # fmt: skip

    def value(match: re.Match[str]) -> str:
        name, default = match[1] or match[3], match[2] or ""
        if name == "FOAM_DATE_FORMAT":
            return written_moment(moment, default or "YYYY-MM-DDTHH:mm:ss")
        if name.isdigit():
            return default
        return written_moment(moment, values[name]) if name in values else match[0]

    return _VARIABLE.sub(value, text)


# Obsidian.


_TEMPLATE_FIELD = re.compile(r"\{\{\s*(title|date|time)\s*(?::([^{}]*))?\}\}")
DEFAULT_FORM = "YYYY-MM-DD"


def _of_obsidian(collection: Collection, settings: JsonObject, moment: datetime) -> DailyNote:
    def setting(name: str) -> str:
        value = settings.get(name)
        return value.strip().strip("/") if isinstance(value, str) else ""

    name = written_moment(moment, setting("format") or DEFAULT_FORM)
    address = _address(f"{_below(setting('folder'), name)}.md")
    template = setting("template")
    text = _text(collection, _address(template if is_document_path(template) else f"{template}.md"))
    forms = {"date": DEFAULT_FORM, "time": "HH:mm"}

    def value(match: re.Match[str]) -> str:
        field = match[1]
        if field == "title":
            return name.rpartition("/")[2]
        return written_moment(moment, match[2].strip() if match[2] else forms[field])

    return DailyNote(address, _TEMPLATE_FIELD.sub(value, text))


# TiddlyWiki.


_JOURNAL = "$:/config/NewJournal/"
"""The beginning of the titles of its settings for journals."""
_MARKDOWN_PLUGIN = '"tiddlywiki/markdown"'
_TIDDLYWIKI_TOKENS = {
    "0hh12": "hh", "wYYYY": "GGGG", "hh12": "h", "DDth": "Do", "YYYY": "YYYY", "0hh": "HH", "0mm": "mm", "0ss": "ss",
    "0DD": "DD", "0MM": "MM", "0WW": "WW", "MMM": "MMMM", "mmm": "MMM", "DDD": "dddd", "ddd": "ddd", "WW": "W",
    "MM": "M", "DD": "D", "YY": "YY", "hh": "H", "mm": "m", "ss": "s", "am": "a", "pm": "a", "AM": "A", "PM": "A",
}  # fmt: skip
_TIDDLYWIKI_TOKEN = re.compile(rf"\\(.)|{'|'.join(_TIDDLYWIKI_TOKENS)}", re.DOTALL)


def _of_tiddlywiki(collection: Collection, folder: str, graph: Graph, moment: datetime) -> DailyNote:
    """The journal of a day: a tiddler with its tags. Its text is Markdown if the wiki has the plugin for it."""

    def tiddler(title: str) -> Address | None:
        record = collection.index.find(title)
        return record.address if record and record.title == title else None

    def setting(name: str, default: str) -> str:
        address = tiddler(f"{_JOURNAL}{name}")
        return read_document(address, collection.store.read(address)).body.strip() if address else default

    def written(match: re.Match[str]) -> str:
        return match[1] or written_moment(moment, _TIDDLYWIKI_TOKENS[match[0]])

    title = _TIDDLYWIKI_TOKEN.sub(written, setting("Title", "DDth MMM YYYY"))
    text = setting("Text", "")
    has_markdown = _MARKDOWN_PLUGIN in _text(collection, Address(_below(folder, "tiddlywiki.info")))
    kind = MARKDOWN_TYPE if has_markdown and not text else WIKITEXT_TYPE
    now = f"{moment_of_write():%Y%m%d%H%M%S}000"
    tags = setting("Tags", "Journal")
    fields = {"created": now, "modified": now, **({"tags": tags} if tags else {}), "title": title, "type": kind}
    head = "".join(f"{name}: {' '.join(value.split())}\n" for name, value in fields.items())
    new = _address(f"{_below(folder, graph.path_of(title))}{TIDDLER_SUFFIX}")
    return DailyNote(tiddler(title) or new, f"{head}\n{text}")


# A moment in the letters of Moment.


_TOKEN = re.compile(
    r"\[([^\[\]]*)\]|YYYY|YY|GGGG|gggg|MMMM|MMM|MM|Mo|M|DDDD|Do|DD|D|dddd|ddd|dd|E|WW|W|ww|w|HH|H|hh|h|mm|m|ss|s|A|a|Q|X"
)
_DAY_TOKENS = {
    "YYYY": "yyyy", "YY": "yy", "MMMM": "MMMM", "MMM": "MMM", "MM": "MM", "M": "M", "DD": "dd", "D": "d", "Do": "do",
    "dddd": "EEEE", "ddd": "EEE",
}  # fmt: skip


def written_moment(moment: datetime, form: str) -> str:
    """A moment in a form such as `dddd, MMMM Do YYYY [at] HH:mm`. Weeks are those of ISO 8601."""
    year, week, weekday = moment.isocalendar()
    hour = moment.hour % 12 or 12
    values = {
        "GGGG": f"{year:04}", "gggg": f"{year:04}", "WW": f"{week:02}", "W": str(week), "ww": f"{week:02}",
        "w": str(week), "E": str(weekday), "dd": written_day(moment, "EEE")[:2], "DDDD": f"{moment:%j}",
        "HH": f"{moment:%H}", "H": str(moment.hour), "hh": f"{hour:02}", "h": str(hour), "mm": f"{moment:%M}",
        "m": str(moment.minute), "ss": f"{moment:%S}", "s": str(moment.second), "A": f"{moment:%p}",
        "a": f"{moment:%p}".lower(), "Q": str((moment.month + 2) // 3), "X": f"{moment.timestamp():.0f}",
    }  # fmt: skip

    def value(match: re.Match[str]) -> str:
        token = match[0]
        if match[1] is not None:
            return match[1]
        return written_day(moment, _DAY_TOKENS[token]) if token in _DAY_TOKENS else values.get(token, token)

    return _TOKEN.sub(value, form)


# Files of the programs, which are outside text.


# What has no end goes to the end of the file, so that it is not looked for again from each place behind.
_STRING = r'"(?:\\.|[^"\\])*+(?:"|\\?\Z)'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)


def _settings(collection: Collection, path: str) -> JsonObject | None:
    """The settings in a file of JSON with comments; None without one, or if it is none."""
    text = _COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else "", _text(collection, Address(path)))
    try:
        value: Json = json.loads(_LAST_COMMA.sub(lambda match: match[1] or "", text))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(collection: Collection, address: Address | None) -> str:
    """The text of a file, hidden or not; "" if there is none or it is too large."""
    try:
        status = collection.store.stat(address) if address else None
        if address is None or status is None or status.size > MAX_CONFIG_BYTES:
            return ""
        return collection.store.read(address).decode("utf-8-sig", "replace")
    except KnowledgeError:
        return ""


def _below(folder: str, path: str) -> str:
    return f"{folder}/{path}".strip("/")


def _address(path: str) -> Address | None:
    """The address of a page that other people see; None for any other path, such as one outside of the folder."""
    try:
        address = parse_address(path.replace("\\", "/").removeprefix("./"))
    except KnowledgeError:
        return None
    is_hidden = any(part.startswith(".") for part in address.path.split("/"))
    return address if address.is_document and not is_hidden else None
