"""Bodies in storage format: one of each kind of block, and those that lie beside the project."""

from __future__ import annotations

import html
import re
from functools import cache
from urllib.parse import quote

from support import SHARED

MACRO_ID = 'ac:schema-version="1" ac:macro-id="0b1c-11"'
BLOCKS = {
    "paragraph": '<p style="text-align: center;">It&rsquo;s a <b>bold</b>&nbsp;word, <em>leaning</em>   text &amp; more.</p>',  # noqa: E501 - one body
    "heading": '<h2 id="x">Chapter <u>alpha</u></h2>',
    "list": "<ul>\n<li><p>alpha</p><ul><li>beta <code>gamma()</code></li></ul></li>\n<li>delta</li></ul>",
    "numbers": '<ol start="3"><li><p>alpha</p></li><li><p>beta</p><p>gamma</p></li></ol>',
    "quote": "<blockquote><p>alpha beta</p></blockquote>",
    "rule": "<p>alpha</p><hr/><p>beta</p>",
    "code": (
        f'<ac:structured-macro ac:name="code" {MACRO_ID}><ac:parameter ac:name="language">py</ac:parameter>'
        '<ac:parameter ac:name="title">a "b"</ac:parameter><ac:parameter ac:name="collapse">true</ac:parameter>'
        "<ac:plain-text-body><![CDATA[alpha = a]]]]><![CDATA[>b\n\n  beta ```]]></ac:plain-text-body></ac:structured-macro>"  # noqa: E501 - one body
    ),
    "noformat": (
        f'<ac:structured-macro ac:name="noformat" {MACRO_ID}>'
        "<ac:plain-text-body><![CDATA[alpha  beta]]></ac:plain-text-body></ac:structured-macro>"
    ),
    "table": (
        '<table data-layout="wide"><colgroup><col style="width: 20%;"/><col/></colgroup><thead><tr><th>alpha</th>'
        "<th><p>beta</p></th></tr></thead><tbody><tr><td>gamma | <br/>x</td><td><p>delta</p></td></tr></tbody></table>"
    ),
    "merged cells": (
        '<table><tbody><tr><td colspan="2" style="x: y"><p>alpha</p><ul><li>beta</li></ul></td></tr>'
        "<tr><td>gamma</td><td><table><tbody><tr><td>delta</td></tr></tbody></table></td></tr></tbody></table>"
    ),
    "panel": (
        f'<ac:structured-macro ac:name="warning" {MACRO_ID}><ac:parameter ac:name="title">Watch out</ac:parameter>'
        '<ac:parameter ac:name="icon">false</ac:parameter><ac:rich-text-body><p>alpha</p><p>beta</p></ac:rich-text-body>'  # noqa: E501 - one body
        "</ac:structured-macro>"
    ),
    "expand": (
        f'<ac:structured-macro ac:name="expand" {MACRO_ID}><ac:parameter ac:name="title">Open me</ac:parameter>'
        "<ac:rich-text-body><p>alpha</p></ac:rich-text-body></ac:structured-macro>"
    ),
    "layout": (
        '<ac:layout><ac:layout-section ac:type="two_equal" ac:breakout-mode="wide"><ac:layout-cell><p>alpha</p>'
        "</ac:layout-cell><ac:layout-cell><p>beta</p></ac:layout-cell></ac:layout-section></ac:layout>"
    ),
    "tasks": (
        "<ac:task-list><ac:task><ac:task-id>7</ac:task-id><ac:task-uuid>u-7</ac:task-uuid>"
        "<ac:task-status>incomplete</ac:task-status><ac:task-body>alpha beta</ac:task-body></ac:task></ac:task-list>"
    ),
    "status": (
        f'<p>alpha <ac:structured-macro ac:name="status" {MACRO_ID}><ac:parameter ac:name="colour">Green</ac:parameter>'
        '<ac:parameter ac:name="title">READY</ac:parameter></ac:structured-macro> <time datetime="2026-05-31" /> '
        '<ac:emoticon ac:name="tick" ac:emoji-fallback="✅" /> '
        '<ac:link><ri:user ri:account-id="a2" ri:local-id="l" /></ac:link></p>'
    ),
    "links": (
        '<p><ac:link ac:anchor="One two"><ri:page ri:content-title="Deploy &amp; run" ri:version-at-save="3" /></ac:link> '  # noqa: E501 - one body
        '<ac:link><ri:page ri:content-title="Deploy &amp; run"/><ac:plain-text-link-body><![CDATA[alpha <x>]]>'
        "</ac:plain-text-link-body></ac:link> "
        '<ac:link><ri:page ri:space-key="OPS" ri:content-title="Far"/><ac:link-body>beta <b>gamma</b></ac:link-body></ac:link> '  # noqa: E501 - one body
        '<a href="https://example.org/a?b=c&amp;d=e" data-card-appearance="inline">delta</a></p>'
    ),
    "image": (
        '<p>alpha <ac:image ac:width="120" ac:alt="A chart"><ri:attachment ri:filename="a b.png" ri:version-at-save="2"/>'  # noqa: E501 - one body
        '</ac:image></p><ac:image ac:align="center"><ri:attachment ri:filename="c.png" /><ac:caption><p>Fig</p>'
        "</ac:caption></ac:image>"
    ),
    "macro": f'<p>alpha</p><ac:structured-macro ac:name="jira-chart" {MACRO_ID}><ac:parameter ac:name="jql">a = "b"</ac:parameter></ac:structured-macro>',  # noqa: E501 - one body
    "comment": '<p>An <ac:inline-comment-marker ac:ref="r-1">alpha beta</ac:inline-comment-marker> gamma.</p>',
    "adf": '<ac:adf-extension><ac:adf-node type="panel"><ac:adf-content>kept</ac:adf-content></ac:adf-node></ac:adf-extension><p>alpha</p>',  # noqa: E501 - one body
    "between": "<!-- note --><p></p>\n<p>alpha</p><p><br/></p><p>beta</p>\n",
}
"""A body for each kind of block; edits are made of its Greek letters."""


class Links:
    """Links of a page without a folder."""

    def page(self, space: str, title: str) -> str | None:
        return None if space else f"{quote(title.lower())}.md"

    def page_with_id(self, identifier: str) -> str | None:
        return f"p{identifier}.md"

    def attachment(self, name: str) -> str:
        return f"attachments/x/{quote(name)}"

    def person(self, account: str) -> str:
        return {"a2": "Bo Ek"}.get(account, account)

    def page_url(self, path: str) -> str | None:
        return f"https://acme.example/wiki/pages/{path}" if path.endswith(".md") else None

    def attachment_name(self, path: str) -> str | None:
        return path.rpartition("/")[2] if path.startswith("attachments/") else None


@cache
def real_bodies() -> dict[str, str]:
    """The bodies beside the project, by where they stand; empty where they are absent."""
    folder = SHARED / "confluence" / "storage"
    bodies: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in {".html", ".xml"}:
            continue
        text = path.read_text(errors="replace")
        if path.name != "entities.xml":
            bodies[str(path.relative_to(folder))] = text
            continue
        for number, found in enumerate(re.findall(r'<property name="body">(.*?)</property>', text, re.DOTALL)):
            sections = re.findall(r"<!\[CDATA\[(.*?)\]\]>", found, re.DOTALL)
            body = "".join(sections).replace("]] >", "]]>") if sections else html.unescape(found)
            bodies[f"{path.parent.relative_to(folder)}#{number}"] = body
    return bodies
