"""What rendering makes is bounded by its output, whatever a page consists of.

Sampled by counting events and characters. With SOAK=1 pages of 1 MB of every kind go through a real server, whose CPU
time and memory are read from the system.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Link
from commonplace.domain.markdown.structure import MAX_EMPTY_CELLS, MAX_HEADINGS, MAX_QUOTES, bounded
from commonplace.faces.web.markup.html import LinkHtml
from commonplace.faces.web.markup.page import Renderer, TextRenderer
from commonplace.faces.web.markup.parser import LinkKey, parse
from commonplace.faces.web.markup.sanitizer import MAX_EVENTS, MAX_HTML, Budget, OverBudgetError
from commonplace.faces.web.shown import PART_BYTES
from commonplace.faces.web.urls import Urls
from commonplace.services.collections import Collection, Collections
from indexed import Indexed
from serving import Server, served
from ways.heavy_pages import KINDS, table

SIZE = 60_000
"""Bytes of a sampled page."""
SOURCE = "it is shown as its source"
TABLE = table(8_800, 1_500)
"""A table whose 1,400 rows lack two million cells."""


OVER = {kind for kind in KINDS if "without cells" in kind} | {"deep quotes"}
"""Kinds that are shown as their source."""


class NoLinks:
    def shown(self, links: Mapping[LinkKey, Link]) -> Mapping[LinkKey, LinkHtml]:
        del links
        return {}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sampled(8)
def test_events_and_html_of_a_part_of_a_page_are_bounded(kind: str) -> None:
    source = KINDS[kind](SIZE)
    budget = Budget(until=float("inf"))
    try:
        parsed = parse(source.encode(), budget)
    except OverBudgetError:
        assert kind in OVER
    else:
        assert len(parsed.events) <= 4 * len(source) + MAX_EMPTY_CELLS
    html = TextRenderer(NoLinks()).html(source)
    assert len(html) <= MAX_HTML
    assert (SOURCE in html) == (kind in OVER)


@pytest.mark.parametrize("limits", [{"events": 1_000}, {"html": 1_000}, {"until": 0.0}])
def test_a_page_over_any_limit_is_shown_as_its_source(limits: dict[str, float]) -> None:
    texts = TextRenderer(NoLinks(), _budget=Budget(**limits))  # type: ignore[arg-type]
    html = texts.html("a *b*\n\n" * 1_000 + "<script>alert(1)</script>")
    assert SOURCE in html
    assert "a *b*" in html
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_a_table_keeps_its_missing_cells_up_to_the_limit() -> None:
    assert bounded(table(3_000, 20)) == table(3_000, 20)
    assert bounded("a\n---\n\n|a|b|\n|-|-|\n|c|\n") == "a\n---\n\n|a|b|\n|-|-|\n|c|\n"
    assert len(bounded(TABLE)) == len(TABLE)


def test_quotes_nested_too_deeply_are_text_and_the_rest_of_the_page_stays() -> None:
    marks = "> " * (MAX_QUOTES - 1) + ">"
    assert bounded(f"{marks} a\n\n{marks}\tb > c >\n") == f"{marks} a\n\n{marks}\tb > c >\n"
    source = f"# A\n\n{marks} >>\t> a > b\n{marks} >> c\n\n## After\n\n[[b]]\n"
    assert bounded(source) == source.replace(" >>", " ..").replace("\t>", "\t.")
    document = read_document(Address("a.md"), source.encode())
    assert [section.heading for section in document.sections][1:] == ["A", "After"]
    assert [link.target for link in document.links] == ["b"]


def test_headings_above_the_limit_begin_no_section_and_the_page_says_so() -> None:
    source = "# a\n" * MAX_HEADINGS
    document = read_document(Address("a.md"), source.encode())
    assert (len(document.sections), document.findings) == (MAX_HEADINGS + 1, ())
    document = read_document(Address("a.md"), f"{source}# b [[c]]\n\n[[d]]\n".encode())
    assert (document.sections[-1].heading, document.sections[-1].end) == ("a", len(document.raw))
    assert [finding.rule for finding in document.findings] == ["too_many_headings"]
    assert [link.target for link in document.links] == ["c", "d"]


@each_case("form", ["{}", "# A\n\n{}\n\n# B\n", "text\n{}", "- {}", "|a|\n|-|\n|b|\n# H\n{}"])
def test_a_table_without_cells_is_read_at_the_cost_of_its_bytes_and_the_rest_of_the_page_stays(form: str) -> None:
    source = form.replace("{}", TABLE.replace("\n", "\n  ") if form.startswith("- ") else TABLE)
    assert bounded(source) != source
    document = read_document(Address("a.md"), f"{source}\n\n## After\n\n[[b]]\n".encode())
    assert [section.heading for section in document.sections][-1] == "After"
    assert len(document.links) == 1


def test_many_embeds_of_a_costly_page_end_with_the_budget_of_embeds(tmp_path: Path) -> None:
    files = {"table.md": TABLE, "rows.md": "|a|b|\n|-|-|\n" + "|c|d|\n" * 9_000, "here.md": "# Here\n"}
    with Indexed(tmp_path, files) as base:
        collection = Collection("base", base.store, base.index)
        for embedded in ("table", "rows"):
            document = read_document(
                Address("here.md"), f"Start\n\n![[{embedded}]]\n\n{'![[here]] ' * 3}End".encode() * 10
            )
            renderer = Renderer(Collections(lambda: [collection]), collection, Urls("base"))
            html = renderer.document(document)
            assert html.count("Start") == 10
            assert html.count("End") >= 10
            assert len(html) < MAX_HTML
            assert renderer.embeds.budget.events > -MAX_EVENTS


def test_a_page_that_many_embeds_name_is_read_once_and_one_too_large_for_them_not_at_all(tmp_path: Path) -> None:
    files = {
        "large.md": "# Large\n\n" + "text " * 150_000,
        "small.md": "# Small\n\nSome text.\n",
        "here.md": "# Here\n",
    }
    with Indexed(tmp_path, files) as base:
        reads: list[Address] = []
        collection = Collection("base", base.store, base.index)
        read = base.index.document
        base.index.document = lambda address: reads.append(address) or read(address)  # type: ignore[method-assign]
        source = "![[large]]\n\n![[large#Large]]\n\n![[small]]\n\n" * 10
        renderer = Renderer(Collections(lambda: [collection]), collection, Urls("base"))
        html = renderer.document(read_document(Address("here.md"), source.encode()))
        assert html.count("Some text.") == 10
        assert html.count('class="embed"') == 30
        assert sorted(reads) == [Address("large.md"), Address("small.md")]


def cpu_seconds(server: Server) -> float:
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(server: Server, name: str) -> int:
    """A size of the process in bytes: `VmRSS` now, `VmHWM` at most."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(f"{name}:"))


def settle(server: Server) -> None:
    """Wait until the server has used no CPU time for a second, so that the index's own work is done."""
    spent = -1.0
    while spent != (spent := cpu_seconds(server)):
        time.sleep(1)


PATHS = (
    "/p/page",
    "/p/ten",
    "/preview/page",
    "/api/v1/pages/page",
    "/api/v1/links/page",
    "/raw/page",
    "/agent/page",
)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_1_mb_costs_at_most_two_seconds_and_200_mb_on_every_face(kind: str, tmp_path: Path) -> None:
    text = KINDS[kind](1_000_000)
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb/page.md").write_text(text, encoding="utf-8")
    (tmp_path / "kb/part.md").write_text(text[:PART_BYTES], encoding="utf-8")
    (tmp_path / "kb/ten.md").write_text("# Ten\n\n" + "![[page]]\n\n![[part]]\n\n" * 10, encoding="utf-8")
    # Embedding goes on beside the requests and would be counted with them.
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "COMMONPLACE_EMBED": "false"}
    with served(str(tmp_path / "kb"), env=env) as server:
        server.ask("GET", "/api/v1/search?q=warm", headers={"Prefer": "wait=100"})  # after five seconds it would answer
        settle(server)  # before the index is whole
        for path in PATHS:
            before, memory = cpu_seconds(server), resident(server, "VmRSS")
            server.ask("GET", path)
            spent, grown = cpu_seconds(server) - before, resident(server, "VmHWM") - memory
            assert spent <= 2.0, (path, spent)
            assert grown <= 200_000_000, (path, grown)
