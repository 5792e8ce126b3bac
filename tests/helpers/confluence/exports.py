"""Sites as the exports beside the project describe them: trees, versions, files, comments, labels, restrictions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

from confluence.site import Comment, Page, Site
from support import SHARED

FOLDER = SHARED / "confluence" / "storage" / "exports"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_STANDS_FOR_CONTROL = 0xF300
"""Private characters that stand for control characters while XML is read, which allows none."""


@dataclass
class _Row:
    """An object of an export."""

    kind: str
    id: str
    values: dict[str, str] = field(default_factory=dict)


@cache
def exports() -> tuple[Path, ...]:
    """The exports; empty where they are absent."""
    return tuple(sorted(FOLDER.rglob("entities.xml")))


def sites_of(export: Path) -> Iterator[Site]:
    """A site for each space of an export that has pages."""
    rows = {row.id: row for row in _rows(export.read_text(errors="replace"))}
    bodies = {
        row.values.get("content", ""): row.values.get("body", "") for row in rows.values() if "body" in row.values
    }
    pages = [row for row in rows.values() if row.kind == "Page"]
    spaces = [row for row in rows.values() if row.kind == "Space"] or [_Row("Space", "", {"key": "ENG", "name": "?"})]
    for space in spaces:
        own = [page for page in pages if page.values.get("space", spaces[0].id) == space.id]
        if own:
            yield _site(space, own, rows, bodies)


def _site(space: _Row, pages: list[_Row], rows: dict[str, _Row], bodies: dict[str, str]) -> Site:
    site = Site(space.values.get("key") or "ENG", space.values.get("name") or "?")
    site.pages.clear()
    for row in pages:
        values = row.values
        if "originalVersion" in values or values.get("originalVersionId"):
            continue  # a version from before; its body is one of `real_bodies`
        status = {"deleted": "trashed", "draft": "draft"}.get(values.get("contentStatus", "current"), "current")
        page = Page(row.id, values.get("title") or f"Page {row.id}", values.get("parent", ""), bodies.get(row.id, ""))
        page.version, page.status = max(1, int(values.get("version") or 1)), status
        page.author, page.modifier = values.get("creator", ""), values.get("lastModifier", "")
        site.pages[row.id] = page
    home = space.values.get("homePage", "")
    site.home = home if home in site.pages else next(iter(site.pages), "")
    _with_belongings(site, rows, bodies)
    return site


def _with_belongings(site: Site, rows: dict[str, _Row], bodies: dict[str, str]) -> None:
    for row in rows.values():
        values = row.values
        page = site.pages.get(
            values.get("containerContent") or values.get("content") or values.get("owningContent", "")
        )
        if row.kind == "ConfluenceUserImpl":
            site.people[row.id] = (values.get("name", ""), values.get("email", ""))
        elif page is None:
            continue
        elif row.kind == "Attachment" and "originalVersion" not in values:
            page.files[values["title"]] = (int(values.get("version") or 1), f"{row.id} {values['title']}".encode())
        elif row.kind == "Comment" and "originalVersion" not in values:
            page.comments.append(Comment(row.id, bodies.get(row.id, ""), values.get("creator", "")))
        elif row.kind == "Labelling" and values.get("label") in rows:
            page.labels.add(rows[values["label"]].values["name"])
        elif row.kind == "ContentPermissionSet" and values.get("type") == "View":
            page.restricted = page.id != site.home


def _rows(text: str) -> Iterator[_Row]:
    marked = _CONTROL.sub(lambda match: chr(_STANDS_FOR_CONTROL + ord(match[0])), text)
    for element in ET.fromstring(marked).iter("object"):  # noqa: S314 - files of the tests
        row = _Row(element.get("class", ""), element.findtext("id", "").strip())
        for part in element.findall("property"):
            name, inner = part.get("name", ""), part.findtext("id")
            value = (inner if inner is not None else part.text) or ""
            row.values[name] = value if name == "body" else value.strip()
            row.values[name] = "".join(
                chr(ord(character) - _STANDS_FOR_CONTROL)
                if 0 <= ord(character) - _STANDS_FOR_CONTROL < 32
                else character
                for character in row.values[name].replace("]] >", "]]>")
            )
        yield row
