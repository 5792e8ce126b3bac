"""Pages that state different values for one subject, and pages that only look so."""

from __future__ import annotations

import re
import time
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.claims import PageClaim
from commonplace.domain.document_reader import read_document
from commonplace.services.health.contradictions import ClaimIndex, changed_claim_findings
from indexed import Indexed
from support import new_repo

SENTENCE = "The gateway of the shop answers within {} on every working day."
_FREEZER = "The red freezer of the second floor is kept at {} all year."
CONTRADICTIONS = [
    (SENTENCE.format("20 ms"), SENTENCE.format("30 ms")),
    ("Support for the old client ends on 2026-01-31 in all regions.",
     "Support for the old client ends on 2026-02-28 in all regions."),
    ("Install at least version 7.2.1 of the tool before the migration.",
     "Install at least version 7.4 of the tool before the migration."),
    ("## Shop gateway\n\nListening port: 8080", "## Shop gateway\n\n**Listening port**: 9090"),
    ("## Shop gateway\n\n- Encrypted at rest: yes", "## Shop gateway\n\n- Encrypted at rest: no"),
    ("| Service | Default port |\n|---|---|\n| Shop gateway | 8080 |",
     "| Service | Default port |\n|---|---|\n| Shop gateway | 9090 |"),
    ("Read the whole story at https://example.org/old before you begin here.",
     "Read the whole story at https://example.org/new before you begin here."),
    ("> [!NOTE]\n> The old gateway of the shop is off by default since then.",
     "> [!NOTE]\n> The old gateway of the shop is on by default since then."),
    ("## Gates of the shop\n\nThere are two of them.", "## Gates of the shop\n\nThere are three of them."),
    ("| Plan | Limits |\n|---|---|\n| Small shop | Up to 1000 orders for each day |",
     "| Plan | Limits |\n|---|---|\n| Small shop | Up to 3500 orders for each day |"),
    ("Release 7.1 of the shop came with gateway 2.1.\n\nRelease 7.2 of the shop came with gateway 2.2.",
     "Release 7.1 of the shop came with gateway 2.1.\n\nRelease 7.2 of the shop came with gateway 2.3."),
    *(
        (_FREEZER.format(value), _FREEZER.format(other))
        for value, other in (
            ("-80 °C", "-20 °C"),
            ("-80 °C", "80 °C"),
            ("\u221280 °C", "80 °C"),
            ("minus 80 °C", "minus 20 °C"),
            ("220 g", "220 mg"),
            ("0.45 µm", "0.45 mm"),
            ("3000 g", "3000 rpm"),
            ("10-12 hours", "10-14 hours"),
            ("\u0661\u0668 °C", "\u0662\u0660 °C"),
        )
    ),
    ("The door of the northern building two is locked: yes.", "The door of the northern building two is locked: no."),
    ("| Item | Storage temperature |\n|---|---|\n| Filter of deep water | -80 °C |",
     "| Item | Storage temperature |\n|---|---|\n| Filter of deep water | -20 °C |"),
    ("## Cold yard\n\n- Freezer temperature: -80 °C", "## Cold yard\n\n- Freezer temperature: -20 °C"),
    ("二階の赤い冷凍庫の横にある水槽の水温は18℃に保つ。", "二階の赤い冷凍庫の横にある水槽の水温は20℃に保つ。"),
    ("## Shop gateway\n\nContact person: Ada Lovelace", "## Shop gateway\n\nContact person: Alan Turing"),
]  # fmt: skip
INNOCENT = [
    (SENTENCE.format("20 ms"), SENTENCE.format("20 ms")),
    (SENTENCE.format("20 ms"), "The gateway of the bank answers within 30 ms on every working day."),
    (f"```\n{SENTENCE.format('20 ms')}\n```", f"```\n{SENTENCE.format('30 ms')}\n```"),
    ("Type: String", "Type: Number"),
    (_FREEZER.format("\u221280 °C"), _FREEZER.format("minus 80 °C")),
    (_FREEZER.format("0.45 µm"), _FREEZER.format("450 nm")),
    (_FREEZER.format("10-12 hours"), _FREEZER.format("10\u201312 hours")),
    ("窓が5個ある。", "窓が6個ある。"),
    ("There are four gates in the old wall of the shop.", "There are 4 gates in the old wall of the shop."),
    ("## Example\n\nThere are two of them.", "## Example\n\nThere are three of them."),
    ("> The old gateway of the shop is off by default since then, says he.",
     "> The old gateway of the shop is on by default since then, says he."),
    ("Step 1 of 3 is easy.", "Step 2 of 3 is easy."),
    ("We sold 3 of 5 cars with 4 doors within the last year, as planned.",
     "We sold 4 of 6 cars with 4 doors within the last year, as planned."),
]  # fmt: skip
PLACES = {
    "v1/setup.md": "v2/setup.md",
    "journal/2026-01-01.md": "journal/2026-01-02.md",
    "templates/a.md": "b.md",
    "changelog.md": "b.md",
    "answers-20ms.md": "b.md",
}


def _found(place: Path, pages: dict[str, str]) -> int:
    with Indexed(place, pages) as base:
        claims = ClaimIndex(base.collection)
        for record in base.index.records():
            claims.add(record.address, base.store.read(record.address))
        return len(list(claims.findings()))


def test_pages_that_state_different_values(tmp_path: Path) -> None:
    for number, (element, other) in enumerate(CONTRADICTIONS):
        pages = {"one.md": f"# One\n\n{element}\n", "deep/other.md": f"# Other\n\n{other}\n"}
        assert _found(tmp_path / f"yes{number}", pages) == 1, element
    for number, (element, other) in enumerate(INNOCENT):
        pages = {"one.md": f"# One\n\n{element}\n", "other.md": f"# Other\n\n{other}\n"}
        assert _found(tmp_path / f"no{number}", pages) == 0, element


def test_front_matter_is_compared_with_fields_below_its_title(tmp_path: Path) -> None:
    page = "---\ntitle: Northern quay berth\n{}\n---\n{}\n"
    cases = [
        (page.format("fee: 45 euro", ""), page.format("fee: 50 euro", ""), 1),
        (page.format("fee: 45 euro", ""), page.format("fee: 45 euro", ""), 0),
        (page.format("open_since: 2020-01-02", ""), "# Northern quay berth\n\n**Open since**: 2021-03-04\n", 1),
        (page.format("fee: 45 euro", "# Northern quay berth\n\nFee: 50 euro"), "# Other\n", 1),
        (page.format("date: 2020-01-02", ""), page.format("date: 2021-01-02", ""), 0),
        (page.format("ms.date: 2020-01-02", ""), page.format("ms.date: 2021-01-02", ""), 0),
        (page.format("keeper: Ada", ""), page.format("keeper: Eve", ""), 0),
    ]
    for number, (text, other, count) in enumerate(cases):
        assert _found(tmp_path / str(number), {"one.md": text, "deep/other.md": other}) == count, text
    with Indexed(tmp_path / "write", {"one.md": cases[0][0]}) as base:
        own = read_document(Address("two.md"), cases[3][0].encode())
        messages = [finding.message.partition(":")[0] for finding in changed_claim_findings(base.collection, None, own)]
        assert messages[0] == "It states '45 euro' where two.md, line 7, states '50 euro'"
        assert messages[1].startswith("It states '50 euro'")


def test_only_the_claims_of_a_lapsed_section_have_lapsed_and_a_field_has_its_line(tmp_path: Path) -> None:
    page = "---\ntitle: Northern quay berth\nfee: {} euro\n---\n{}"
    history = "\n## History {#hist status=superseded by=new.md}\n\n# Northern quay berth\n\n"
    lapsed = "\n## Northern quay berth {#hist status=superseded by=new.md}\n\nFee: 45 euro\n\n## Now\n\nText.\n"
    assert _found(tmp_path / "section", {"a.md": page.format(45, history), "deep/b.md": page.format(50, "")}) == 1
    assert _found(tmp_path / "lapsed", {"a.md": lapsed, "deep/b.md": page.format(50, "")}) == 0
    holds = lapsed.replace(" {#hist status=superseded by=new.md}", "")
    assert _found(tmp_path / "holds", {"a.md": holds, "deep/b.md": page.format(50, "")}) == 1
    with Indexed(tmp_path / "write", {"a.md": page.format(45, history)}) as base:
        new = read_document(Address("deep/b.md"), page.format(50, "").encode())
        (finding,) = changed_claim_findings(base.collection, None, new)
        assert finding.line == 3
        assert "a.md, line 3, states" in finding.message


def test_a_write_beside_what_it_superseded_is_compared(tmp_path: Path) -> None:
    head, sentence = "# Berths\n\n## Berth fee\n\n", "The berth fee of the inner harbour is {} euro a night.\n"
    kept = f"\n## History\n\n### Berth fee {{status=superseded by=#berth-fee}}\n\n{sentence.format(45)}"
    with Indexed(tmp_path, {"other.md": f"# Overview\n\n{sentence.format(45)}"}) as base:
        old = read_document(Address("a.md"), (head + sentence.format(45)).encode())
        for text, count in ((head + sentence.format(52) + kept, 1), (head + sentence.format(45) + kept, 0)):
            new = read_document(Address("a.md"), text.encode())
            assert len(list(changed_claim_findings(base.collection, old, new))) == count
        gone = read_document(
            Address("a.md"), f"---\nsuperseded_by: other.md\n---\n{head}{sentence.format(52)}".encode()
        )
        assert not list(changed_claim_findings(base.collection, old, gone))


def test_templates_journals_and_parallel_folders_may_differ(tmp_path: Path) -> None:
    element, other = f"# A\n\n{SENTENCE.format('20 ms')}\n", f"# A\n\n{SENTENCE.format('30 ms')}\n"
    for number, (first, second) in enumerate(PLACES.items()):
        assert _found(tmp_path / str(number), {first: element, second: other}) == 0, first
    shape = {f"{lang}/{name}.md": "# X\n" for lang in ("en", "de") for name in ("a", "b", "c")}
    assert _found(tmp_path / "lang", {**shape, "en/one.md": element, "de/eins.md": other}) == 0
    assert _found(tmp_path / "translated", {"en/one.md": element, "pt-br/um.md": other}) == 0
    notes = {"Release notes/v1.13.md": element, "Release notes/v1.6.5.md": "", "guide.md": other}
    assert _found(tmp_path / "notes", notes) == 0
    many = {f"p{n}.md": f"# P\n\n{SENTENCE.format(f'{n} ms')}\n" for n in range(9)}
    assert _found(tmp_path / "many", many) == 0
    assert _found(tmp_path / "old", {"a.md": f"---\nsuperseded_by: b.md\n---\n{element}", "b.md": other}) == 0


def test_a_write_is_told_within_its_time(tmp_path: Path) -> None:
    pages = {f"p{n}.md": f"# P{n}\n\nPage {n} tells of the gateway and the shop.\n" for n in range(200)}
    with Indexed(tmp_path, {**pages, "other.md": f"# Other\n\n{SENTENCE.format('20 ms')}\n"}) as base:
        old = read_document(Address("a.md"), b"# A\n")
        new = read_document(Address("a.md"), f"# A\n\n{SENTENCE.format('30 ms')}\n".encode())
        (finding,) = changed_claim_findings(base.collection, old, new)
        assert "'30 ms'" in finding.message
        assert "other.md, line 3, states '20 ms'" in finding.message
        before = time.thread_time()
        assert len(list(changed_claim_findings(base.collection, old, new))) == 1
        assert time.thread_time() - before < 0.03
        assert not list(changed_claim_findings(base.collection, new, new))
        words = ("old", "new", "red", "big", "low", "dim", "far")
        cranes = [f"The {word} crane of the harbour lifts {n}0 tonnes in calm air." for n, word in enumerate(words)]
        long = "\n\n".join(["# A", SENTENCE.format("30 ms"), *cranes])
        uncompared: list[PageClaim] = []
        page = read_document(Address("a.md"), f"{long}\n".encode())
        list(changed_claim_findings(base.collection, old, page, uncompared))
        assert uncompared


def test_a_statement_is_of_the_one_who_made_it(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base")
    for name, path, text in (
        ("Old Xavier", "x.md", f"# X\n\n{SENTENCE.format('20 ms')}\n\ntpyo\n"),
        ("New Yvonne", "y.md", f"# Y\n\n{SENTENCE.format('30 ms')}\n"),
        ("Typo Tom", "x.md", f"# X\n\nNew.\n\n{SENTENCE.format('20 ms')}\n\ntypo\n"),
    ):
        repo.git("config", "user.name", name)
        repo.commit(path, **{path: text})
    with Indexed(tmp_path) as base:
        claims = ClaimIndex(base.collection)
        for record in base.index.records():
            claims.add(record.address, base.store.read(record.address))
        ((_, finding),) = claims.findings()
        assert re.search(r"'20 ms' \(\d{4}-\d\d-\d\d Old Xavier\)", finding.message)
        assert "New Yvonne" in finding.message


def test_pages_about_different_things_of_one_kind_may_differ(tmp_path: Path) -> None:
    page = "---\ntitle: Limits of the service\n{}\n---\n\nRequests for each minute: {}\n"
    field = "## Rate limits of a key\n\nRequests for each minute: {}\n\n"
    shape = "# {0}\n\n" + field.replace("{}", "{1}") + "## Support\n\nAsk.\n\n## Billing\n\nMonthly.\n"
    cases = [
        ({"a.md": page.format("rate: 60 s", 60), "deep/b.md": page.format("rate: 90 s", 60)}, 1),
        ({"a.md": page.format("rate: 60 s\nproduct: Alpha", 60), "deep/b.md": page.format("rate: 90 s", 60)}, 1),
        *(
            (
                {
                    "a.md": page.format(f"rate: 60 s\n{key}: {first}", 60),
                    "deep/b.md": page.format(f"rate: 90 s\n{key}: {second}", 60),
                },
                count,
            )
            for key, first, second, count in (
                ("product", "Alpha", "Beta", 0),
                ("product", "Alpha", "alpha", 1),
                ("applies_to", "[a, b]", "[b, c]", 1),
                ("applies_to", "[a, b]", "[c]", 0),
                ("ms.service", "vault", "bastion", 0),
                ("keeper", "Ada", "Eve", 1),
            )
        ),
        ({"alpha.md": shape.format("Alpha", 60), "deep/beta.md": shape.format("Beta", 100)}, 0),
        ({"alpha.md": shape.format("Alpha", 60), "deep/beta.md": f"# Beta\n\n{field.format(100)}"}, 1),
        ({"alpha.md": shape.format("Alpha", 60), "deep/copy.md": shape.format("Alpha", 100)}, 1),
        (
            {
                "x/one.md": f"# A\n\n{field.format(60)}",
                "y/two.md": f"# A\n\n{field.format(90)}",
                **dict.fromkeys((f"{folder}/{name}.md" for folder in "xy" for name in "abc"), "# X\n"),
            },
            0,
        ),
    ]
    for number, (pages, count) in enumerate(cases):
        assert _found(tmp_path / str(number), pages) == count, pages
        path = list(pages)[1]
        written = {name: text for name, text in pages.items() if name != path}
        with Indexed(tmp_path / f"write{number}", written) as base:
            new = read_document(Address(path), pages[path].encode())
            assert len(list(changed_claim_findings(base.collection, None, new))) == count, pages
