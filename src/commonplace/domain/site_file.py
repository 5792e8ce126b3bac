"""The file in which a base declares its site: title, start page, navigation, appearance, publishing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from commonplace.domain.addresses import address_or_none, parse_address
from commonplace.domain.declared_navigation import is_external
from commonplace.domain.documents import Finding
from commonplace.domain.errors import NotFoundError
from commonplace.domain.findings import finding_of, shortened
from commonplace.domain.json import Json, JsonObject, bool_of, list_of, mapping_of, text_of
from commonplace.domain.yaml_loader import load

if TYPE_CHECKING:
    from commonplace.domain.ports import Store

SITE_FILE = "commonplace.yaml"
"""File at the top of a base that declares its site."""
MAX_SITE_FILE_BYTES = 512_000
"""Maximum size of the file in bytes."""
MAX_IMAGE_BYTES = 1_000_000
"""Maximum size in bytes of a logo or an icon; `MAX_STYLE_BYTES` is that of a style sheet."""
MAX_STYLE_BYTES = 200_000
MAX_TEXT = 2_000
"""Maximum number of characters of a text."""
IMAGE_SUFFIXES = (".svg", ".png", ".jpg", ".jpeg", ".webp", ".gif", ".ico", ".avif")
HIDDEN_KEYS = frozenset(
    {
        *("cssclass", "cssclasses", "permalink", "publish", "slug", "url", "draft", "unlisted", "layout", "template"),
        *("weight", "nav_order", "nav_exclude", "nav_title", "sidebar_position", "sidebar_label", "sidebar", "parent"),
        *("grand_parent", "has_children", "pagination_prev", "pagination_next", "linkTitle", "redirect_from", "lang"),
        *(
            "hide_title",
            "hide_table_of_contents",
            "toc",
            "navigation",
            "robots",
            "noindex",
            "cover",
            "image",
            "thumbnail",
        ),
    }
)
"""Frontmatter keys that only concern publishing; pages do not show them unless `hidden_keys` is set."""
ENGLISH = "en"
"""The language of pages without a declaration."""
LANGUAGES = (ENGLISH, "de", "es", "fr", "zh", "ja")
"""Languages of the words around a page's text."""
_ACCENT = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_PUBLISH_KEYS = ("exclude", "only_marked")
_SUFFIXES = frozenset({"yaml", "yml", "yaml.txt", "yml.txt", "json", "toml"})
_WEB = re.compile(r"https?://[^\s/?#]+[^\s]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishRules:
    """The pages that `publish` writes."""

    exclude: tuple[str, ...] = ()
    """Folders and pages that are left out."""
    only_marked: bool = False
    """Whether only pages with `publish: true` are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """The declarations of a base about its site. A wrong value counts as missing and is a finding."""

    title: str = ""
    description: str = ""
    logo: str = ""
    """Path of a picture; "" for none. `favicon` is that of the icon, `style` that of a style sheet."""
    favicon: str = ""
    style: str = ""
    accent: str = ""
    """Color of links as `#rrggbb` in lower case; "" for the default."""
    footer: str = ""
    """Markdown below every page."""
    language: str = ""
    """Language of the words around the text of pages, of `LANGUAGES`; "" for English."""
    start: str = ""
    """The start page as a link names it: a path, title or alias; "" for `Home`, `index` or `README`."""
    edit_url: str = ""
    """URL where a page is edited, with `{path}` for its path; "" for none."""
    absolute_urls: tuple[tuple[str, str], ...] = ()
    """Beginnings of absolute paths that are another site's unless a page is there, each with the URL in its place."""
    url: str = ""
    """Address under which the site is published, with a final slash; "" if unknown."""
    navigation: Json = None
    """The list `navigation`, as in `mkdocs.yml`; None for none."""
    hidden_keys: frozenset[str] = HIDDEN_KEYS
    publish: PublishRules = PublishRules()
    findings: tuple[Finding, ...] = ()
    publish_findings: tuple[Finding, ...] = ()
    """Findings after which nobody knows which pages may be published."""


def declared_site(store: Store) -> SiteSettings:
    """The settings of a base. A file larger than `MAX_SITE_FILE_BYTES` is not read, which is a finding."""
    address = parse_address(SITE_FILE)
    try:
        stat = store.stat(address)
        if stat is not None and stat.size > MAX_SITE_FILE_BYTES:
            problem = f"{SITE_FILE} is larger than {MAX_SITE_FILE_BYTES:,} bytes, so it is not read. Shorten it."
            return _unread(finding_of("bad_declaration", problem))
        return read_site(store.read(address))
    except NotFoundError:
        return SiteSettings()


def read_site(raw: bytes) -> SiteSettings:
    """Parse the file of a site. Never raises."""
    try:
        loaded = load(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return _unread(finding_of("not_utf8", f"{SITE_FILE} is not in UTF-8, so it is not read. Save it in UTF-8."))
    findings = [
        finding_of(
            problem.rule, f"{SITE_FILE}, line {problem.line + 1}: {problem.message}", problem.key, problem.line + 1
        )
        for problem in loaded.problems
    ]
    if loaded.failed:
        return _unread(*findings)
    values = mapping_of(loaded.value)
    if loaded.value is not None and not isinstance(loaded.value, Mapping):
        return _unread(
            finding_of("bad_declaration", f"{SITE_FILE} must be a mapping of keys, such as `title: Handbook`.")
        )
    checked: dict[str, Json] = {}
    for key, value in values.items():
        problem = _problem(key, value)
        if problem:
            rule = "bad_declaration" if key in _CHECKS else "unknown_declaration"
            findings.append(finding_of(rule, f"{SITE_FILE}: {problem}", key))
        else:
            checked[key] = value
    return _settings(
        checked, tuple(findings), tuple(finding for finding in findings if _is_of_publish(finding, values))
    )


def is_meant_as_site_file(name: str) -> bool:
    """Whether the name of a file looks like that of the file of a site, and is not."""
    stem, _, suffix = name.lower().lstrip(".").partition(".")
    looks = suffix in _SUFFIXES and bool(get_close_matches(stem, ["commonplace"], 1, 0.8))
    return looks and name != SITE_FILE


def _unread(*findings: Finding) -> SiteSettings:
    return SiteSettings(findings=findings, publish_findings=findings)


def _is_of_publish(finding: Finding, values: JsonObject) -> bool:
    """Whether a finding is under `publish`, or under an unknown key that is meant as one about publishing."""
    keys = [finding.field] if finding.field in _CHECKS else [finding.field, *mapping_of(values.get(finding.field))]
    return any(key == "publish" or (key not in _CHECKS and _is_meant_as_publish(key)) for key in keys)


def _is_meant_as_publish(key: str) -> bool:
    return bool(get_close_matches(key.lower(), ("publish", *_PUBLISH_KEYS), 1, 0.7))


def _settings(values: JsonObject, findings: tuple[Finding, ...], publish_findings: tuple[Finding, ...]) -> SiteSettings:
    publish = mapping_of(values.get("publish"))
    accent = text_of(values.get("accent")).lower()
    hidden = values.get("hidden_keys")
    url = text_of(values.get("url"))
    return SiteSettings(
        **{name: text_of(values.get(name)).strip() for name in _TEXTS},
        accent="#" + "".join(letter * 2 for letter in accent[1:]) if len(accent) == 4 else accent,  # noqa: PLR2004
        url=f"{url.rstrip('/')}/" if url else "",
        absolute_urls=tuple(_absolute_urls(values.get("absolute_urls"))),
        navigation=values.get("navigation"),
        hidden_keys=HIDDEN_KEYS if hidden is None else frozenset(map(text_of, list_of(hidden))),
        publish=PublishRules(
            exclude=tuple(_bare(text_of(element)) for element in list_of(publish.get("exclude"))),
            only_marked=bool_of(publish.get("only_marked")) is True,
        ),
        findings=findings,
        publish_findings=publish_findings,
    )


def _problem(key: str, value: Json) -> str:
    """The error in a key or its value; "" if there is none."""
    check = _CHECKS.get(key)
    if check is None:
        near = get_close_matches(key, _CHECKS, 1)
        meant = f" Is `{near[0]}` meant?" if near else f" Valid: {', '.join(_CHECKS)}."
        return f"there is no key `{shortened(key)}`.{meant}"
    return check(value) and f"`{key}` {check(value)}"


def _text(value: Json) -> str:
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return "must be a text."
    return f"may have at most {MAX_TEXT:,} characters." if len(str(value)) > MAX_TEXT else ""


def _file(*suffixes: str) -> Callable[[Json], str]:
    def check(value: Json) -> str:
        path = text_of(value)
        if not isinstance(value, str) or address_or_none(path) is None:
            return "must be the path of a file in this folder, such as `files/logo.svg`."
        return "" if path.lower().endswith(suffixes) else f"must end in {', '.join(suffixes)}."

    return check


def _accent(value: Json) -> str:
    return (
        "" if isinstance(value, str) and _ACCENT.fullmatch(value) else 'must be a color such as "#0b5a78", in quotes.'
    )


def _web(value: Json) -> str:
    return "" if isinstance(value, str) and _WEB.fullmatch(value) else "must begin with https:// or http://."


def _absolute_urls(value: Json) -> Iterator[tuple[str, str]]:
    """Pairs of a path and a URL, both with a final slash: one for a text, several for a mapping."""
    pairs = {"/": value} if isinstance(value, str) else mapping_of(value)
    for path, url in pairs.items():
        yield f"{path.rstrip('/')}/", f"{text_of(url).rstrip('/')}/"


def _absolute(value: Json) -> str:
    pairs = {"/": value} if isinstance(value, str) else mapping_of(value)
    fits = all(path.startswith("/") and not path.startswith("//") and not _web(url) for path, url in pairs.items())
    return (
        "" if pairs and fits else "must be an address, or a mapping of paths, as in `/api/: https://example.org/api/`."
    )


def _edit_url(value: Json) -> str:
    return _web(value) or (
        "" if "{path}" in text_of(value) else "must contain {path}, which stands for the page's path."
    )


def _texts(value: Json) -> str:
    return (
        ""
        if isinstance(value, (list, tuple)) and all(isinstance(element, str) for element in value)
        else "must be a list of texts."
    )


def _navigation(value: Json) -> str:
    return next(_wrong_entries(value), "") if list_of(value) else "must be a list, as `nav` in mkdocs.yml."


def _wrong_entries(value: Json, depth: int = 0) -> Iterator[str]:
    """The errors in the entries of a navigation."""
    for item in list_of(value):
        if isinstance(item, str):
            continue
        pairs = mapping_of(item)
        if len(pairs) != 1:
            yield "may only have pages, and titles with a page or a list: `- Guide: guide.md`."
        for inner in pairs.values():
            if not isinstance(inner, str) and not list_of(inner):
                yield "may only have pages, and titles with a page or a list: `- Guide: guide.md`."
            elif depth < 12:  # noqa: PLR2004 - deeper entries are omitted
                yield from _wrong_entries(inner, depth + 1) if not isinstance(inner, str) else ()


def entry_targets(value: Json) -> Iterator[str]:
    """The pages and folders that a navigation names."""
    pending: list[Json] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if not is_external(item):
                yield item
        else:
            pending += [*list_of(item), *mapping_of(item).values()][::-1]


def _publish(value: Json) -> str:
    pairs = mapping_of(value)
    if not pairs or set(pairs) - set(_PUBLISH_KEYS):
        return f"may only have the keys {', '.join(_PUBLISH_KEYS)}."
    if "only_marked" in pairs and bool_of(pairs["only_marked"]) is None:
        return "has an `only_marked` that is neither true nor false."
    if "exclude" in pairs and _texts(pairs["exclude"]):
        return f"has an `exclude` that {_texts(pairs['exclude'])}"
    wrong = next((text for element in list_of(pairs.get("exclude")) if not _is_path(text := text_of(element))), None)
    return (
        ""
        if wrong is None
        else f"excludes {shortened(wrong)!r}: name a folder or a page by its path from here, without `*` and `..`."
    )


def _bare(text: str) -> str:
    """A path without `./` before it, and without slashes around it."""
    return text.removeprefix("./").strip("/")


def _is_path(text: str) -> bool:
    """Whether a text is the path of a folder or page."""
    path = _bare(text)
    return address_or_none(path) is not None and "*" not in path


def _language(value: Json) -> str:
    return "" if value in LANGUAGES else f"must be one of {', '.join(LANGUAGES)}."


_TEXTS = ("title", "description", "logo", "favicon", "style", "footer", "start", "edit_url", "language")
_CHECKS: Mapping[str, Callable[[Json], str]] = {
    "title": _text, "description": _text, "logo": _file(*IMAGE_SUFFIXES), "favicon": _file(*IMAGE_SUFFIXES),
    "accent": _accent, "style": _file(".css"), "footer": _text, "start": _text,
    "navigation": _navigation, "edit_url": _edit_url, "url": _web, "hidden_keys": _texts,
    "publish": _publish, "absolute_urls": _absolute, "language": _language,
}  # fmt: skip
"""Check of each key: returns the error in a value; "" if there is none."""
