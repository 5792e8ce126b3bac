"""A file is an attachment if its content is what its name says, and if a picture is only a picture."""

from __future__ import annotations

import pytest

from commonplace.domain.attachment_types import MAX_ATTACHMENT_BYTES, require_attachment
from commonplace.domain.errors import InvalidInputError, TooLargeError

PNG = b"\x89PNG\r\n\x1a\n"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>'
ACTIVE = (
    b"<a href='java&#9;script:alert(1)'/>",
    b"<a href='&#x6a;avascript:alert(1)'/>",
    b"<a href=' javascript:alert(1)'/>",
    b"<a href='data:text/html,x'/>",
    b"<a href='data:image/png,x'/>",
    b"<a xmlns:xlink='http://www.w3.org/1999/xlink' xlink:href='vbscript:x'/>",
    b"<use href='data:image/svg+xml,x#a'/>",
    b"<image href='file:///etc/passwd'/>",
    b"<meta/>",
    b"<link href='#a'/>",
    b"<form/>",
    b"<h:iframe xmlns:h='http://www.w3.org/1999/xhtml'/>",
    b"<p xmlns='http://www.w3.org/1999/xhtml'/>",
    b"<a href='#x'>&unknown;</a>",
    b"<?xml-stylesheet href='x'?>",
    b"<open>",
)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.png", PNG + b"x"),
        ("A.JPG", b"\xff\xd8\xff\xe0"),
        ("a.webp", b"RIFF\0\0\0\0WEBPVP8 "),
        ("a.avif", b"\0\0\0\x1cftypavif"),
        ("a.pdf", b"%PDF-1.7"),
        ("a.docx", b"PK\x03\x04"),
        ("a.csv", b"a,b\n1,2\n"),
        ("a.svg", SVG),
        (
            "a.svg",
            SVG.replace(b"<path", b"<a href='https://example.org'/><use href='#a'/><text>javascript: on=1</text><path"),
        ),
        ("a.svg", SVG.replace(b"<path", b"<image href='data:image/png;base64,AA'/><path")),
        ("a.svg", b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- made by hand -->\n<!DOCTYPE svg>\n' + SVG),
    ],
)
def test_what_is_what_it_says_is_taken(name: str, content: bytes) -> None:
    require_attachment(name, content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.png", b"<script>x</script>"),
        ("a.png", SVG),
        ("a.png", b""),
        ("a.webp", b"RIFF\0\0\0\0WAVE"),
        ("a.csv", b"<html>"),
        ("a.exe", b"MZ"),
        ("a.html", b"<p>"),
        ("a.js", b"x"),
        ("a.md", b"# A"),
        ("png", PNG),
        ("", PNG),
        ("a.svg", b"<html><svg></svg></html>"),
        ("a.svg", b"<!-- " + SVG),
        ("a.svg", SVG.replace(b"<path", b"<script>alert(1)</script><path")),
        ("a.svg", SVG.replace(b"<path", b"<svg:script>alert(1)</svg:script><path")),
        ("a.svg", SVG.replace(b"<path", b"<path onload = 'alert(1)'")),
        ("a.svg", SVG.replace(b"<path", b"<path/onclick='x'")),
        ("a.svg", SVG.replace(b"<path", b"<a href='JavaScript:alert(1)'/><path")),
        ("a.svg", SVG.replace(b"<path", b"<foreignObject/><path")),
        ("a.svg", SVG.replace(b"<path", b"<set attributeName='href' to='x'/><path")),
        ("a.svg", b"<!DOCTYPE svg [<!ENTITY a 'b'>]>" + SVG),
        *(("a.svg", SVG.replace(b"<path", part + b"<path")) for part in ACTIVE),
    ],
)
def test_what_is_not_what_it_says_or_can_run_is_refused(name: str, content: bytes) -> None:
    with pytest.raises(InvalidInputError):
        require_attachment(name, content)


def test_a_file_over_the_limit_is_refused() -> None:
    with pytest.raises(TooLargeError):
        require_attachment("a.png", PNG + bytes(MAX_ATTACHMENT_BYTES))


def test_long_hostile_pictures_are_read_in_one_pass() -> None:
    for content in (
        b"<?xml ?>" * 200_000,
        b"<" * 2_000_000,
        b" on" * 600_000,
        b"<!--" * 400_000,
        b"<svg " + b"<  " * 900_000,
    ):
        try:
            require_attachment("a.svg", content)
        except InvalidInputError:
            continue
