"""What pages and sections declare about whether they hold, in the forms in which people write it."""

from __future__ import annotations

import time

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.status import (
    DeclaredStatus,
    Status,
    declared_statuses,
    due_review,
    next_review,
    reviewed_fields,
    status_names,
    status_on,
    unread_days,
)

DAY = "2026-06-15"


def _declared(text: str) -> tuple[DeclaredStatus, ...]:
    return declared_statuses(read_document(Address("a.md"), text.encode()))


PAGES = {
    "status: draft": (Status.DRAFT, ""),
    "draft: true": (Status.DRAFT, ""),
    "draft: false": (Status.CURRENT, ""),
    "status: Accepted": (Status.CURRENT, ""),
    "status: superseded": (Status.SUPERSEDED, ""),
    "status: superseded by [ADR-0005](0005-new.md)": (Status.SUPERSEDED, "0005-new.md"),
    'status: "superseded by [[0005-new|ADR 5]]"': (Status.SUPERSEDED, "0005-new"),
    "status: Superseded by 0005-new.md": (Status.SUPERSEDED, "0005-new.md"),
    "superseded_by: new.md": (Status.SUPERSEDED, "new.md"),
    'superseded_by: ["[[New]]"]': (Status.SUPERSEDED, "New"),
    "status: accepted\nsuperseded_by: new.md": (Status.SUPERSEDED, "new.md"),
    "status: deprecated": (Status.RETIRED, ""),
    "deprecated: true": (Status.RETIRED, ""),
    "deprecated: 2026-01-01": (Status.RETIRED, ""),
    "deprecated: no": (Status.CURRENT, ""),
    "tombstone: true": (Status.RETIRED, ""),
    "expires: 2026-06-14": (Status.EXPIRED, ""),
    "expiry: 2026-06-15": (Status.CURRENT, ""),
    "valid_until: 2026-06-16": (Status.CURRENT, ""),
    "expires: soon": (Status.CURRENT, ""),
    "status: frobnicated": (Status.CURRENT, ""),
    "status: {a: 1}": (Status.CURRENT, ""),
    "status: 7": (Status.CURRENT, ""),
    "Status: Deprecated": (Status.RETIRED, ""),
    "superseded-by: new.md": (Status.SUPERSEDED, "new.md"),
    "supersededBy: new.md": (Status.SUPERSEDED, "new.md"),
    "Superceded by: new.md": (Status.SUPERSEDED, "new.md"),
    "superseded_by: none": (Status.CURRENT, ""),
    "superseded: true": (Status.SUPERSEDED, ""),
    "superseded: new.md": (Status.SUPERSEDED, "new.md"),
    "superseded: 2026-01-01": (Status.SUPERSEDED, ""),
    "status: Superceded by 0005.md": (Status.SUPERSEDED, "0005.md"),
    "status: draft, superseded": (Status.SUPERSEDED, ""),
    "status: [accepted, superseded]": (Status.SUPERSEDED, ""),
    "status: accepted; supersedes [B](b.md)": (Status.CURRENT, ""),
    "status: Accepted, superseded by [B](b.md) on 2021-01-01": (Status.SUPERSEDED, "b.md"),
    "status: superseded by ADR-5 (2021-01-01)": (Status.SUPERSEDED, "ADR-5"),
    "status: Superseded, see [B](b.md)": (Status.SUPERSEDED, "b.md"),
    "status: deprecated in favor of [N](n.md)": (Status.RETIRED, "n.md"),
    "status: Deprecated since 2.0": (Status.RETIRED, ""),
    "status: partially superseded by x.md": (Status.CURRENT, ""),
    "status: proposed | accepted | superseded": (Status.CURRENT, ""),
    "status: '{proposed | accepted | … | superseded by [ADR-0005](0005.md)}'": (Status.CURRENT, ""),
    "Valid-Until: 14.06.2026": (Status.EXPIRED, ""),
    "expires: 2026-05": (Status.EXPIRED, ""),
    "expires: 2026-06": (Status.CURRENT, ""),
    "expires: May 31, 2026": (Status.EXPIRED, ""),
    "expires: 3/4/2020": (Status.CURRENT, ""),
    f"superseded_by: {'x' * 5000}": (Status.SUPERSEDED, ""),
}


@pytest.mark.parametrize("written", PAGES)
def test_the_status_of_a_page(written: str) -> None:
    declared = _declared(f"---\n{written}\n---\n# A\n\ntext\n")
    status, by = PAGES[written]
    assert (status_on(declared[0], DAY) if declared else Status.CURRENT) is status
    assert (declared[0].by if declared else "") == by


def test_decision_records_declare_it_in_their_text() -> None:
    cases = {
        "# 1. A\n\n## Status\n\nSuperseded by [9. B](0009-b.md)\n\n## Context\n\nx\n": ("superseded", "0009-b.md"),
        "# 1. A\n\n## Status\n\nDeprecated\n": ("deprecated", ""),
        "# 1. A\n\n* Status: superseded by [B](b.md)\n* Date: 2020-01-01\n": ("superseded", "b.md"),
        "# 1. A\n\n**Status:** Rejected.\n": ("rejected", ""),
        "# A\n\n## Status\n\nAccepted\n\nSuperceded by [9. B](0009-b.md)\n": ("superseded", "0009-b.md"),
        "# A\n\n## Status\n\n- Accepted 2020-02-01\n- Superseded by [B](b.md) 2021-01-01\n": ("superseded", "b.md"),
        "# A\n\n## 2. Status\n\n| Date | Is |\n|--|--|\n| 2020-01-01 | Superseded by [B](b.md) |\n": (
            "superseded",
            "b.md",
        ),
        "# A\n\n## Status: Superseded by [B](b.md)\n\nx\n": ("superseded", "b.md"),
        "# A\n\n## Status\n\nProposed 2020-01-01\n\nAccepted 2020-02-01\n\nDeprecated 2021-02-03\n": (
            "deprecated 2021-02-03",
            "",
        ),
        "# A\n\n## Status\n\n| Rejected | 2021-02-03 |\n|--|--|\n": ("rejected | 2021-02-03", ""),
        "# A\n\n## Status\n\nDeprecated: see below\n": ("deprecated: see below", ""),
        "# A\n\n## Status\n\nAccepted: 2020-01-01\n\nRejected: 2021-02-03\n": ("rejected: 2021-02-03", ""),
        "# A\n\n## Status\n\nThis was superseded by [B](b.md).\n": ("superseded", "b.md"),
        "# A\n\n## Status\n\n~~Accepted~~ Superseded by [B](b.md)\n": ("superseded", "b.md"),
        "# A\n\n## Status\n\n- [ ] Proposed\n- [x] Rejected\n- [ ] Superseded\n": ("rejected", ""),
        "# A\n\n| Status | Superseded by [B](b.md) |\n|---|---|\n| Date | 2020 |\n": ("superseded", "b.md"),
        "# A\n\n- Status: Accepted\n- Superseded by: [B](b.md)\n": ("superseded", "b.md"),
        "# A\n\n- Status: rejected\n- Superseded by: -\n": ("rejected", ""),
        "# A\n\n## Status\n\nAccepted\n\nSuperseded by: none\n": ("accepted", ""),
        "# A\n\n## Status\n\nAccepted\n\nSuperseded by:\n": ("accepted", ""),
        "# 1. A\n\n~~~md\n```\nStatus: superseded\n~~~\n\nStatus: rejected\n": ("rejected", ""),
    }
    for text, expected in cases.items():
        (declared,) = _declared(text)
        assert (declared.word, declared.by) == expected


def test_texts_that_declare_no_status() -> None:
    choices = "What is the status, such as proposed, accepted, rejected, deprecated, superseded, etc.?"
    for text in (
        "## Status\n\nThe server answers 404.\n",
        "Status: 200 OK means done.\n",
        "",
        f"## Status\n\n{choices}\n",
        "## Status\n\nProposed | Accepted | Rejected | Superseded by [B](b.md)\n",
        "## Status\n\n- Proposed\n- Accepted\n- Deprecated\n- Superseded\n",
        "## Status\n\nDeprecated headers are ignored.\n",
        "## Status\n\n```\nDeprecated\n```\n<!-- Superseded by x -->\n",
        "## Status codes\n\nDeprecated\n",
    ):
        assert _declared(f"# A\n\n{text}") == (), text


@pytest.mark.parametrize(
    "text", ["- " * 150, "| " * 2_000, "~~" * 2_000, "<!--" * 1_000, "superseded " * 90, ", (" * 99]
)
def test_reading_a_status_takes_linear_time(text: str) -> None:
    begun = time.process_time()
    assert _declared(f"---\nstatus: '{text}'\n---\n# A\n\n## Status\n\n{text}\n") is not None
    assert time.process_time() - begun < 0.2


def test_a_section_declares_it_in_the_attributes_of_its_heading() -> None:
    first = '# A\n\n## Port {#port status=superseded by="net.md#port"}\n\n8080\n\n### Why\n\nx\n\n'
    text = f"{first}## Host {{expires=2026-01-01}}\n\ny\n"
    port, host = _declared(text)
    assert (port.ordinal, port.last, port.word, port.by) == (2, 3, "superseded", "net.md#port")
    assert status_on(host, DAY) is Status.EXPIRED
    (tombstone,) = _declared("# A\n\n## Host {#host override=none}\n\ny\n\n## Other {#other override=section}\n")
    assert (tombstone.ordinal, status_on(tombstone, DAY)) == (2, Status.RETIRED)


def test_the_day_of_a_review() -> None:
    cases = {
        ("2026-01-31", "1 month"): "2026-02-28",
        ("2024-02-29", "1 year"): "2025-02-28",
        ("2026-01-01", "6 months"): "2026-07-01",
        ("2026-01-01", "2 weeks"): "2026-01-15",
        ("9999-12-01", "6 months"): "",
        ("2026-01-01", "later"): "",
    }
    for (last, period), day in cases.items():
        assert due_review({"last_reviewed_on": last, "review_in": period})[0] == day
    assert due_review({"review-by": "2026-02-03"}) == ("2026-02-03", "review-by")
    assert due_review({"Review By": "November 2026"}) == ("2026-11-30", "Review By")
    assert due_review({"Reviewed": "1.1.2026", "review-in": "1 month"})[0] == "2026-02-01"
    assert due_review({"review_by": "soon"}) == ("", "")


def test_a_review_is_noted_in_the_spelling_of_the_page() -> None:
    fields = reviewed_fields({"Review-By": "30.11.2026", "lastReviewed": "2026-01"}, "2026-06-15")
    assert fields == {"lastReviewed": "2026-06-15", "Review-By": "2026-12-15"}


def test_days_that_are_not_read_are_named_with_their_keys() -> None:
    values = {"expires": "3/4/2026", "Valid-Until": "2027-01-01", "review_by": "2026-02-31", "expiry": "29/11/2026"}
    assert [key for key, _ in unread_days(values)] == ["expires", "review_by"]
    assert unread_days({"expires": "never", "review_by": "{{date}}", "review-by": "2027-01-01", "a": "b"}) == []


def test_a_review_names_an_earlier_expiry() -> None:
    assert next_review({"review_by": "2027-05-30"}) == "next review 2027-05-30"
    assert next_review({"review_by": "2027-05-30", "expires": "2028-01-01"}) == "next review 2027-05-30"
    assert "expiry of 2026-11-29 (valid_until)" in next_review({"review_by": "2027-05-30", "valid_until": "2026-11-29"})


def test_a_setting_maps_other_names() -> None:
    names = status_names(("outdated=superseded", " Stale = retired"))
    (declared,) = _declared("---\nstatus: Outdated\n---\n")
    assert status_on(declared, DAY) is Status.CURRENT
    assert status_on(declared, DAY, names) is Status.SUPERSEDED
    for wrong in ("outdated", "=superseded", "outdated=gone"):
        with pytest.raises(ValueError, match=wrong):
            status_names((wrong,))


@pytest.mark.parametrize(
    "text",
    [
        "| value | meaning |\n|---|---|\n| proposed | new |\n| accepted | in force |\n| deprecated | old |\n",
        "| Status | Meaning |\n|---|---|\n| active | it runs |\n| retired | it is gone |\n",
        "- Accepted: 5\n- Rejected: 3\n",
        "We retired the old cluster, replaced by [this one](b.md).\n",
        "Retired machines are in the cellar.\n",
    ],
)
def test_a_section_that_explains_statuses_or_tells_of_other_things_declares_none(text: str) -> None:
    assert not _declared(f"# A\n\n## Status\n\n{text}")
