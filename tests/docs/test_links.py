"""The table of links is true: each of its rows resolves as it says, in the folder that the page draws."""

from __future__ import annotations

import re

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.links import NamedDocument, resolve
from linked import Collection
from support import ROOT

PAGE = (ROOT / "docs" / "links.md").read_text(encoding="utf-8")
TABLE = PAGE[PAGE.index("<!-- rules -->") : PAGE.index("<!-- /rules -->")]
ROWS = [
    (written.replace("\\|", "|"), leads.strip("`"))
    for written, leads in re.findall(r"^\|[^|]*\| `(.*?)` \| (.*?) \|", TABLE, re.MULTILINE)
]


def folder() -> Collection:
    """The collection that the page draws."""
    named: list[NamedDocument] = []
    files: list[str] = []
    for line in re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)[1].splitlines():  # type: ignore[index]
        path, _, about = line.partition("   ")
        if not path.endswith((".md", ".markdown")):
            files.append(path)
            continue
        address = Address(path)
        matches = dict(re.findall(r"(\w+): (\[.*?\]|[^,]+)", about.strip()))
        aliases = tuple(matches.get("aliases", "").strip("[]").split(", ")) if "aliases" in matches else ()
        aliases += (matches["slug"],) if "slug" in matches else ()
        named.append(NamedDocument(address, matches.get("id", address.id), matches.get("title", address.stem), aliases))
    return Collection(*named, files=files)


def test_the_page_has_a_row_for_every_rule() -> None:
    assert len(ROWS) >= 28
    assert TABLE.count("\n| ") - 1 == len(ROWS)


@each_case(("written", "leads"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_resolves_as_it_says(written: str, leads: str) -> None:
    text = f"| a |\n|---|\n| {written} |\n" if "\\|" in written else f"{written}\n"
    document = read_document(Address("notes/page.md"), text.encode())
    if leads == "not a link":
        assert document.links == ()
        return
    (link,) = document.links
    address = resolve(link, document.address, folder())
    assert (address.path if address else "nowhere") == leads
