"""The form for front matter: what it shows of a typed page, and that a change of it changes nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError
from commonplace.faces.web.views.field_form import inputs_of, with_fields
from indexed import Indexed

SCHEMA = """types:
  runbook:
    fields:
      minutes: {type: number, required: true}
      severity: {type: select, options: [low, high]}
      tested: {type: date}
      done: {type: checkbox}
      owner: {type: text}
      steps: {type: list}
"""
TEXT = "---\ntype: runbook\nminutes: 5 # at most\nseverity: odd\ntested: last week\ndone: true\n---\n# R\n"
PAGE = Address("r.md")


def form(**changed: str) -> dict[str, str]:
    """The form as a browser sends it, with changed fields."""
    shown = {"minutes": "number:5", "severity": "select:odd", "tested": "text:last week", "done": "checkbox:true"}
    fields = {f"shown:{name}": value for name, value in {**shown, "owner": "text:"}.items()}
    sent = {name: value.partition(":")[2] for name, value in {**shown, "owner": "text:"}.items()} | changed
    return {**fields, **{f"field:{name}": value for name, value in sent.items()}}


def test_fields_of_one_value_have_inputs_that_show_what_the_page_says(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"kb.yaml": SCHEMA, "r.md": TEXT}) as base:
        name, inputs = inputs_of(base.collection, PAGE, TEXT)
        rows = {item.name: (item.kind, item.value, item.required, list(item.options)) for item in inputs}
        assert name == "runbook"
        assert rows == {
            "minutes": ("number", "5", True, []),
            "severity": ("select", "odd", False, ["odd", "low", "high"]),
            "tested": ("text", "last week", False, []),
            "done": ("checkbox", "true", False, []),
            "owner": ("text", "", False, []),
        }
        for text in ("# R\n", "---\ntype: none\n---\n", "---\ntype: runbook\nminutes: [5\n---\n"):
            assert inputs_of(base.collection, PAGE, text) == ("", ())


def test_a_change_of_one_field_changes_its_value_alone(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"kb.yaml": SCHEMA, "r.md": TEXT}) as base:

        def changed(**fields: str) -> str:
            return with_fields(base.collection, PAGE, TEXT, form(**fields))

        assert changed() == TEXT
        assert changed(minutes="7") == TEXT.replace("minutes: 5", "minutes: 7")
        assert changed(severity="low") == TEXT.replace("odd", "low")
        assert "done: false" in changed(done="")
        assert "tested" not in changed(tested="")
        assert "owner: Ada" in changed(owner=" Ada ")
        with pytest.raises(InvalidInputError, match="minutes is no number"):
            changed(minutes="many")


def test_fields_in_a_file_beside_a_page_and_properties_stay_what_they_are(tmp_path: Path) -> None:
    page, meta = Address("tiddlers/r.md"), "title: R\ntype: text/x-markdown\n"
    files = {"kb.yaml": SCHEMA, "tiddlywiki.info": "{}", "tiddlers/r.md": TEXT, "tiddlers/r.md.meta": meta}
    with Indexed(tmp_path / "tiddlers", files) as base:
        assert inputs_of(base.collection, page, TEXT) == ("", ())
        with pytest.raises(InvalidInputError, match=r"fields of the page are in tiddlers/r\.md\.meta"):
            with_fields(base.collection, page, "# R\n", form(minutes="7"))
    with Indexed(tmp_path / "graph", {"logseq/config.edn": "{}", "pages/r.md": "- R\n"}) as base:
        sent = {"shown:owner": "text:", "field:owner": "Ada"}
        assert with_fields(base.collection, Address("pages/r.md"), "- R\n", sent).startswith("owner:: Ada\n")
