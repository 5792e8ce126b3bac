"""The page of a day as the settings of Foam, Obsidian or TiddlyWiki want it: its path, and its text from a template.

Foam: `daily-note-service.ts`, `variable-resolver.ts` and `note-creation-engine.ts` in
https://github.com/foambubble/foam/tree/9f56a235/packages. Obsidian: https://help.obsidian.md/plugins/daily-notes and
https://help.obsidian.md/plugins/templates. TiddlyWiki: `core/language/en-GB/NewJournal.multids` and `formatDateString`
in `core/modules/utils/utils.js` of https://github.com/TiddlyWiki/TiddlyWiki5/tree/0606f71d. Scripts of Foam
(`daily-note.js`) are not run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import cast

from commonplace.domain.activity import moment_of_write
from commonplace.domain.addresses import Address, is_document_path, parse_address
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.graphs import Graph, written_day
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.markdown.wikitext import MARKDOWN_TYPE, TIDDLER_SUFFIX, WIKITEXT_TYPE
from commonplace.domain.site_recognition import MAX_CONFIG_BYTES
from commonplace.services.collections import Collection

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


_FIELD = re.compile(r"\{\{\s*(title|date|time)\s*(?::([^{}]*))?\}\}")
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

    return DailyNote(address, _FIELD.sub(value, text))


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
