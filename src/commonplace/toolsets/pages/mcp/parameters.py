"""Parameters of the tools of the `pages` toolset."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from commonplace.faces.mcp.toolset import Parameters
from commonplace.toolsets.pages.rules.queries import MAX_PAGE_LIMIT, Sort, parse_day, parse_duration


def _day(text: str) -> str:
    parse_day(text)
    return text


def _duration(text: str) -> str:
    parse_duration(text)
    return text


DayText: TypeAlias = Annotated[str, AfterValidator(_day), Field(json_schema_extra={"format": "date"})]
Duration: TypeAlias = Annotated[str, AfterValidator(_duration), Field(json_schema_extra={"pattern": "^[0-9]+[dwmy]$"})]


class SearchPages(Parameters):
    """Parameters of `search`."""

    query: Annotated[str, Field(description="Words to search for; may be empty with a filter or a sort.")]
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_LIMIT, description="Maximum number of pages.")] = 10
    labels: Annotated[list[str] | None, Field(description="With at least one of these labels.")] = None
    author: Annotated[str | None, Field(description="Author's e-mail address or whole name.")] = None
    created_after: Annotated[DayText | None, Field(description="Created this day (2024-05-31) or later.")] = None
    created_before: Annotated[DayText | None, Field(description="Created this day or earlier.")] = None
    created_within: Annotated[Duration | None, Field(description="Created in the last 30d, 2w, 6m or 1y.")] = None
    updated_after: Annotated[DayText | None, Field(description="Updated this day or later.")] = None
    updated_before: Annotated[DayText | None, Field(description="Updated this day or earlier.")] = None
    updated_within: Annotated[Duration | None, Field(description="Updated in the last 30d, 2w, 6m or 1y.")] = None
    stale: Annotated[Duration | None, Field(description="Not updated for 30d, 2w, 6m or 1y.")] = None
    sort: Annotated[Sort | None, Field(description="Order by a date, with - the newest first; else best first.")] = None


class ReadPage(Parameters):
    """Parameters of `read_page`; exactly one of them is given."""

    path: Annotated[str | None, Field(description="Path relative to the space, as search shows it.")] = None
    id: Annotated[str | None, Field(description="The page's id.")] = None
