"""The values that a text states for a subject."""

from __future__ import annotations

import random

from commonplace.domain.claims import (
    claims_of,
    claims_of_change,
    contradicting_claims,
    count_words,
    differs,
    is_same_value,
)


def test_the_claims_of_a_text() -> None:
    text = (
        "# Shop\n\nThe gateway of the shop listens on port 8080.\nIt is new.\n\n"
        "## Shop gateway\n\n- **Default port**: 8080\n\n"
        "| Service | Default port |\n|---|---|\n| Shop gateway | 8080 |\n\n"
        "```\nThe gateway of the shop listens on port 1.\n```\n"
    )
    claims = claims_of(text)
    assert [(claim.line, claim.value) for claim in claims] == [(3, "8080"), (8, "8080"), (12, "8080")]
    other = claims_of("The gateway of the shop listens on port 9090.")[0]
    assert other.key == claims[0].key
    assert differs(claims[0], other)
    assert not differs(claims[0], claims[0])
    assert claims_of("") == claims_of("It listens on the port 8080 of the shop.") == []


LINES = (
    *("", "", "", "# Port of the shop", "## Gate of the house", "Size of box: 80", "- Limit of keys: 90", "```", "~~~"),
    *("The gateway of the shop listens on port 9090.", "The long cache of pages", "holds 300 entries a day."),
    *("    Port: 1", "| name of row | size of box |", "| --- | --- |", "| big red row | 4000 |", "> A quote of 5"),
    *("Term of the list", ": 8080"),
)


def test_the_claims_of_a_change_are_those_of_the_whole_page_that_are_new() -> None:
    choices = random.Random(5)
    for _ in range(2_000):
        old = choices.choices(LINES, k=choices.randrange(30))
        start = choices.randrange(len(old) + 1)
        new = [*old[:start], *choices.choices(LINES, k=choices.randrange(4)), *old[start + choices.randrange(4) :]]
        before = {claim[:2] for claim in claims_of("\n".join(old))}
        expected = [claim for claim in claims_of("\n".join(new)) if claim[:2] not in before]
        claims = claims_of_change("\n".join(old), "\n".join(new))
        assert [claim for claim in claims if claim[:2] not in before] == expected, (old, new)
        assert set(claims) <= set(claims_of("\n".join(new)))


def test_one_value_in_two_forms_is_one_value() -> None:
    for value, other in (
        ("2027-03-31", "31 March 2027"),
        ("9:00", "09:00"),
        ("9:30 pm", "21:30"),
        ("1 hour", "60 minutes"),
        ("2 weeks", "14 days"),
        ("60-day", "60 days"),
        ("300ms", "0.3 s"),
        ("1 year", "12 months"),
        ("1 month", "30 days"),
        ("10 MB", "10240 KB"),
        ("10 MB", "10,000 kB"),
        ("10 MiB", "10,240 KiB"),
        ("yes", "enabled"),
        ("$False", "no"),
        ("€5", "5 euros"),
        ("v1.2", "1.2"),
        ("\u221280 °C", "minus 80 °C"),
        ("+5 °C", "5 ℃"),
        ("0.45 µm", "450 nm"),
        ("1,000 mg/L", "1 g/L"),
        ("10-12 hours", "600\u2013720 minutes"),
        ("\u0661\u0668", "18"),
        ("3000 x g", "3,000 \u00d7 g"),
        ("25度", "25 ℃"),
        ("60分", "1時間"),
        ("500円", "\uffe5500"),
        ("50元", "\u00a550"),
        ("60パーセント", "60\uff05"),
        ("500毫克", "0.5 g"),
        ("7.0", "7"),
        ("https://Example.org/", "https://example.org"),
    ):
        assert is_same_value(value, other), (value, other)


def test_other_values_are_no_forms_of_one_and_are_shown_as_they_are_written() -> None:
    for value, other in (
        ("2027-03-31", "30 March 2027"),
        ("9:00", "21:00"),
        ("1 hour", "61 minutes"),
        ("1 month", "1 week"),
        ("10 MiB", "10,000 kB"),
        ("10 bits", "10 bytes"),
        ("5 %", "5"),
        ("20 °C", "20 °F"),
        ("yes", "no"),
        ("-80 °C", "80 °C"),
        ("220 g", "220 mg"),
        ("5 mM", "5 mm"),
        ("3000 g", "3000 rpm"),
        ("5 mg/L", "5 mg/kg"),
        ("10-12 hours", "10-14 hours"),
        ("10-12 hours", "10 hours"),
        ("25度", "26 ℃"),
        ("500円", "500元"),
        ("500円", "\u00a5600"),
        ("30分", "1時間"),
        ("7.5", "8"),
    ):
        assert not is_same_value(value, other), (value, other)
    opened = "The office on the old quay opens its doors at {} for all guests."
    claims = [claims_of(opened.format(time))[0] for time in ("9:00", "09:00", "31 March 2027", "1,000 s.")]
    assert claims[0].key == claims[1].key
    assert [claim.value for claim in claims] == ["9:00", "09:00", "31 March 2027", "1,000 s"]


def test_a_value_is_shown_with_its_sign_range_and_unit() -> None:
    sentence = "The red freezer of the second floor is kept at {} all year."
    for value in ("-80 °C", "\u221280 °C", "minus 80 °C", "10-12 hours", "0.45 µm", "5 mg/L", "3000 x g"):
        assert [claim.value for claim in claims_of(sentence.format(value))] == [value]


def test_words_of_texts_without_blanks_are_counted_by_their_characters() -> None:
    assert [count_words(text) for text in ("The pH is 7", "冷凍庫の水温", "Python編集者", "냉장고 온도")] == [
        3,
        3,
        2,
        2,
    ]


def test_values_are_read_in_linear_time() -> None:
    """Twice the text takes no more than about twice the time; a quadratic rule would take minutes."""
    parts = (
        "1,",
        "1,000",
        "1-",
        "-1 ",
        "minus ",
        "1 m/",
        "1.1",
        "18\u2013 ",
        ": yes",
        "水1",
        "1度/",
        "1分鐘",
        "\uff1a",
    )
    for part in parts:
        claims_of(f"The gateway of the shop answers {part * 10_000} x")


def test_a_value_with_escaped_points_is_that_value() -> None:
    (claim,) = claims_of("The gateway of the harbour office runs Python 3\\.11\\.2 since spring.\n")
    (other,) = claims_of("The gateway of the harbour office runs Python 3.12.0 since spring.\n")
    assert (claim.key, claim.value) == (other.key, "3.11.2")


def test_a_number_and_a_version_are_values_of_one_kind_in_every_form_of_a_statement() -> None:
    for text, values in (
        ("The water of the big tank in the greenhouse is kept at pH {}.", ("7.5", "8")),
        ("## Water of tanks\n\n- pH of the water: {}\n", ("7.5", "8")),
        ("| Tank of fish | pH of water |\n|---|---|\n| Big tank | {} |\n", ("7.5", "8")),
        ("| Tank of fish | pH of water |\n|---|---|\n| Big tank | pH {} |\n", ("7.5", "8")),
        ("The server of the team needs release {} of the shell.", ("7.4.1", "8")),
        ("成人的每日剂量为{}\uff0c分两次服用。", ("500mg", "600mg")),
        ("成人的每日剂量为{}\uff0c分两次服用。", ("500毫克", "0.6g")),
        ("温室の入場料は大人一人につき{}です。", ("500円", "1,000円")),
        ("温室の水槽の温度は常に{}に保つ。", ("25.5度", "26℃")),
        ("温室の水槽の湿度は常に{}に保つ。", ("60%", "65\uff05")),
        ("## 水槽の管理\n\n- 水温\uff1a{}\n", ("25度", "26度")),
        ("| 水槽 | 水の温度 |\n|---|---|\n| 大きい水槽 | {} |\n", ("25度", "26度")),
    ):
        first, second = (claims_of(text.format(value)) for value in values)
        (found,) = contradicting_claims(first, second)
        assert tuple(claim.value for claim in found) == values
        assert not list(contradicting_claims(first, first))


def test_a_full_width_colon_behind_a_digit_begins_no_field() -> None:
    assert not claims_of("## 植物園の案内\n\n- 10\uff1a30 開園\n")
