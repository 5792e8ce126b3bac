"""Copies of a text in several languages are recognised, and the reader's comes first."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.sites import is_language_code, language_folders, language_of, readings, translations_behind

TLDR = ["pages.de/common", "pages.fr/common", "pages.pt_BR/common", "pages/common"]
DOCS = ["docs/en/a", "docs/de/a", "docs/zh-hant/a"]


@each_case(
    ("folders", "found"),
    [
        (TLDR, ["pages.de", "pages.fr", "pages.pt_BR"]),
        (DOCS, ["docs/de", "docs/en", "docs/zh-hant"]),
        (["i18n/fr/docusaurus-plugin-content-docs/current"], ["i18n/fr"]),
        (["company/it", "company/hr/forms", "company/sales"], ["company/hr", "company/it"]),
        (["company/it", "company/sales"], []),
        (["notes/id", "src/my"], []),
    ],
)
def test_folders_named_by_codes_count_beside_others_or_if_they_are_hardly_anything_else(
    folders: list[str], found: list[str]
) -> None:
    assert language_folders(folders) == found


RSYNC = {
    "pages.fr/common/rsync.md": 9.0,
    "pages.de/common/rsync.md": 8.0,
    "other.md": 7.5,
    "pages/common/rsync.md": 7.0,
    "last.md": 1.0,
}


def test_the_copy_in_the_readers_language_stands_for_the_others() -> None:
    folders = language_folders(TLDR)
    assert translations_behind(RSYNC, "en", folders) == {"pages.fr/common/rsync.md", "pages.de/common/rsync.md"}
    assert translations_behind(RSYNC, "de", folders) == {"pages.fr/common/rsync.md", "pages/common/rsync.md"}


def test_a_copy_that_matches_much_better_stands_for_the_one_in_the_readers_language() -> None:
    question_in_french = RSYNC | {"pages/common/rsync.md": 4.0, "pages.de/common/rsync.md": 3.0}
    behind = {"pages/common/rsync.md", "pages.de/common/rsync.md"}
    assert translations_behind(question_in_french, "en", language_folders(TLDR)) == behind


def test_a_page_that_is_found_in_one_language_alone_stays_where_it_is() -> None:
    paths = {"pages.fr/common/rsync.md": 2.0, "other.md": 1.0}
    assert translations_behind(paths, "en", language_folders(TLDR)) == set()


def test_other_regions_the_original_and_english_follow_in_this_order() -> None:
    folders = ["d/en", "d/pt", "d/fr"]

    def behind(wanted_text: str, *paths: str) -> set[str]:
        return translations_behind(dict.fromkeys(paths, 1.0), wanted_text, folders)

    assert behind("pt-br", "d/fr/a.md", "d/pt/a.md") == {"d/fr/a.md"}
    assert behind("ja", "d/fr/a.md", "d/en/a.md", "d/a.md") == {"d/fr/a.md", "d/en/a.md"}
    assert behind("ja", "d/fr/a.md", "d/en/a.md") == {"d/fr/a.md"}


def test_a_translation_is_named_before_the_suffix_or_by_docusaurus() -> None:
    assert ("guide.md", "fr") in readings("guide.fr.md", ())
    path = "i18n/fr/docusaurus-plugin-content-docs/current/a.md"
    assert ("docs/a.md", "fr") in readings(path, ["i18n/fr"])


@pytest.mark.parametrize(("name", "is_code"), [("de", True), ("pt-BR", True), ("zh_Hant_TW", True), ("xx", False)])
def test_codes_are_those_of_iso_639(name: str, is_code: bool) -> None:
    assert is_language_code(name) is is_code


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "de_AT.UTF-8"}, "de-at"),
        ({"LANG": "de_DE", "LC_ALL": "fr_FR.UTF-8@euro"}, "fr-fr"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_readers_language_is_that_of_the_environment(environment: dict[str, str], language: str) -> None:
    assert language_of(environment) == language
