"""Objects that plugins receive: fields as items and attributes, and entries as copies."""

from __future__ import annotations

import copy
import pickle

import pytest

from commonplace.plugins.open_index import OpenIndex
from commonplace.plugins.service_extensions import Entry, PluginContext


@pytest.fixture
def context() -> PluginContext:
    return PluginContext({"tier": "read"}, OpenIndex.__new__(OpenIndex), lambda _: None)


def test_each_field_is_an_attribute_and_an_item(context: PluginContext) -> None:
    of = context.of("kb", "create")
    assert (of["kb_name"], of.kb_name, of["operation"], of["config"]) == ("kb", "kb", "create", {"tier": "read"})
    assert of["db"] is of.db
    assert "user" in of
    assert of.get("user") == ""


def test_what_is_no_field_is_missing_and_methods_are_no_fields(context: PluginContext) -> None:
    for name in ("none", "search_semantic", "of", "__class__"):
        assert name not in context
        assert context.get(name, "default") == "default"
        with pytest.raises(KeyError):
            _ = context[name]


def test_a_plugin_s_own_values_last_for_one_call(context: PluginContext) -> None:
    first = context.of("kb")
    first.extra["mine"] = 5
    assert (first["mine"], "mine" in first) == (5, True)
    assert "mine" not in context.of("kb")
    assert "mine" not in first.of("other")
    assert context.extra == {}


def test_a_context_cannot_be_changed(context: PluginContext) -> None:
    with pytest.raises(AttributeError):
        context.kb_name = "other"  # type: ignore[misc]


def test_the_fields_of_an_entry_are_items_and_attributes() -> None:
    entry = Entry(title="Größe", tags=["a"])
    entry.status = "open"
    entry["owner"] = "me"
    assert (entry.title, entry["status"], entry.owner, entry.get("none")) == ("Größe", "open", "me", None)
    assert hasattr(entry, "tags")
    assert not hasattr(entry, "none")
    with pytest.raises(AttributeError, match="none"):
        _ = entry.none


def test_an_entry_can_be_copied_like_any_dict() -> None:
    entry = Entry(title="T", tags=["a"])
    deep = copy.deepcopy(entry)
    deep["tags"] = []
    assert entry == {"title": "T", "tags": ["a"]}
    assert pickle.loads(pickle.dumps(entry)) == entry  # noqa: S301 - of our own
