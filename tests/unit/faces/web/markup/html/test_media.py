"""Files that a page shows in its text."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.faces.web.markup.html import SHOWN_TYPES, media_html, suffix_of


@each_case(
    ("path", "suffix"),
    [("a/b.PNG", "png"), ("a.tar.gz", "gz"), ("a.b/c", ""), ("png", ""), ("a.", "")],
)
def test_the_last_suffix_counts(path: str, suffix: str) -> None:
    assert suffix_of(path) == suffix


@each_case(
    ("label", "attributes"),
    [
        ("", 'alt="pic"'),
        ("A cat", 'alt="A cat"'),
        ("300", 'alt="pic" width="300"'),
        (" 300x20 ", 'alt="pic" width="300" height="20"'),
        ("300x", 'alt="300x"'),
        ("12345", 'alt="12345"'),
        ('"><script>', 'alt="&quot;&gt;&lt;script&gt;"'),
    ],
)
def test_a_label_is_the_text_or_the_size_of_an_image(label: str, attributes: str) -> None:
    assert (
        media_html("/files/pic.png", "a/pic.png", label, "")
        == f'<img src="/files/pic.png" {attributes} loading="lazy">'
    )


def test_each_kind_of_file_has_its_element() -> None:
    assert media_html("/u", "a.MP3", "Song", "").startswith('<audio controls preload="metadata" src="/u" title="Song">')
    assert media_html("/u", "a.webm", "", "").startswith('<video controls preload="metadata" src="/u" title="a">')
    assert "<b>a.pdf</b> <small>PDF</small>" in media_html("/u", "d/a.pdf", "", "")
    assert "<b>a.zip</b> <small>ZIP file</small>" in media_html("/u", "a.zip", "label", 'T"')
    assert 'title="T&quot;"' in media_html("/u", "a.zip", "", 'T"')


@pytest.mark.parametrize("path", ["Makefile", "notes/LICENSE"])
def test_a_file_without_a_suffix_is_shown_by_its_name(path: str) -> None:
    html = media_html("/u", path, "", "")
    assert f"<b>{path.rpartition('/')[2]}</b>" in html
    assert html.endswith("<small>File</small></a>")


def test_no_type_that_browsers_show_runs_as_a_page() -> None:
    assert not {"text/html", "application/xhtml+xml", "text/xml"} & set(SHOWN_TYPES.values())
