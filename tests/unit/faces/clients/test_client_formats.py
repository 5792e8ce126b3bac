"""One member of a client's file is edited, and all else stays."""

from __future__ import annotations

import json
import tomllib

import pytest

from cases import each_case
from commonplace.domain.json import Json
from commonplace.faces.clients import FileFormat, parsed, with_entry, without_entry

ENTRY: dict[str, Json] = {"command": "commonplace", "args": ["mcp", "/srv/Nötes"]}
COMMENTED = """\
{
  // servers of mine
  "servers": {
    "a": {"command": "a"}, // about a
    /* about b */ "b": {"command": "b"} // about b, too
  }, // after the servers
  "theme": "dark" // last
}
"""


@each_case("kind", ["json", "toml"])
@each_case("text", ["", "\n", "  \n"])
def test_an_entry_goes_into_an_empty_file(kind: FileFormat, text: str) -> None:
    made = with_entry(text, kind, "servers", "notes", ENTRY)
    assert parsed(made, kind) == {"servers": {"notes": ENTRY}}
    assert made.endswith("\n")
    assert without_entry(made, kind, "servers", "notes") != made


@each_case(
    "text",
    [
        "{}",
        "{ }",
        '{"servers": {}}',
        '{"servers": { /* none */ }}',
        '{"a": 1,}',
        '{"servers": {"x": {},},}',
        "// no\n{}",
    ],
)
def test_an_entry_goes_into_an_object_of_any_layout(text: str) -> None:
    made = with_entry(text, "json", "servers", "notes", ENTRY)
    held = parsed(text, "json")
    servers = held.get("servers", {})
    assert isinstance(servers, dict)
    assert parsed(made, "json") == {**held, "servers": {**servers, "notes": ENTRY}}
    assert made.count("/*") == text.count("/*")


def test_a_file_of_comments_alone_holds_nothing_and_keeps_them() -> None:
    text = "// put your settings here\n"
    assert parsed(text, "json") == {}
    made = with_entry(text, "json", "servers", "notes", ENTRY)
    assert made.startswith(text)
    assert parsed(made, "json") == {"servers": {"notes": ENTRY}}


@pytest.mark.parametrize("name", ["a", "b"])
def test_comments_on_other_members_stay_when_one_is_removed(name: str) -> None:
    made = without_entry(COMMENTED, "json", "servers", name)
    other = "b" if name == "a" else "a"
    assert parsed(made, "json") == {"servers": {other: {"command": other}}, "theme": "dark"}
    for comment in ("/* about b */", "// servers of mine", "// after the servers", "// last", f"// about {other}"):
        assert comment in made, comment


def test_an_added_member_leaves_every_byte_that_was_there() -> None:
    made = with_entry(COMMENTED, "json", "servers", "notes", ENTRY)
    left = iter(made)
    assert all(character in left for character in COMMENTED)
    assert "// about a\n" in made
    assert parsed(without_entry(made, "json", "servers", "notes"), "json") == parsed(COMMENTED, "json")


def test_an_entry_that_is_there_already_changes_nothing() -> None:
    for kind in ("json", "toml"):
        made = with_entry("", kind, "servers", "notes", ENTRY)
        assert with_entry(made, kind, "servers", "notes", ENTRY) == made
        assert without_entry(made, kind, "servers", "other") == made
        assert without_entry(made, kind, "others", "notes") == made


@each_case("name", ["notes", "two words", 'quo"te', "日本", "a.b", "a\\b", "-"])
def test_an_entry_of_any_name_comes_and_goes(name: str) -> None:
    begin: dict[FileFormat, str] = {"json": '{\n\t"x": [1]\n}\n', "toml": '[x]\ny = "[servers.notes]"\n'}
    for kind, text in begin.items():
        made = with_entry(text, kind, "servers", name, ENTRY)
        assert parsed(made, kind)["servers"] == {name: ENTRY}
        replaced = with_entry(made, kind, "servers", name, {"command": "new"})
        assert parsed(replaced, kind)["servers"] == {name: {"command": "new"}}
        assert "servers" not in parsed(without_entry(replaced, kind, "servers", name), kind) or kind == "json"


@each_case(
    ("text", "kind"),
    [
        ("[]", "json"),
        ("5", "json"),
        ("{", "json"),
        ('{"a": /* open', "json"),
        ("[" * 100_000, "json"),
        ("a = ", "toml"),
        ("a = " + "[" * 100_000, "toml"),
        ("a = 1\na = 2\n", "toml"),
        ('{"servers": [], "x": 1}', "json"),
        ("servers = 5", "toml"),
        ('{"servers": {"a": 1}, "servers": {"b": 2}}', "json"),
        ("servers = {a = {command = 'x'}}\n", "toml"),
    ],
)
def test_what_cannot_be_edited_safely_is_refused(text: str, kind: FileFormat) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        with_entry(text, kind, "servers", "notes", ENTRY)


def test_a_comma_or_comment_in_a_string_is_none() -> None:
    text = '{"a": "x, // y", "b": "/* z */,]", "c": "\\",}", "servers": {"k": ["}", "//", ","]}}'
    made = with_entry(text, "json", "servers", "notes", ENTRY)
    assert parsed(made, "json") == {**json.loads(text), "servers": {"k": ["}", "//", ","], "notes": ENTRY}}


def test_tables_of_toml_around_the_edited_one_stay_as_they_are() -> None:
    own = '[servers.notes] # mine\r\ncommand = "x"\r\n[servers.notes.env]\r\nA = "1"\r\n'
    text = f"# top\r\n{own}[other]\r\nb = 2 # two\r\n"
    made = with_entry(text, "toml", "servers", "notes", ENTRY)
    assert made.startswith("# top\r\n[other]\r\nb = 2 # two")
    assert tomllib.loads(made) == {"other": {"b": 2}, "servers": {"notes": ENTRY}}
    assert without_entry(text, "toml", "servers", "notes") == "# top\r\n[other]\r\nb = 2 # two\r\n"
