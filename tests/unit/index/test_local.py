"""Events during a scan: new files, writes of other processes, disk failures."""

from __future__ import annotations

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import StorageError
from indexed import MakeBase
from injection.audit_events import Arguments, before, once, raising


def scanned(_: Arguments) -> bool:
    """Any folder that is listed."""
    return True


def test_a_file_that_comes_while_a_scan_goes_on_is_what_links_lead_to(base: MakeBase) -> None:
    made = base({"a.md": "# A\n\n[x](no.md)\n"})

    def happens() -> None:
        made.index.broken()
        made.write("files/plan.png", b"plan")
        made.write("b.md", "# B\n\n![[plan.png]]\n")

    with before("os.scandir", scanned, once(happens)):
        made.index.sync()
    assert [link.target for link in made.index.links_from(Address("b.md"))] == [Address("files/plan.png")]


def test_what_another_process_takes_in_and_out_while_a_scan_goes_on_is_neither_lost_nor_kept(base: MakeBase) -> None:
    made = base({"a.md": "# A\n", "b.md": "# B\n"})
    other = made.another()
    other.sync()

    def happens() -> None:
        other.update([made.write("c.md", "# C\n"), made.write("a.md", "# A, changed\n")])
        (made.folder / "b.md").unlink()
        other.update([Address("b.md")])

    with before("os.scandir", scanned, once(happens)):
        made.index.sync()
    assert made.listed() == ["a.md", "c.md"]
    assert made.found("changed") == ["a.md"]
    other.close()


def test_a_scan_that_fails_is_no_damage_of_the_index(base: MakeBase) -> None:
    made = base({"a.md": "# A\n"})
    catalogue = next(made.cache.rglob("catalogue.sqlite3")).stat().st_ino

    broken = raising(OSError(5, "Input/output error"))
    with (
        before("os.scandir", scanned, broken),
        pytest.raises(StorageError, match="listed: Input/output error"),
    ):
        made.index.sync()
    assert next(made.cache.rglob("catalogue.sqlite3")).stat().st_ino == catalogue
    assert made.listed() == ["a.md"]
