"""Variables of templates, and the format of amounts and times."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from asgi.browsing import Pages
from cases import each_case
from commonplace.faces.access.callers import Caller
from commonplace.faces.web.messages import message_catalogue
from commonplace.faces.web.pages import breadcrumbs, environment, moment, site_name


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    place = tmp_path_factory.mktemp("pages")
    folders = [place / name for name in ("one", "b <b>", "three", "four")]
    for folder in folders:
        folder.mkdir()
    with Pages(place, *folders) as served:
        yield served


MINUTE, HOUR, DAY = 60, 3_600, 86_400


@each_case(
    ("passed", "shown"),
    [
        (-5_000, "just now"),
        (30, "just now"),
        (MINUTE + 5, "1 minute ago"),
        (HOUR - 5, "59 minutes ago"),
        (HOUR + 5, "1 hour ago"),
        (DAY - 5, "23 hours ago"),
        (DAY + 5, "1 day ago"),
        (29 * DAY, "29 days ago"),
        (31 * DAY, "1 month ago"),
        (359 * DAY, "11 months ago"),
        (361 * DAY, "1 year ago"),
        (3_650 * DAY, "10 years ago"),
    ],
)
def test_how_long_ago_is_said_in_one_unit(passed: int, shown: str) -> None:
    assert message_catalogue("en").ago(int(datetime.now(UTC).timestamp()) - passed) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "1970-01-01 00:00"),
        (-1, "1969-12-31 23:59"),
        (1_700_000_000, "2023-11-14 22:13"),
        (10**12, ""),
        (10**30, ""),
    ],
)
def test_a_moment_that_no_calendar_has_is_not_shown(seconds: int, shown: str) -> None:
    assert moment(seconds) == shown
    assert message_catalogue("en").ago(-(10**15)).endswith("years ago")


def test_amounts_have_their_noun_and_commas() -> None:
    assert [message_catalogue("en").amount(*one) for one in ((0,), (1,), (2_000,), (1, "link"))] == [
        "0 pages",
        "1 page",
        "2,000 pages",
        "1 link",
    ]
    assert message_catalogue("en").thousands(1_234_567) == "1,234,567"


@pytest.mark.parametrize(
    ("seen", "name"),
    [
        (None, "one, b <b> and 2 more"),
        ({"one"}, "one"),
        ({"three", "four"}, "three, four"),
        ({"one", "three", "four"}, "one, three and 1 more"),
        (set[str](), "commonplace"),
    ],
)
def test_pages_are_called_by_the_collections_that_the_reader_sees(
    pages: Pages, seen: set[str] | None, name: str
) -> None:
    caller = Caller("k", "read", None if seen is None else frozenset(seen))
    assert site_name(pages.request_of(caller)) == name


def test_breadcrumbs_lead_from_the_collection_down(pages: Pages) -> None:
    request = pages.request()
    first, second = list(request.collections)[:2]

    assert breadcrumbs(request, first, "") == [("one", "/tree/")]
    assert breadcrumbs(request, first, "a b/ü") == [
        ("one", "/tree/"),
        ("a b", "/tree/a%20b/"),
        ("ü", "/tree/a%20b/%C3%BC/"),
    ]
    assert breadcrumbs(request, second, "x")[1] == ("x", "/tree/@b%20%3Cb%3E/x/")


def test_templates_escape_what_they_are_given_and_want_every_name(tmp_path: Path) -> None:
    (tmp_path / "own.html").write_text("{{ text }}{{ 2 | amount }}")
    template = environment("en", tmp_path).get_template("own.html")

    assert template.render(text="<&\"'>") == "&lt;&amp;&#34;&#39;&gt;2 pages"
    with pytest.raises(UndefinedError):
        template.render()
    assert environment("en", tmp_path).get_template("base.html").name == "base.html"
