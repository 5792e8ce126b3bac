"""The order of documents: a page whose title is the query comes first."""

from __future__ import annotations

from commonplace.domain.addresses import Address
from commonplace.domain.query import Filter, SearchQuery
from indexed import MakeBase


def test_a_page_whose_title_or_alias_is_the_query_comes_first(base: MakeBase) -> None:
    filler = "Other lines about something else entirely, and more of them.\n\n" * 30
    made = base(
        {
            **{f"x{n}.md": f"# Steph {n}\n\nMeeting Steph, meeting with Steph.\n" for n in range(40)},
            "meeting.md": f"# Meeting with  Steph\n\n{filler}",
            "alias.md": f"---\naliases: [Weekly call]\n---\n# Notes\n\n{filler}",
            "calls.md": "# Calls\n\nweekly call, weekly call, weekly call\n",
            "zh.md": f"# 自定义指令\n\n{filler}",
            "zh2.md": "# 指令\n\n自定义指令 自定义指令 自定义指令\n",
            "auth.md": f"# Authentication\n\n{filler}",
            "login.md": "# Logging in\n\nauthentication authentication\n",
        }
    )
    for text in ("meeting with steph", "Meeting With Steph", '"meeting with Steph"', "“Meeting with Steph”"):
        assert made.found(text)[0] == "meeting.md"
    assert made.found("meeting with steph", sections=0)[0] == "meeting.md"
    assert made.found("weekly call")[0] == "alias.md"
    assert made.found("自定义指令")[0] == "zh.md"
    assert made.found("authentication")[0] == "auth.md"
    assert made.found("authentication", Filter(among=(Address("login.md"),))) == ["login.md"]
    made.update("auth.md", f"# Authentication\n\n{filler}now\n")
    hits = made.index.search(SearchQuery(text="authentication")).hits
    assert [(hit.record.address.path, hit.titled) for hit in hits] == [("auth.md", True), ("login.md", False)]
    assert hits[0].score >= hits[1].score


def test_pages_of_an_answer_with_a_titled_page_neither_overlap_nor_leave_anything_out(base: MakeBase) -> None:
    filler = "Other lines about something else entirely, and more of them.\n\n" * 30
    files = {f"x{n:02}.md": f"# Steph {n}\n\nSteph steph steph\n" for n in range(45)} | {"z.md": f"# Steph\n\n{filler}"}
    made = base(files)
    pages = [path for offset in range(0, 50, 7) for path in made.found("steph", limit=7, offset=offset)]
    assert pages[0] == "z.md"
    assert sorted(pages) == sorted(files)


def test_of_a_title_that_is_another_page_s_alias_both_come_first_and_a_link_names_neither_silently(
    base: MakeBase,
) -> None:
    filler = "Other lines about something else entirely, and more of them.\n\n" * 30
    made = base(
        {
            **{f"x{n}.md": f"# Call {n}\n\nweekly call, weekly call, weekly call\n" for n in range(20)},
            "a.md": f"# Weekly call\n\n{filler}",
            "b.md": f"---\naliases: [Weekly call]\n---\n# Notes\n\n{filler}",
            "link.md": "[[Weekly call]]\n",
        }
    )
    for text in ("weekly call", "WEEKLY CALL", '"weekly call"'):
        for sections in (0, 3):
            assert sorted(made.found(text, sections=sections)[:2]) == ["a.md", "b.md"], (text, sections)
    (link,) = made.index.links_from(Address("link.md"))
    assert link.target is None
