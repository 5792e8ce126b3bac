"""No string can express a path out of a folder, or into what is hidden in it."""

from __future__ import annotations

import itertools
import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cases import each_case
from commonplace.domain.addresses import (
    MAX_COMPONENT_BYTES,
    MAX_PATH_BYTES,
    Address,
    fold,
    parse_address,
    parse_document_address,
)
from commonplace.domain.errors import InvalidInputError

STEPS = (
    "..", ".", "...", "", " ", "~", ".git", ".GIT", "git~1", "GIT~1", ".git.", ".git ", ".gi\u200dt", ".g\u200cit",
    "\uff0egit", ".gitattributes", ".gitmodules", ".ssh", "C:", "c:", "\\\\host", "%2e%2e", "%2e%2e%2f", "..%2f",
    "%252e", "\u2024\u2024", "\uff0e\uff0e", "..\u200b", ". .", "..\x00", "\x00", "\n", "\r", "\u2028", "a\x7f", "..;",
    "..\\", "a.", "a ", " a", "\ud800", "A" * 256, "é" * 128, "etc", "notes", "a.md",
)  # fmt: skip
BLANK = "\u115f\u1160\u2800\u3164\ufe0f\uffa0\u034f"
"""Characters of which nothing is seen, and which are no format characters."""
SEPARATORS = ("/", "//", "\\", "/./", "\u2215", "\uff0f")


def escapes() -> Iterator[str]:
    """Well over 5,000 spellings of ways out, in, and round."""
    yield from STEPS
    for first, separator, second in itertools.product(STEPS, SEPARATORS, STEPS):
        yield f"{first}{separator}{second}"
        yield f"notes/{first}{separator}{second}/passwd"
    yield from (
        "/etc/passwd",
        "//host/share",
        "\\\\?\\C:\\x",
        "C:\\x",
        "C:/x",
        "C:x/../..",
        "file:///etc/passwd",
        "/" * 40,
    )


def stays_inside(address: Address, root: Path) -> bool:
    path = os.path.normpath(root / address.path)
    return path.startswith(f"{root}{os.sep}") and os.path.relpath(path, root) == address.path


def names_hidden(address: Address) -> bool:
    for part in address.path.split("/"):
        plain = unicodedata.normalize("NFKC", part).casefold()
        visible = "".join(c for c in plain if unicodedata.category(c) != "Cf" and c not in BLANK).strip()
        if visible.startswith(".") or visible.rstrip(". ") in {"", "git~1"}:
            return True
    return False


def test_none_of_thousands_of_spellings_escapes(tmp_path: Path) -> None:
    tried = accepted = 0
    for text in escapes():
        tried += 1
        try:
            address = parse_address(text)
        except InvalidInputError:
            continue
        accepted += 1
        assert stays_inside(address, tmp_path), ascii(text)
        assert not names_hidden(address), ascii(text)
        assert len(os.fsencode(address.name)) <= MAX_COMPONENT_BYTES
    assert tried > 5_000
    assert accepted, "the plain ones among them are addresses"


@given(st.text(alphabet=st.sampled_from("./\\ ~:%aGgIiTt1\0\n\u200d\uff0e\u2024\u0301é\u3164\ufe0f"), max_size=24))
@example("\u200d \u200d")
@example("git~1 \u200d")
@example("git~1.\u200d")
@example("notes/\u200d \u200d/a.md")
@example("\u200d .git/config")
@example("git~1\ufe0f/config")
@example("\u3164")
@example("\u2800.md")
def test_whatever_is_accepted_stays_inside_and_visible(text: str) -> None:
    try:
        address = parse_address(text)
    except InvalidInputError:
        return
    assert stays_inside(address, Path("/root"))
    assert not names_hidden(address)
    assert parse_address(address.path) == address


@given(st.text(alphabet=st.sampled_from("./ ~aGgIiTt1_-(+,\n\\"), max_size=16))
@example("a" * MAX_COMPONENT_BYTES)
@example("a" * (MAX_COMPONENT_BYTES + 1))
@example("a./b")
@example("a b /c")
@example("a\n")
def test_a_plain_path_is_refused_as_it_is_below_a_folder_of_another_script(text: str) -> None:
    # A path with such a folder goes through every rule, a plain one through a single pattern.
    assert is_accepted(text) == is_accepted(f"é/{text}")


def is_accepted(text: str) -> bool:
    try:
        parse_address(text)
    except InvalidInputError:
        return False
    return True


@each_case(
    "text",
    [
        "a.md",
        "notes/idea.md",
        "Über/Größe.md",
        "日本/語.md",
        "a b/c (1).md",
        "x..y/z.md",
        "img/p.png",
        "\u2764\ufe0f.md",
        "\U0001f469\u200d\U0001f680.md",
        "\u0644\u200d\u0627.md",
    ],
)
def test_ordinary_paths_are_addresses(text: str) -> None:
    assert parse_address(text).path == text


@each_case(
    ("text", "reason"),
    [
        ("", "empty"),
        ("a/../b", "'.' and '..'"),
        ("/a.md", "absolute"),
        ("C:/a.md", "absolute"),
        ("a\\b.md", "backslash"),
        ("a//b.md", "empty part"),
        (".git/config", "begins with a dot"),
        ("a\nb.md", "control character"),
        ("a./b", "ends in a dot"),
        ("x" * 252 + "/" + "y" * 256, "longer than 255"),
        ("/".join(["x" * 200] * 6), f"longer than {MAX_PATH_BYTES:,}"),
        ("\ud800", "surrogate"),
        ("git~1/config", "Git name"),
        ("\u200d \u200d", "a part has no visible character"),
    ],
)
def test_a_refusal_names_the_rule(text: str, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason) as caught:
        parse_address(text)
    assert caught.value.kind == "path"
    assert "relative" in caught.value.hint


def test_a_refusal_shows_control_characters_escaped() -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_address("a\x1b[31m\n.md")
    assert str(caught.value).isprintable()


def test_a_document_address_forgives_a_slash_in_front_and_a_missing_suffix() -> None:
    assert parse_document_address("/notes/idea") == Address("notes/idea.md")
    assert parse_document_address("notes/idea.markdown") == Address("notes/idea.markdown")
    assert parse_document_address("v1.2") == Address("v1.2.md")
    assert parse_document_address("firms/Acme Inc.") == Address("firms/Acme Inc..md")
    with pytest.raises(InvalidInputError, match="not allowed"):
        parse_document_address("firms/..")
    with pytest.raises(InvalidInputError, match="ends in a dot"):
        parse_document_address("Acme Inc./plan")
    with pytest.raises(InvalidInputError, match="absolute"):
        parse_document_address("//host/share")


def test_the_parts_of_an_address() -> None:
    address = Address("notes/deep/Idea.MD")
    assert (address.folder, address.name, address.stem, address.id) == (
        "notes/deep",
        "Idea.MD",
        "Idea",
        "notes/deep/Idea",
    )
    assert address.is_document
    assert not Address("img/p.png").is_document
    assert Address(".md").id == ".md"
    assert str(Address("a.md")) == "a.md"


def test_folding_unites_case_width_and_accent_encoding() -> None:
    assert fold("ＣＡＦÉ") == fold("cafe\u0301") == fold("café")
    assert fold("Straße") == fold("STRASSE")
