"""The signature of a call between servers."""

import time

from cases import each_case
from commonplace.domain.cluster import NO_URL, WritesSignature, sign, signature_in

ONE, TWO = "http://one.example", "http://two.example:8090"
FACTS = WritesSignature(1_700_000_000, "n" * 32, ONE, TWO)


def test_the_facts_come_back_for_the_signed_body_and_the_same_secret_only() -> None:
    header = FACTS.header(b"body", "sëcret")
    assert signature_in(header, b"body", "sëcret") == FACTS
    assert signature_in(f" {header} ", b"body", "sëcret") == FACTS
    assert signature_in(header, b"bodY", "sëcret") is None
    assert signature_in(header, b"body", "secret") is None


@each_case("field", range(5))
def test_a_changed_fact_is_not_signed(field: int) -> None:
    parts = FACTS.header(b"body", "secret").split(" ")
    parts[field] = parts[field][:-1] + ("1" if parts[field][-1] != "1" else "2")
    assert signature_in(" ".join(parts), b"body", "secret") is None


@each_case("header", ["", " ", "x", "é" * 70, "1 2 3 4 5", f"{10**30} {'n' * 20} a b {'0' * 64}", "٣ " * 5])
def test_a_header_of_another_form_is_not_signed(header: str) -> None:
    assert signature_in(header, b"body", "secret") is None


def test_each_call_is_signed_with_its_time_and_another_number() -> None:
    first, second = (signature_in(sign(b"b", "s", sender, TWO), b"b", "s") for sender in (ONE, ""))
    assert first is not None
    assert second is not None
    assert (first.sender, second.sender, first.recipient) == (ONE, NO_URL, TWO)
    assert abs(first.time - time.time()) < 60
    assert first.number != second.number
