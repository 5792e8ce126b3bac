"""Changing `kb.yaml` by tools: only the bytes of what differs change."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import agent

SCHEMA = """\
# The base of ships
name: Ships  # short

types:
  # those that sail
  vessel:
    required: [title]  # no more
    fields:
      # in metres
      length: {type: number}
      flag:
        type: text  # of the country

  # those that sail them
  person:
    description: 'Who'
# the end
policies: {}
"""
ADDED = """\
  port:
    fields:
      depth:
        type: number
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_type_that_is_added_changed_and_removed_leaves_every_other_byte(tmp_path: Path, newline: str) -> None:
    base = tmp_path / "base"
    base.mkdir()
    file = base / "kb.yaml"

    def text() -> str:
        return file.read_bytes().decode().replace(newline, "\n")

    file.write_bytes(SCHEMA.replace("\n", newline).encode())
    with agent("mcp", base, "--toolset", "kb", "--tier", "admin") as client:
        define = {"kb_name": "Ships", "action": "add_type"}
        port = {"fields": {"depth": {"type": "number"}}}
        client.call("kb_manage", **define, type_name="port", type_def=port)
        assert text() == SCHEMA.replace("    description: 'Who'\n", "    description: 'Who'\n" + ADDED)
        client.call("kb_manage", kb_name="Ships", action="remove_type", type_name="port")
        assert text() == SCHEMA
        fields = {"length": {"type": "number"}, "flag": {"type": "list"}}
        changed = {"vessel": {"required": ["title"], "fields": fields}, "person": {"description": "Who"}}
        client.call("kb_manage", kb_name="Ships", action="set_schema", schema={"types": changed})
        assert text() == SCHEMA.replace("type: text  # of", "type: list  # of")
        types = client.call("kb_manage", kb_name="Ships", action="show_schema")["types"]
        assert types["vessel"]["fields"]["flag"] == {"type": "list"}
        vessel = {"required": ["title"], "fields": {"length": {"type": "number"}, "flag": {"type": "text"}}}
        given_values = {"types": {"vessel": vessel, "person": {"description": "Who"}}, "policies": {}}
        client.call("kb_manage", kb_name="Ships", action="set_schema", schema=given_values)
        assert text() == SCHEMA
