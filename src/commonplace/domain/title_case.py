"""The names of an Otterwiki with its default setting `RETAIN_PAGE_NAME_CASE=False`.

It stores every page under a lower-case name and shows the name in title case: `actors/iran.md` is `Actors/Iran`. The
rule is that of Otterwiki 2.26 (`otterwiki.helper.get_pagename`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.domain.addresses import Address

if TYPE_CHECKING:
    from commonplace.domain.ports import Store

START_PAGE = "home.md"
LETTERS = "'ß"
"""Characters that stay as they are and within which no word begins."""


def has_lower_case_names(store: Store) -> bool:
    """Whether such an Otterwiki made the folder: `home.md` is there, and no page or folder beside it has a capital."""
    pages = [address.name for address, _ in store.files("") if address.is_document]
    return START_PAGE in pages and all(name == name.lower() for name in (*pages, *store.folders("")))


def shown_title(title: str, path: str) -> str:
    """The title of a page in such a folder: in title case if it is the name of the page's file."""
    return title_case(title) if title == Address(path).stem else title


def title_case(path: str) -> str:
    """A path in title case; a part that has a capital already stays."""
    return "/".join(part if part != part.lower() else _titled_part(part) for part in path.split("/"))


def _titled_part(part: str) -> str:
    shown: list[str] = []
    in_word = False
    for letter in part:
        is_fixed = letter in LETTERS
        shown.append(letter if is_fixed or in_word else letter.title())
        in_word = is_fixed or letter.islower() or letter.isupper() or letter.istitle()
    return "".join(shown)
