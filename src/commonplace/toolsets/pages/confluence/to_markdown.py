"""Shows the tokens of a body as Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence

from commonplace.toolsets.pages.confluence.tokens import (
    PANELS,
    PLACEHOLDER,
    Block,
    Token,
    blocks_of,
)

_SIGNS = {"strong": "**", "em": "*", "del": "~~"}
_SPECIAL = re.compile(r"[\\`*\[<~|]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])")
_LINE_START = re.compile(r"(?:#{1,6}(?= |$)|[>+=-]|\d{1,9}(?=[.)]))")
LINE_BREAK = "\\\n"


def render(tokens: Sequence[Token]) -> list[Block]:
    """The blocks of a page with their Markdown, in order."""
    return _with_separators(list(blocks_of(tokens)))


def page_markdown(blocks: Sequence[Block]) -> str:
    """The Markdown of a page without its title; "" for an empty page, else it ends with a line end."""
    text = "\n\n".join(block.markdown for block in blocks if block.markdown)
    return f"{text}\n" if text else ""


def _with_separators(blocks: list[Block]) -> list[Block]:
    previous = ""
    for block in blocks:
        block.markdown = _block(block.tokens)
        name = block.tokens[0].name
        if name in {"ul", "ol", "tasks"} and previous in {"ul", "ol", "tasks"}:
            block.markdown = f"{SEPARATOR}\n\n{block.markdown}"
        previous = name
    return blocks


SEPARATOR = "<!-- -->"
"""Stands between two lists, which Markdown would join."""


def _block(tokens: Sequence[Token]) -> str:
    first = tokens[0]
    if first.kind == "leaf":
        return _leaf_block(first)
    writers: dict[str, Callable[[Sequence[Token]], str]] = {
        "p": _line,
        "heading": lambda inner: f"{'#' * int(first.value[0])} {_line(inner, heading=True)}".rstrip(),
        "ul": lambda inner: _items(inner, "-"),
        "ol": lambda inner: _items(inner, first.value[0]),
        "tasks": lambda inner: _items(inner, "-"),
        "quote": lambda inner: _quoted(_flow(inner)),
        "panel": lambda inner: _quoted(f"[!{PANELS[first.key]}] {_title(first)}".rstrip() + f"\n{_flow(inner)}"),
        "expand": lambda inner: _fenced(
            f"<details><summary>{html.escape(first.value[0], quote=False)}</summary>", _flow(inner), "</details>"
        ),
        "layout": lambda inner: _fenced("<!-- layout -->", _flow(inner), "<!-- /layout -->"),
        "section": lambda inner: _fenced(f"<!-- section {first.value[0]} -->", _flow(inner), "<!-- /section -->"),
        "cell": lambda inner: _fenced("<!-- cell -->", _flow(inner), "<!-- /cell -->"),
        "rich": lambda inner: _fenced(f"<!-- macro {first.key} -->", _flow(inner), "<!-- /macro -->"),
        "table": lambda inner: _grid(inner) or _html(tokens),
    }
    return writers[first.name](tokens[1:-1])


def _flow(tokens: Sequence[Token]) -> str:
    return "\n\n".join(block.markdown for block in _with_separators(list(blocks_of(tokens))))


def _title(token: Token) -> str:
    return _escaped(" ".join(token.value[0].split()))


def _fenced(start: str, inner: str, end: str) -> str:
    return f"{start}\n\n{inner}\n\n{end}" if inner else f"{start}\n\n{end}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.rstrip("\n").split("\n"))


def _items(tokens: Sequence[Token], begin: str) -> str:
    lines: list[str] = []
    number = int(begin) if begin.isdigit() else 0
    for count, block in enumerate(blocks_of(tokens)):
        item = block.tokens[0]
        sign = "-" if begin == "-" else f"{number + count}."
        if item.name == "task":
            sign = f"- [{item.value[0]}]"
        inner = _item_flow(block.tokens[1:-1])
        indent = " " * (2 if item.name == "task" else len(sign) + 1)
        shown = "\n".join(f"{indent}{line}" if line else "" for line in inner.split("\n"))
        lines.append(f"{sign} {shown[len(indent) :]}".rstrip())
    return "\n".join(lines)


def _item_flow(tokens: Sequence[Token]) -> str:
    """Blocks in a list item; a list that follows a line of text needs no blank line."""
    text = ""
    for block in _with_separators(list(blocks_of(tokens))):
        tight = block.tokens[0].name in {"ul", "ol", "tasks"} and not block.markdown.startswith(SEPARATOR)
        text += ("" if not text else "\n" if tight else "\n\n") + block.markdown
    return text


def _leaf_block(token: Token) -> str:
    if token.name == "rule":
        return "---"
    if token.name in {"code", "pre"}:
        return _code(token)
    return _leaf(token)


def _code(token: Token) -> str:
    text, language, title, noformat = (*token.value, "", "", "")[:4]
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    info = ("pre" if token.name == "pre" else "noformat" if noformat else language).replace("`", "'")
    if title:  # escaped twice, because a parser resolves what is escaped in the first line
        info = f'{info or "text"} title="{html.escape(html.escape(title))}"'
    return f"{fence}{info}\n{text}\n{fence}"


# Lines of text.


def _line(tokens: Sequence[Token], *, heading: bool = False, cell: bool = False) -> str:
    writer = _LineWriter("<br>" if heading or cell else LINE_BREAK, cell=cell)
    writer.write(tokens)
    text = writer.text.strip(" ")
    if heading:
        text = re.sub(r"(#+)$", r"\\\1", text)
    return text


class _LineWriter:
    """Writes the tokens of one line of text, each in the plainest form that reads as the same."""

    def __init__(self, line_break: str, *, cell: bool) -> None:
        self.text = ""
        self._break = line_break
        self._cell = cell

    def write(self, tokens: Sequence[Token]) -> None:
        closing: dict[int, str] = {}
        for index, token in enumerate(tokens):
            if token.kind == "word":
                self._word(token.key, in_link=any(after.startswith("](") for after in closing.values()))
            elif token.kind == "space":
                self.text += " "
            elif token.name == "break":
                self._add("<br>" if _ends_line(tokens[index:]) else self._break)
            elif token.kind == "leaf":
                self._add(_leaf(token))
            elif token.kind == "open":
                before, after = self._ends(token, tokens, index)
                closing[id(token.partner)] = after
                self._add(before)
            else:
                self.text += closing.pop(id(token))

    def _add(self, piece: str) -> None:
        if piece.startswith("[") and self.text.endswith("!") and not self.text.endswith("\\!"):
            self.text = f"{self.text[:-1]}\\!"
        self.text += piece

    def _word(self, word: str, *, in_link: bool) -> None:
        shown = _escaped(word).replace("]", "\\]") if in_link else _escaped(word)
        if not self.text or self.text.endswith("\n"):
            match = _LINE_START.match(shown)
            if match:
                cut = match.end() if match[0][0].isdigit() else 0
                shown = f"{shown[:cut]}\\{shown[cut:]}"
        self.text += shown

    def _ends(self, token: Token, tokens: Sequence[Token], index: int) -> tuple[str, str]:
        if token.name == "link":
            return "[", f"]({_destination(token.key)})"
        if token.name == "comment":
            return f'<span data-comment="{token.key}">', "</span>"
        sign = _SIGNS.get(token.name, "")
        if sign and not token.key and self._fits(sign, tokens, index):
            return sign, sign
        attributes = f" {token.key}" if token.key else ""
        return f"<{token.name}{attributes}>", f"</{token.name}>"

    def _fits(self, sign: str, tokens: Sequence[Token], index: int) -> bool:
        """Whether a mark written by its sign is read as one: between letters or digits, and beside no other sign."""
        inner = inner_tokens(tokens, index)
        if not inner or not _is_edge(inner[0], 0) or not _is_edge(inner[-1], -1) or self.text.endswith(sign[0]):
            return False
        after = tokens[index + len(inner) + 2 : index + len(inner) + 3]
        return not after or (after[0].kind != "open" and after[0].key[:1] != sign[0])


def _ends_line(tokens: Sequence[Token]) -> bool:
    return all(token.kind == "close" or token.name == "break" for token in tokens)


def inner_tokens(tokens: Sequence[Token], index: int) -> Sequence[Token]:
    """The tokens in an open token and its close."""
    close = tokens[index].partner
    for at in range(index + 1, len(tokens)):
        if tokens[at] is close:
            return tokens[index + 1 : at]
    return ()


def _is_edge(token: Token, at: int) -> bool:
    return token.kind == "word" and token.key[at].isalnum()


def _escaped(text: str) -> str:
    shown = _SPECIAL.sub(lambda match: "\\" + match[0], text)
    return shown.replace("\xa0", "&nbsp;").replace("\u200b", "&#8203;").replace("\xad", "&shy;")


def _label(text: str) -> str:
    return _escaped(text).replace("]", "\\]").replace("!", "\\!")


def _destination(target: str) -> str:
    if re.search(r"[\s()<>\\]|^$", target) or "&" in target:
        shown = re.sub(r"[<>\\\n]", lambda match: f"%{ord(match[0]):02X}", target)
        return f"<{shown.replace('&', '&amp;')}>"
    return target


def _leaf(token: Token) -> str:
    label = token.value[0] if token.value else ""
    if token.name == "code_text":
        return _code_text(token.key)
    if token.name == "image":
        return f"![{_label(label)}]({_destination(token.key)})"
    if token.name == "macro":
        return f"[{_label(label)}]({PLACEHOLDER}{token.key})"
    return f"[{_label(label)}]({PLACEHOLDER}{token.name}/{token.key})"


def _code_text(text: str) -> str:
    if not text or text[0] in "` " or text[-1] in "` " or "|" in text:
        return f"<code>{_escaped(text)}</code>"
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence}{text}{fence}"


# Tables.


def _grid(tokens: Sequence[Token]) -> str:
    """A table of lines of text under one row of heads as a pipe table; "" if it is more than that."""
    rows = [[block.tokens for block in blocks_of(row.tokens[1:-1])] for row in blocks_of(tokens)]
    names = ["th", *("td" for _ in rows[1:])]
    if len({len(row) for row in rows}) != 1 or not all(map(_are_lines, rows, names)):
        return ""
    head, *lines = [f"| {' | '.join(_line(cell[2:-2], cell=True) for cell in row)} |" for row in rows]
    return "\n".join([head, f"|{' --- |' * len(rows[0])}", *lines])


def _are_lines(row: Sequence[Sequence[Token]], name: str) -> bool:
    """Whether all cells of a row have this name and no span, and are lines of text."""
    return all(cell[0].name == name and not cell[0].key and _is_line(cell[1:-1]) for cell in row)


def _is_line(tokens: Sequence[Token]) -> bool:
    """Whether the blocks in a cell are at most one line of text."""
    blocks = list(blocks_of(tokens))
    return not blocks or (len(blocks) == 1 and blocks[0].tokens[0].name == "p")


def _html(tokens: Sequence[Token]) -> str:
    """Tokens as HTML without a blank line, for tables that are more than lines of text."""
    pieces: list[str] = []
    for token in tokens:
        if token.kind == "word":
            pieces.append(html.escape(token.key, quote=False).replace("\xa0", "&nbsp;"))
        elif token.kind == "space":
            pieces.append(" ")
        elif token.kind == "leaf":
            pieces.append(_html_leaf(token))
        else:
            pieces.append(_html_tag(token))
    return "".join(pieces)


def _html_tag(token: Token) -> str:
    opens = token.kind == "open"
    source = token if opens else token.partner or token
    name, key = source.name, source.key
    value = html.escape(source.value[0]) if source.value else ""
    tags = {
        "heading": (f"h{value}", ""),
        "link": ("a", f' href="{html.escape(key)}"'),
        "panel": ("blockquote", f' data-panel="{key}" title="{value}"'),
        "quote": ("blockquote", ""),
        "expand": ("details", f' title="{value}"'),
        "comment": ("span", f' data-comment="{key}"'),
        "tasks": ("ul", ' data-tasks="1"'),
        "task": ("li", f' data-task="{value}"'),
        "rich": ("div", f' data-macro="{key}"'),
        "layout": ("div", ' data-part="layout"'),
        "section": ("div", f' data-part="section" title="{value}"'),
        "cell": ("div", ' data-part="cell"'),
        "ol": ("ol", f' start="{value}"' if value not in {"", "1"} else ""),
    }
    tag, attributes = tags.get(name, (name, f" {key}" if key else ""))
    end = "\n" if name in {"table", "tr"} and not (name == "table" and not opens) else ""
    return f"<{tag}{attributes}>{end}" if opens else f"</{tag}>{end}"


def _html_leaf(token: Token) -> str:
    label = html.escape(token.value[0]) if token.value else ""
    if token.name in {"break", "rule"}:
        return "<br/>" if token.name == "break" else "<hr/>"
    if token.name in {"code", "pre"}:
        return _html_code(token)
    if token.name == "code_text":
        return f"<code>{html.escape(token.key, quote=False)}</code>"
    block = ' data-block="1"' if token.block else ""
    if token.name == "image":
        return f'<img src="{html.escape(token.key)}" alt="{label}"{block}/>'
    name = "" if token.name == "macro" else f"{token.name}/"
    return f'<a href="{PLACEHOLDER}{name}{html.escape(token.key)}"{block}>{label}</a>'


def _html_code(token: Token) -> str:
    text, language, title, noformat = (*(html.escape(part) for part in token.value), "", "", "")[:4]
    kind = "pre" if token.name == "pre" else "noformat" if noformat else "code"
    return f'<pre data-kind="{kind}" lang="{language}" title="{title}">{text}</pre>'.replace("\n", "&#10;")
