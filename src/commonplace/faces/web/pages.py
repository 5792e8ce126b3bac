"""HTML from templates, with a single environment that is loaded on first use and escapes values by default."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.domain.words import amounts
from commonplace.faces.web.assets import asset_url
from commonplace.faces.web.exchange import PageRequest, PageResponse
from commonplace.services.collections import Collection

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
_MINUTE, _HOUR, _DAY, _MONTH = 60, 3_600, 86_400, 30 * 86_400


@cache
def environment(*further: Path) -> Environment:
    """The template environment, including templates in further folders."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader([TEMPLATES, *further]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(ago=ago, amount=amount, asset=asset_url, moment=moment, thousands=thousands)
    return made


def page(request: PageRequest, template: str, code: int = 200, /, **values: object) -> PageResponse:
    """Render a page from a template, with the request and the given values."""
    shown = (
        environment(*(one.templates for one in request.toolsets if one.templates))
        .get_template(template)
        .render(request=request, urls=request.urls, site=site_name(request), **values)
    )
    return PageResponse(shown.encode("utf-8", "replace"), status=code)


def site_name(request: PageRequest) -> str:
    """The title of the pages: the names of the collections that the reader may see."""
    names = [collection.name for collection in request.collections]
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "") or "commonplace"  # noqa: PLR2004


def breadcrumbs(request: PageRequest, collection: Collection, folder: str) -> list[tuple[str, str]]:
    """Name and URL of each folder from the collection's root to this folder."""
    result = [(collection.name, request.urls.view("tree", collection.name, ""))]
    parts = folder.split("/") if folder else []
    for number, part in enumerate(parts):
        path = "/".join(parts[: number + 1])
        result.append((part, request.urls.view("tree", collection.name, f"{path}/")))
    return result


def ago(seconds: int) -> str:
    """The time since a moment, in one unit, such as `3 days ago`."""
    passed = max(int(datetime.now(UTC).timestamp()) - seconds, 0)
    for unit, name in ((_MONTH * 12, "year"), (_MONTH, "month"), (_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        if passed >= unit:
            count = passed // unit
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def moment(seconds: int) -> str:
    """A moment as `YYYY-MM-DD HH:MM` in UTC."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
    except (OverflowError, OSError, ValueError):
        return ""


def amount(number: int, noun: str = "page") -> str:
    """A number with its noun: `1 page`, `2,000 pages`."""
    return amounts.amount(number, noun)


def thousands(number: int) -> str:
    """A number with commas."""
    return f"{number:,}"
