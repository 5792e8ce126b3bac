"""Writes the table of elements in docs/confluence.md, from what becomes of one of each; `--check` compares."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from urllib.parse import unquote

from sources import ROOT

from commonplace.domain.errors import KnowledgeError
from commonplace.toolsets.pages.confluence.to_storage import merge_edit, view_of

PAGE = ROOT / "docs" / "confluence.md"
START, END = "<!-- elements -->", "<!-- /elements -->"
HEAD = """\
The table is made by `python tools/list_confluence.py`, which converts one of each. *Kept*: the same bytes come back.
*Text*: an edited word changes its own bytes alone. *Movable*: it can be put elsewhere on the page. *New*: it can be
written in Markdown where none was.

| on the site | in Markdown | kept | text | movable | new |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """An element of storage format, with the word `alpha` where it has text of its own."""

    name: str
    storage: str


def macro(name: str, inner: str) -> str:
    """A macro with an id."""
    return f'<ac:structured-macro ac:name="{name}" ac:macro-id="7-1">{inner}</ac:structured-macro>'


def parameter(name: str, value: str) -> str:
    """A parameter of a macro."""
    return f'<ac:parameter ac:name="{name}">{value}</ac:parameter>'


RICH = "<ac:rich-text-body><p>alpha</p></ac:rich-text-body>"
PLAIN = "<ac:plain-text-body><![CDATA[alpha]]></ac:plain-text-body>"
SAMPLES = (
    Sample("paragraph with attributes", '<p style="text-align: center;">alpha</p>'),
    Sample("heading", "<h2>alpha</h2>"),
    Sample("bold, italic, strikethrough", "<p><strong>alpha</strong> <em>b</em> <del>c</del></p>"),
    Sample("code in text", "<p><code>alpha</code></p>"),
    Sample("underline, sub- and superscript", "<p><u>alpha</u> <sub>b</sub> <sup>c</sup></p>"),
    Sample("colour", '<p><span style="color: red;">alpha</span></p>'),
    Sample("line break", "<p>alpha<br/>b</p>"),
    Sample("no-break space", "<p>alpha&nbsp;b</p>"),
    Sample("list", "<ul><li><p>alpha</p></li></ul>"),
    Sample("numbered list from 3", '<ol start="3"><li><p>alpha</p></li></ol>'),
    Sample("quote", "<blockquote><p>alpha</p></blockquote>"),
    Sample("rule", "<hr/>"),
    Sample("preformatted text", "<pre>alpha</pre>"),
    Sample(
        "code",
        macro("code", parameter("language", "py") + parameter("title", "T") + parameter("collapse", "true") + PLAIN),
    ),
    Sample("noformat", macro("noformat", PLAIN)),
    Sample(
        "table of lines", "<table><tbody><tr><th>A</th><th>B</th></tr><tr><td>alpha</td><td>c</td></tr></tbody></table>"
    ),
    Sample(
        "table with merged cells",
        '<table><tbody><tr><td colspan="2"><p>alpha</p></td></tr><tr><td>b</td><td>c</td></tr></tbody></table>',
    ),
    Sample("table with a list", "<table><tbody><tr><td><ul><li>alpha</li></ul></td></tr></tbody></table>"),
    *(
        Sample(f"{name} macro", macro(name, parameter("title", "T") + RICH))
        for name in ("info", "tip", "note", "warning", "panel")
    ),
    Sample("expand macro", macro("expand", parameter("title", "T") + RICH)),
    Sample(
        "layout",
        '<ac:layout><ac:layout-section ac:type="single"><ac:layout-cell><p>alpha</p></ac:layout-cell>'
        "</ac:layout-section></ac:layout>",
    ),
    Sample("other macro with text", macro("excerpt", RICH)),
    Sample(
        "task",
        "<ac:task-list><ac:task><ac:task-id>7</ac:task-id><ac:task-status>incomplete</ac:task-status><ac:task-body>alpha</ac:task-body></ac:task></ac:task-list>",
    ),
    Sample("status", f"<p>{macro('status', parameter('colour', 'Green') + parameter('title', 'alpha'))}</p>"),
    Sample("date", '<p><time datetime="2026-05-31" /></p>'),
    Sample("mention", '<p><ac:link><ri:user ri:account-id="a2" /></ac:link></p>'),
    Sample("emoji", '<p><ac:emoticon ac:name="tick" ac:emoji-fallback="✅" /></p>'),
    Sample(
        "link to a page",
        '<p><ac:link><ri:page ri:content-title="Deploy" /><ac:link-body>alpha</ac:link-body></ac:link></p>',
    ),
    Sample(
        "link to a section",
        '<p><ac:link ac:anchor="When"><ri:page ri:content-title="Deploy" /><ac:link-body>alpha</ac:link-body>'
        "</ac:link></p>",
    ),
    Sample(
        "link to another space",
        '<p><ac:link><ri:page ri:space-key="OPS" ri:content-title="Far" /><ac:link-body>alpha</ac:link-body>'
        "</ac:link></p>",
    ),
    Sample("link to the web", '<p><a href="https://example.org">alpha</a></p>'),
    Sample(
        "link to a file",
        '<p><ac:link><ri:attachment ri:filename="a b.pdf" /><ac:link-body>alpha</ac:link-body></ac:link></p>',
    ),
    Sample(
        "image with size",
        '<p><ac:image ac:width="120" ac:alt="alpha"><ri:attachment ri:filename="a.png" /></ac:image></p>',
    ),
    Sample(
        "image with caption",
        '<ac:image><ri:attachment ri:filename="a.png" /><ac:caption><p>Fig</p></ac:caption></ac:image>',
    ),
    Sample("inline comment", '<p><ac:inline-comment-marker ac:ref="r-1">alpha</ac:inline-comment-marker></p>'),
    Sample("macro without text", macro("toc", parameter("maxLevel", "3"))),
    Sample(
        "ADF extension",
        '<ac:adf-extension><ac:adf-node type="x"><ac:adf-content>c</ac:adf-content></ac:adf-node></ac:adf-extension>',
    ),
    Sample("empty paragraph, HTML comment", "<p></p><!-- note -->"),
    Sample("a body that is not well-formed", "<p>alpha"),
)


class Links:
    """Links of a page in a folder with one other page."""

    def page(self, space: str, title: str) -> str | None:
        """The other page."""
        return None if space or title != "Deploy" else "deploy.md"

    def page_with_id(self, identifier: str) -> str | None:
        """The other page."""
        return "deploy.md" if identifier == "5" else None

    def attachment(self, name: str) -> str:
        """A file of the page."""
        return f"attachments/page/{name.replace(' ', '%20')}"

    def person(self, account: str) -> str:
        """A person."""
        return "Bo Ek" if account else account

    def page_url(self, path: str) -> str | None:
        """Address of the page at a path."""
        return "https://acme.example/wiki/spaces/ENG/pages/5" if path == "deploy.md" else None

    def attachment_name(self, path: str) -> str | None:
        """Name of the attachment at a path."""
        return unquote(path.rpartition("/")[2]) if path.startswith("attachments/") else None


LINKS = Links()
MAX_LINES = 4
"""Number of lines of Markdown in a row."""


def row(sample: Sample) -> str:
    """The row of an element."""
    body = sample.storage.encode()
    view = view_of(body, LINKS)
    shown = view.markdown.strip("\n")
    unchanged = merge_edit(view, view.markdown, LINKS) == body
    cells = [
        sample.name,
        _cell(shown),
        _sign(unchanged),
        _text(sample),
        _sign(_moves(body)),
        _sign(not view.flaw and _is_new(shown)),
    ]
    return f"| {' | '.join(cells)} |\n"


def _cell(markdown: str) -> str:
    """Markdown in a cell: its lines, one after the other."""
    lines = [line.replace("|", "\\|") for line in markdown.split("\n") if line.strip()]
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], "…"]
    return " ↵ ".join(f"`` {line} ``" if "`" in line else f"`{line}`" for line in lines) or "not shown"


def _sign(value: bool) -> str:
    return "yes" if value else "no"


def _text(sample: Sample) -> str:
    """Whether the word `alpha` can be edited, and changes alone."""
    body = sample.storage.encode()
    view = view_of(body, LINKS)
    if "alpha" not in view.markdown:
        return "-"
    try:
        merged = merge_edit(view, view.markdown.replace("alpha", "omega"), LINKS)
    except KnowledgeError:
        return "no"
    return _sign(merged == body.replace(b"alpha", b"omega"))


def _moves(body: bytes) -> bool:
    """Whether a block can be moved below another one with all its bytes."""
    view = view_of(body + b"<p>end</p>", LINKS)
    blocks = [block.markdown for block in view.blocks if block.markdown]
    if view.flaw or blocks[0] == "end":
        return False
    try:
        return body in merge_edit(view, "\n\n".join([blocks[-1], *blocks[:-1]]), LINKS)
    except KnowledgeError:
        return False


def _is_new(markdown: str) -> bool:
    """Whether this Markdown can be written on a page that has nothing of the kind."""
    if not markdown or "confluence:" in markdown:
        return False
    try:
        merged = merge_edit(view_of(b"", LINKS), markdown, LINKS)
    except KnowledgeError:
        return False
    return re.sub(r"\s", "", view_of(merged, LINKS).markdown) == re.sub(r"\s", "", markdown)


def page() -> str:
    """The page with the table as it is now."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    after = rest.partition(END)[2]
    return f"{before}{START}\n\n{HEAD}{''.join(map(row, SAMPLES))}\n{END}{after}"


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description="Write the table of elements in docs/confluence.md.")
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    if parser.parse_args().check:
        if PAGE.read_text(encoding="utf-8") == page():
            return 0
        print("docs/confluence.md: run python tools/list_confluence.py", file=sys.stderr)
        return 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
