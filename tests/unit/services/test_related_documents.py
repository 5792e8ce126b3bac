"""Pages that are like another one: for readers, and as a warning before a page is written twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import NotFoundError
from commonplace.services.related_documents import MAX_SAMPLE_BYTES, NearDuplicates, related
from indexed import Indexed

LONG = " ".join(f"word{number} follows" for number in range(40))
FILES = {
    "cat.md": "# Cat\n\nA cat purrs on the mat.\n\nSee [[mat]].\n",
    "mat.md": "# Mat\n\nA mat for cats that purr.\n",
    "quoting.md": "# Lentils\n\nShe said “boil lentils twice” and left.\n",
    "shouting.md": "# Soup\n\nBoil lentils AND wait, do NOT stir OR taste.\n",
    "excluding.md": "# Pan\n\n-lentils -boil twice\n",
    "cooking.md": "# Cooking\n\nHow to boil lentils, twice or once.\n",
    "long.md": f"# Long\n\n{LONG}\n",
    "empty.md": "",
    "signs.md": "---\ntitle: '!!!'\n---\n— … —\n",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("related"), FILES) as indexed:
        yield indexed


def paths(base: Indexed, path: str, limit: int = 10) -> list[str]:
    return [document.found.record.address.path for document in related(base.collection, Address(path), limit)]


def test_a_page_is_related_to_those_with_its_words_and_not_to_itself(base: Indexed) -> None:
    documents = related(base.collection, Address("cat.md"), 10)
    assert (documents[0].found.record.address.path, documents[0].linked) == ("mat.md", True)
    assert "cat.md" not in paths(base, "cat.md")
    assert related(base.collection, Address("mat.md"), 10)[0].linked, "a link counts in both directions"


@pytest.mark.parametrize("path", ["quoting.md", "shouting.md", "excluding.md"])
def test_what_a_page_says_is_never_read_as_search_syntax(base: Indexed, path: str) -> None:
    assert "cooking.md" in paths(base, path)


def test_at_most_the_wanted_number_of_pages_is_given_and_a_page_without_words_has_none(base: Indexed) -> None:
    assert len(paths(base, "cooking.md", 1)) == 1
    assert paths(base, "cooking.md", 0) == []
    assert "long.md" not in paths(base, "signs.md")


def test_a_missing_page_is_said_to_be_missing(base: Indexed) -> None:
    with pytest.raises(NotFoundError):
        related(base.collection, Address("none.md"), 3)


def draft(text: str, path: str = "new.md") -> tuple[str, str]:
    return path, text


def duplicate(duplicates: NearDuplicates, text: str, path: str = "new.md") -> str:
    return duplicates.of(path, read_document(Address(path), text.encode()))


def test_a_page_that_is_written_again_is_noticed_whatever_its_markup(base: Indexed) -> None:
    duplicates = NearDuplicates(base.collection)
    assert duplicate(duplicates, f"# Other\n\n**{LONG}** too\n") == "long"
    assert duplicate(duplicates, f"---\ntags: [x]\n---\n> {LONG.upper()}\n") == "long"
    assert (
        duplicate(
            duplicates, "# Long\n\nAnother text about something else altogether, in many words of its own here.\n"
        )
        == ""
    )


def test_two_new_pages_of_one_text_are_noticed_among_themselves(base: Indexed) -> None:
    duplicates = NearDuplicates(base.collection)
    text = " ".join(f"fresh{number}" for number in range(40))
    assert duplicate(duplicates, text, "one.md") == ""
    assert duplicate(duplicates, text + " more", "two.md") == "one.md"
    assert duplicate(NearDuplicates(base.collection), text, "three.md") == ""


def test_texts_too_short_to_compare_are_never_duplicates(base: Indexed) -> None:
    assert duplicate(NearDuplicates(base.collection), FILES["cat.md"]) == ""
    assert duplicate(NearDuplicates(base.collection), "") == ""


def test_only_the_beginning_of_a_large_page_is_compared(tmp_path: Path) -> None:
    line = "".join(f"w{number} " for number in range(200)) + "\n"
    same = line * (MAX_SAMPLE_BYTES // len(line) + 1)
    with Indexed(tmp_path, {"large.md": same + "x " * 50_000}) as base:
        assert duplicate(NearDuplicates(base.collection), same + "y " * 50_000) == "large"
