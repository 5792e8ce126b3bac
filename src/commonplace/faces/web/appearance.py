"""The look of the pages of a base: logo, icon, color, style sheet and footer that its own file declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

from markupsafe import Markup

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.site_file import MAX_IMAGE_BYTES, MAX_STYLE_BYTES, SITE_FILE, SiteSettings
from commonplace.faces.web.exchange import PageRequest
from commonplace.faces.web.markup.page import Renderer
from commonplace.services.collections import Collection
from commonplace.services.sites import without_foreign

PAPER, DARK_PAPER = (0xFD, 0xFC, 0xF9), (0x17, 0x19, 0x1C)
"""Background of pages in each scheme, as in `app.css`."""
MIN_CONTRAST = 5.5
"""Minimum contrast of the accent with the background; tinted backgrounds then have the 4.5 that WCAG 2.2 requires."""
NO_TEXT = Markup("")
_STEPS = 40

Color = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Appearance:
    """The parts of a page around its text that a base declares; each is "" without a declaration."""

    logo: str = ""
    favicon: str = ""
    style: str = ""
    """URL of the style sheet with the accent and the base's own rules."""
    footer: Markup = NO_TEXT


def appearance(request: PageRequest, collection: Collection | None) -> Appearance:
    """The appearance of a base's page, or of a page about the only base; the default for a page of several bases."""
    collections = list(request.collections)
    if collection is None and len(collections) == 1:
        collection = collections[0]
    if collection is None or collection.is_past:
        return Appearance()
    settings = request.site(collection).settings
    urls, name = request.urls, collection.name
    style = style_sheet(collection, settings)
    return Appearance(
        logo=urls.file(name, settings.logo) if picture_fits(collection, settings.logo) else "",
        favicon=urls.file(name, settings.favicon) if picture_fits(collection, settings.favicon) else "",
        style=urls.view("style", name, "", v=blake2b(style.encode(), digest_size=6).hexdigest()) if style else "",
        footer=footer_html(Renderer(request.collections, collection, request.urls), settings.footer)
        if settings.footer
        else NO_TEXT,
    )


def footer_html(renderer: Renderer, footer: str) -> Markup:
    """The footer of a base as HTML; empty without one."""
    document = read_document(Address(SITE_FILE), b"")
    return Markup(renderer.text(document, footer)) if footer else NO_TEXT  # noqa: S704 - sanitized


def picture_fits(collection: Collection, path: str) -> bool:
    """Whether a picture exists and is small enough for every page."""
    status = collection.store.stat(Address(path)) if path else None
    return status is not None and status.size <= MAX_IMAGE_BYTES


def style_sheet(collection: Collection, settings: SiteSettings) -> str:
    """The rules for the accent, and then the base's own style sheet, without addresses of other servers."""
    own = ""
    status = collection.store.stat(Address(settings.style)) if settings.style else None
    if status is not None and status.size <= MAX_STYLE_BYTES:
        try:
            own = collection.store.read(Address(settings.style)).decode("utf-8-sig", "replace")
        except KnowledgeError:
            own = ""
    return (accent_rules(settings.accent) if settings.accent else "") + without_foreign(own)


@cache
def accent_rules(accent: str) -> str:
    """CSS that makes a color the accent, darkened or lightened until text in it is readable in both schemes."""
    color = (int(accent[1:3], 16), int(accent[3:5], 16), int(accent[5:7], 16))
    light, dark = _readable(color, PAPER, (0, 0, 0)), _readable(color, DARK_PAPER, (255, 255, 255))
    rules = "--accent:{0};--accent-soft:color-mix(in srgb,{0} 12%,var(--paper));--note:{0}"
    light_rules, dark_rules = rules.format(light), rules.format(dark)
    return (
        f":root{{{light_rules}}}\n"
        f'@media (prefers-color-scheme:dark){{:root:not([data-theme="light"]){{{dark_rules}}}}}\n'
        f':root[data-theme="dark"]{{{dark_rules}}}\n'
    )


def _readable(color: Color, paper: Color, towards: Color) -> str:
    """The color, mixed with as little black or white as makes it readable."""
    return "#{:02x}{:02x}{:02x}".format(
        *next(mix for mix in _mixes(color, towards) if contrast(mix, paper) >= MIN_CONTRAST)
    )


def _mixes(color: Color, towards: Color) -> Iterator[Color]:
    for step in range(_STEPS + 1):
        mixed = [round(number + (other - number) * step / _STEPS) for number, other in zip(color, towards, strict=True)]
        yield mixed[0], mixed[1], mixed[2]


def contrast(color: Color, other: Color) -> float:
    """The contrast ratio of two colors, 1 to 21 (WCAG 2.2)."""
    light, dark = sorted((_luminance(color), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    parts = [part / 255 for part in color]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]  # noqa: PLR2004
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
