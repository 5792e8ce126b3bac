"""Forms of pages that edit: fields as they were sent, and what is no form."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from commonplace.domain.errors import InvalidInputError
from commonplace.faces.access.callers import Caller
from commonplace.faces.web.edit_requests import MAX_FIELDS, form_of, page_proposer


def test_fields_keep_line_ends_blanks_and_every_script() -> None:
    fields = {"text": "a\r\n b \u2028 Grün & 東京 +%", "word": "", "revision": "r1"}
    assert form_of(urlencode(fields).encode()) == fields


def test_the_last_value_of_a_field_counts() -> None:
    assert form_of(b"page=a&page=b") == {"page": "b"}


@pytest.mark.parametrize("body", [b"text=%ff", b"text=\xff", b"&".join([b"a=1"] * (MAX_FIELDS + 1))])
def test_what_is_no_form_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInputError, match="not readable"):
        form_of(body)


def test_the_proposals_of_a_key_from_the_pages_are_one() -> None:
    key = Caller("key:1", "propose")
    assert page_proposer(key) == page_proposer(key)
    assert page_proposer(key) != page_proposer(Caller("key:2", "propose"))
    assert page_proposer(key).client == "web pages"
