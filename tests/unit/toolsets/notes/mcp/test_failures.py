"""An error of an agent's call says what was wrong, and gives the call that follows."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from cases import each_case
from commonplace.domain.errors import ConflictError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.faces.mcp.toolset import Call, ToolResult
from commonplace.services.collections import Collections
from commonplace.services.services import Services
from commonplace.toolsets.notes.mcp.failures import MAX_SHOWN_ARGUMENT, advised, show_error

CALL = Call(services=Services(collections=Collections(list)), tier="read", progress=lambda *_: None)


class Given(BaseModel):
    page: str = ""
    to: str = ""
    text: str = ""
    at: str = ""
    steps: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []


def hint(tool: str, error: KnowledgeError, **given_values: Any) -> str:
    def run(call: Call, arguments: Given) -> ToolResult:
        del call, arguments
        raise error

    with pytest.raises(type(error)) as refused:
        advised(tool, run)(CALL, Given(**given_values))
    return refused.value.hint


def test_an_error_is_one_line_with_what_is_nearest_and_what_to_do() -> None:
    error = NotFoundError("There is no page 'x'.", hint="Search.", nearest=["a.md", "b.md"])
    assert show_error(error) == "There is no page 'x'. Nearest: a.md, b.md. Search."
    conflict = ConflictError("Changed.", current_revision="a" * 40)
    conflict.changes = ("+ one", "- two")
    assert show_error(conflict) == f"Changed. Current revision: {'a' * 12}. Changed since: + one; - two."


def test_an_unknown_page_is_replaced_by_the_nearest_in_the_same_call() -> None:
    missing = NotFoundError("x", kind="document", reference="tee", nearest=["tea.md"])
    assert hint("read", missing, page="tee") == 'Next: read {"page": "tea.md"}'
    other = NotFoundError("x", kind="document", reference="tee", nearest=["tea.md"])
    assert hint("links", other, page="a.md", to="tee") == 'Next: links {"page": "a.md", "to": "tea.md"}'
    long = NotFoundError("x", kind="document", reference="tee", nearest=["tea.md"])
    assert "xxx" not in hint("edit", long, page="tee", text="x" * (MAX_SHOWN_ARGUMENT + 1))
    nothing = NotFoundError("x", kind="document", reference="tee")
    assert hint("read", nothing, page="tee") == 'Next: search {"query": "tee"}'


def test_an_unknown_narrowing_is_replaced_by_the_nearest() -> None:
    class Narrowed(Given):
        tag: str = ""
        by: str = ""

    def run(call: Call, arguments: Given) -> ToolResult:
        del call
        kind = "tag" if "tag" in arguments.model_fields_set else "author"
        raise NotFoundError("x", kind=kind, nearest=["tea"])

    for name in ("tag", "by"):
        with pytest.raises(NotFoundError) as refused:
            advised("search", run)(CALL, Narrowed(**{name: "tee", "to": "x"}))
        assert refused.value.hint == f'Next: search {{"to": "x", "{name}": "tea"}}'


def test_a_page_of_a_day_that_is_not_there_is_written_next() -> None:
    def missing() -> NotFoundError:
        return NotFoundError("x", kind="document", reference="2026-11-23", place="daily/2026-11-23.md")

    steps = [{"do": "edit", "page": "2026-11-23", "changes": [{"do": "append", "text": "- x"}]}]
    written = '{"page": "daily/2026-11-23.md", "text": "# 2026-11-23\\n\\n- x\\n"}'
    assert hint("edit", missing(), page="2026-11-23", changes=steps[0]["changes"]) == f"Next: write {written}"
    within = missing()
    within.context["step"] = 1
    assert hint("transaction", within, steps=steps) == (
        f'Next: transaction with step 1 as {{"do": "write", {written.removeprefix("{")}'
    )
    assert hint("read", missing(), page="2026-11-23") == 'Next: changes {"folder": "daily"}'


def test_the_next_call_is_about_the_same_moment() -> None:
    section = NotFoundError("x", kind="section", nearest=["Water"])
    assert hint("read", section, page="tea", at="2026-01-01") == (
        'Next: read {"page": "tea", "section": "Water", "at": "2026-01-01"}'
    )


def test_a_folder_a_section_and_a_conflict_have_their_own_next_call() -> None:
    assert hint("read", NotFoundError("x", kind="document", folder="notes")) == 'Next: overview {"folder": "notes"}'
    section = NotFoundError("x", kind="section", nearest=["Water"])
    assert hint("read", section, page="[[tea#Watr]]") == 'Next: read {"page": "tea", "section": "Water"}'
    assert hint("edit", ConflictError("x", hint="Read it."), page="tea") == 'Read it. Next: read {"page": "tea"}'


def test_a_conflict_within_a_transaction_names_its_page() -> None:
    """The store knows the path of a file that another program changed while it was written, and not the page."""
    error = ConflictError("b.md was changed by another program.", kind="document", path="b.md")
    assert hint("transaction", error, steps=[{"do": "edit", "page": "a"}]) == 'Next: read {"page": "b.md"}'


@each_case("tool", ["write", "edit", "move", "delete", "transaction"])
def test_no_change_of_another_page_is_proposed(tool: str) -> None:
    error = NotFoundError("x", kind="document", reference="tee", nearest=["tea.md"], step=2)
    steps = [{"do": "delete", "page": "a"}, {"do": "delete", "page": "tee"}]
    assert hint(tool, error, page="tee", steps=steps) == 'Next: read {"page": "tea.md"}'


def test_an_error_without_a_next_call_keeps_its_hint() -> None:
    assert hint("read", InvalidInputError("x", kind="argument", hint="Give a range."), page="a") == "Give a range."
