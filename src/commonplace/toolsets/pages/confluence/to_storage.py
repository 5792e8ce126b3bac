"""Brings edited Markdown back into a body: every token that is still there goes back as the base's own bytes."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Protocol
from xml.sax.saxutils import escape, quoteattr

from commonplace.domain.errors import InvalidInputError
from commonplace.toolsets.pages.confluence.elements import MalformedBodyError
from commonplace.toolsets.pages.confluence.from_markdown import EditError, read_markdown
from commonplace.toolsets.pages.confluence.pieces import as_cdata, as_text, new_code, new_tag, patched, patched_heading
from commonplace.toolsets.pages.confluence.storage import PageLinks, read_storage
from commonplace.toolsets.pages.confluence.to_markdown import inner_tokens, page_markdown, render
from commonplace.toolsets.pages.confluence.tokens import INLINE, PLACEHOLDER, Block, Token, blocks_of

_TAGS = re.compile(rb"<(/?)([^\s/>!?][^\s/>]*)(?:[^>\"']|\"[^\"]*\"|'[^']*')*?(/?)>")
_UNIT_ENDS = frozenset({"p", "heading", "li", "td", "th", "tr", "table", "ul", "ol", "quote", "panel", "task", "tasks"})


class LossError(InvalidInputError):
    """An edit removes what Markdown cannot say, and nobody said that this is meant."""


class Targets(PageLinks, Protocol):
    """Meaning of links that were written in Markdown in storage format."""

    def page_url(self, path: str) -> str | None:
        """URL by id of the page at a relative path; None if no page lies there."""
        ...

    def attachment_name(self, path: str) -> str | None:
        """Name of the attachment at a relative path; None if the path is not one of an attachment of this page."""
        ...


@dataclass(frozen=True, slots=True)
class PageView:
    """A body and the Markdown that shows it."""

    body: bytes
    blocks: Sequence[Block]
    flaw: str = ""
    """Why the body cannot be edited as Markdown; "" if it can."""

    @property
    def markdown(self) -> str:
        """The Markdown, without title and frontmatter."""
        return page_markdown(self.blocks)

    @property
    def leaves(self) -> set[tuple[str, str]]:
        """Name and key of the leaves that stand among paragraphs."""
        return {
            (token.name, token.key)
            for block in self.blocks
            for token in block.tokens
            if token.kind == "leaf" and token.block
        }


def view_of(body: bytes, links: PageLinks) -> PageView:
    """Show a body as Markdown. A body that is not well-formed is shown as text, and cannot be edited."""
    try:
        return PageView(body, render(read_storage(body, links)))
    except (MalformedBodyError, UnicodeDecodeError) as error:
        text = html.unescape(re.sub(r"<[^>]*>", " ", body.decode("utf-8", "replace")))
        fence = "`" * max(3, max((len(run) for run in re.findall("`+", text)), default=0) + 1)
        shown = "\n".join(line.strip() for line in text.splitlines() if line.strip())
        note = "The site's body of this page is not well-formed, so it is shown as text and cannot be edited here."
        return PageView(body, [Block([], opaque=True, markdown=f"{note}\n\n{fence}text\n{shown}\n{fence}")], str(error))


def merge_edit(view: PageView, edited: str, targets: Targets, *, allow_loss: bool = False) -> bytes:
    """The body with the edits of its Markdown.

    Args:
        view: The base and its Markdown.
        edited: The Markdown after editing, without title and frontmatter.
        targets: What new links mean.
        allow_loss: Whether placeholders may be removed.

    Returns:
        The base itself if nothing was edited.

    Raises:
        EditError: the edit cannot be stored; the message names the line.
        LossError: a placeholder is gone.
    """
    if edited.strip() == view.markdown.strip():
        return view.body
    if view.flaw:
        raise EditError(1, f"the site's body of this page is not well-formed ({view.flaw}); edit it on the site.")
    leaves = view.leaves
    after = list(blocks_of(read_markdown(edited, leaves)))
    before = _read_blocks(view, leaves)
    if not allow_loss:
        _check_loss(before, after)
    merged = _Merge(view, targets).body(before, after)
    _check_stored(merged, before, after, links=targets)
    return merged


def _check_stored(merged: bytes, before: Sequence[Block], after: Sequence[Block], *, links: PageLinks) -> None:
    """Read the new body as the site will, and refuse an edit that would say something else there."""
    try:
        stored = list(blocks_of(read_storage(merged, links)))
    except MalformedBodyError as error:
        raise EditError(_first_change(before, after), f"the edit cannot be stored: {error}.") from None
    contents = {block.content for block in before}
    for index, block in enumerate(after):
        if index >= len(stored) or _shape(stored[index]) != _shape(block):
            line = block.line if block.content not in contents else _first_change(before, after)
            raise EditError(line, "the page cannot say this so; write it in a plainer form, or edit it on the site.")
    if len(stored) > len(after):
        raise EditError(_first_change(before, after), "the page would say more than this; edit it on the site.")


def _shape(block: Block) -> list[tuple[str, str, str]]:
    """Words and structure of a block, without what the site gives names to."""
    return [(token.kind, token.name, token.key if token.kind == "word" else "") for token in block.tokens]


def _read_blocks(view: PageView, leaves: set[tuple[str, str]]) -> Sequence[Block]:
    """Mark the blocks whose Markdown does not read as what they show."""
    for block in view.blocks:
        try:
            tokens = read_markdown(block.markdown, leaves)
        except EditError:
            block.opaque = True
            continue
        block.opaque = [token.whole for token in tokens] != [token.whole for token in block.tokens]
    return view.blocks


def _first_change(before: Sequence[Block], after: Sequence[Block]) -> int:
    for old, new in zip(before, after, strict=False):
        if old.content != new.content:
            return new.line
    return after[min(len(before), len(after)) - 1].line if after else 1


def _check_loss(before: Sequence[Block], after: Sequence[Block]) -> None:
    def identities(blocks: Sequence[Block]) -> Counter[tuple[str, str]]:
        return Counter((token.name, token.key) for block in blocks for token in block.tokens if token.is_identity)

    gone = identities(before) - identities(after)
    if gone:
        names = ", ".join(sorted({_shown_identity(name, key) for name, key in gone}))
        raise LossError(
            f"The edit removes what Markdown cannot say: {names}.",
            kind="loss",
            hint="Put it back; to remove it, push with --allow-loss (agents: allow_loss).",
        )


def _shown_identity(name: str, key: str) -> str:
    return f"{PLACEHOLDER}{key}" if name == "macro" else f"{name} {key}".strip()


class _Merge:
    """Writes the tokens of an edited page, with the base's bytes for those that are still there."""

    def __init__(self, view: PageView, targets: Targets) -> None:
        self._base = view.body
        self._tokens = [token for block in view.blocks for token in block.tokens]
        self._index = {id(token): index for index, token in enumerate(self._tokens)}
        self._parents = _parents(self._tokens)
        self._targets = targets
        self._by_key: dict[tuple[str, str, str], Token] = {}
        for token in self._tokens:
            if token.key and token.kind in {"leaf", "open"}:
                self._by_key.setdefault(token.identity, token)

    def body(self, before: Sequence[Block], after: Sequence[Block]) -> bytes:
        """The bytes of the edited page."""
        source: dict[int, Token] = {}
        moved: dict[int, bytes] = {}
        opcodes = _changes([block.content for block in before], [block.content for block in after])
        spare = {block.content: block for name, a, b, _, _ in opcodes for block in before[a:b] if name != "equal"}
        for name, start, end, first, last in opcodes:
            old, new = before[start:end], after[first:last]
            if name == "equal":
                _same(source, _tokens_of(old), _tokens_of(new))
            elif name == "insert":
                moved |= self._moved(new, spare)
            else:
                self._refuse_opaque(old, after, first, last)
                _align(source, _tokens_of(old), _tokens_of(new))
        return self._written(_pieces(after, moved), source, moved)

    def _moved(self, blocks: Sequence[Block], spare: Mapping[tuple[object, ...], Block]) -> dict[int, bytes]:
        """The bytes of blocks that stood elsewhere, by their first token."""
        return {id(block.tokens[0]): self._bytes_of(spare[block.content]) for block in blocks if block.content in spare}

    def _refuse_opaque(self, replaced: Sequence[Block], after: Sequence[Block], first: int, last: int) -> None:
        contents = {block.content for block in after}
        if any(block.opaque and block.content not in contents for block in replaced):
            line = after[first].line if first < last else after[first - 1].line if first else 1
            raise EditError(line, "this block cannot be edited here; edit it on the site, or put it back as it was.")

    def _bytes_of(self, block: Block) -> bytes:
        return self._base[block.tokens[0].start : block.tokens[-1].end]

    def _written(self, tokens: Sequence[Token], source: dict[int, Token], moved: Mapping[int, bytes]) -> bytes:
        _repair_pairs(tokens, source)
        for token in tokens:
            if id(token) not in source and id(token) not in moved:
                self._find_by_key(token, source)
        used = {id(token) for token in source.values()}
        writer = _PieceWriter(self._base, source, self._targets, self._inner_length)
        result: list[bytes] = []
        pending: list[bytes] = []
        at = -1  # index of the base's last token that was written in its place
        for number, token in enumerate(tokens):
            base = source.get(id(token))
            index = self._index[id(base)] if base is not None else -1
            if base is not None and index > at:
                result += _inserted(self._gap(at, index, used), pending)
                pending = []
                at = index
                result.append(writer.piece(tokens, number))
            else:
                pending.append(moved[id(token)] if id(token) in moved else writer.piece(tokens, number))
        result += _inserted(self._gap(at, len(self._tokens), used), pending)
        return b"".join(result)

    def _inner_length(self, opening: Token) -> int:
        """Number of tokens between an open token of the base and its close."""
        return self._index[id(opening.partner)] - self._index[id(opening)] - 1

    def _find_by_key(self, token: Token, source: dict[int, Token]) -> None:
        """Take a placeholder, a link or a mark that moved from where it was."""
        base = self._by_key.get(token.identity) if token.key and token.kind in {"leaf", "open"} else None
        if base is None:
            return
        source[id(token)] = base
        if token.partner is not None and base.partner is not None:
            source[id(token.partner)] = base.partner

    def _gap(self, left: int, right: int, used: set[int]) -> list[bytes]:
        """The base's bytes between two tokens: invisible parts stay, unless their element is gone."""
        pieces: list[bytes] = []
        for number in range(left, right):
            start = self._tokens[number].end if number >= 0 else 0
            end = self._tokens[number + 1].start if number + 1 < len(self._tokens) else len(self._base)
            parent = self._parents[number + 1]
            if parent is None or id(parent) in used:
                pieces.append(self._base[start:end])
            else:
                pieces.append(b"")
        last = len(pieces) - 1
        return [piece for number, piece in enumerate(pieces) if piece.strip() or number in {0, last}]


def _pieces(blocks: Sequence[Block], moved: Collection[int]) -> list[Token]:
    """The tokens of all blocks; of one that moved whole, the first, which stands for it."""
    return [token for block in blocks for token in (block.tokens[:1] if id(block.tokens[0]) in moved else block.tokens)]


def _tokens_of(blocks: Sequence[Block]) -> list[Token]:
    return [token for block in blocks for token in block.tokens]


def _parents(tokens: Sequence[Token]) -> list[Token | None]:
    """The element in which the gap before each token lies, and the one at the end."""
    stack: list[Token] = []
    parents: list[Token | None] = []
    for token in tokens:
        parents.append(stack[-1] if stack else None)
        if token.kind == "open":
            stack.append(token)
        elif token.kind == "close":
            stack.pop()
    return [*parents, None]


def _inserted(gaps: Sequence[bytes], pending: Sequence[bytes]) -> list[bytes]:
    """Put new pieces into a gap, inside of what the gap opens."""
    if not pending:
        return [*gaps[:1], *(gap for gap in gaps[1:] if gap.strip())]
    whole = b"".join(gaps)
    depths = [(0, len(gaps[0]))]
    for match in _TAGS.finditer(whole):
        if len(depths) == 1:
            depths = [(0, min(len(gaps[0]), match.start()))]
        depths.append((depths[-1][0] + (0 if match[3] else -1 if match[1] else 1), match.end()))
    level = max(depths[-1][0], 0)
    at = next(end for depth, end in reversed(depths) if depth == level)
    return [whole[:at], *pending, whole[at:]]


def _changes(old: Sequence[object], new: Sequence[object]) -> list[tuple[str, int, int, int, int]]:
    """Opcodes of a comparison that takes equal beginnings and ends as they are."""
    size = min(len(old), len(new))
    head = next((index for index in range(size) if old[index] != new[index]), size)
    tail = next((index for index in range(size - head) if old[-1 - index] != new[-1 - index]), size - head)
    matcher = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], False)  # type: ignore[type-var]
    middle = [(name, a + head, b + head, c + head, d + head) for name, a, b, c, d in matcher.get_opcodes()]
    start = [("equal", 0, head, 0, head)] if head else []
    end = [("equal", len(old) - tail, len(old), len(new) - tail, len(new))] if tail else []
    return [*start, *middle, *end]


def _same(source: dict[int, Token], old: Sequence[Token], new: Sequence[Token]) -> None:
    source.update((id(after), before) for before, after in zip(old, new, strict=True))


def _align(source: dict[int, Token], old: list[Token], new: list[Token]) -> None:
    """Find the tokens of an edited region in the base."""
    old_units, new_units = _units(old), _units(new)
    for name, start, end, first, last in _changes(_contents(old_units), _contents(new_units)):
        before = [token for unit in old_units[start:end] for token in unit]
        after = [token for unit in new_units[first:last] for token in unit]
        if name == "equal":
            _same(source, before, after)
        elif name == "replace":
            _align_tokens(source, before, after)


MAX_ALIGNED = 4_000_000
"""Product of the lengths of two edited regions up to which they are compared token by token."""


def _align_tokens(source: dict[int, Token], old: Sequence[Token], new: Sequence[Token]) -> None:
    fast = len(old) * len(new) > MAX_ALIGNED
    if fast:
        matcher = SequenceMatcher(None, [t.identity for t in old], [t.identity for t in new], True)
        opcodes = matcher.get_opcodes()
    else:
        opcodes = _changes([token.identity for token in old], [token.identity for token in new])
    for name, start, end, first, last in opcodes:
        if name == "equal":
            _same(source, old[start:end], new[first:last])


def _units(tokens: Sequence[Token]) -> list[list[Token]]:
    units: list[list[Token]] = [[]]
    for token in tokens:
        units[-1].append(token)
        if token.name in _UNIT_ENDS or token.block:
            units.append([])
    return [unit for unit in units if unit]


def _contents(units: Sequence[Sequence[Token]]) -> list[tuple[object, ...]]:
    return [tuple(token.whole for token in unit) for unit in units]


def _repair_pairs(tokens: Sequence[Token], source: dict[int, Token]) -> None:
    """Let both ends of each element come from one element of the base, and only marks come from one twice."""
    used: set[int] = set()
    for previous, token in zip([None, *tokens], tokens, strict=False):
        if token.kind != "open" or token.partner is None:
            continue
        start, end = source.pop(id(token), None), source.pop(id(token.partner), None)
        element = next(filter(None, (start, end.partner if end else None)), None)
        if element is None or element.partner is None or _runs_together(previous, element, source):
            continue
        if element.name in INLINE or id(element) not in used:
            used.add(id(element))
            source[id(token)], source[id(token.partner)] = element, element.partner


def _runs_together(previous: Token | None, element: Token, source: Mapping[int, Token]) -> bool:
    """Whether a paragraph without a tag would follow another one, and be one with it."""
    before = source.get(id(previous)) if previous is not None else None
    return element.name == "p" and element.start == element.end and before is not None and _is_bare(before)


def _is_bare(token: Token) -> bool:
    return token.name == "p" and token.kind == "close" and token.start == token.end


class _PieceWriter:
    """Writes single tokens: the base's bytes, patched where a value was edited, else what Confluence would write."""

    def __init__(
        self, base: bytes, source: Mapping[int, Token], targets: Targets, length: Callable[[Token], int]
    ) -> None:
        self._length = length
        self._base = base
        self._source = source
        self._targets = targets
        self._form = ""  # how the text of the open link is stored

    def piece(self, tokens: Sequence[Token], number: int) -> bytes:
        """The bytes of one token."""
        token = tokens[number]
        base = self._source.get(id(token))
        if token.name == "link":
            return self._link(tokens, number, base)
        if self._form == "virtual":
            return b""
        raw = self._base[base.start : base.end] if base is not None else b""
        if token.kind in {"word", "space"}:
            return self._text(token, base, raw)
        if base is None:
            return self._new(tokens, number)
        if token.kind == "close":
            return _closing(token, base, raw)
        return raw if token.value == base.value else patched(token, base, raw)

    def _text(self, token: Token, base: Token | None, raw: bytes) -> bytes:
        cdata = self._form == "cdata"
        if base is not None and base.start < base.end and (base.form == "cdata") == cdata:
            return raw
        text = token.key if token.kind == "word" else " "
        return as_cdata(text) if cdata else as_text(text)

    def _link(self, tokens: Sequence[Token], number: int, base: Token | None) -> bytes:
        if tokens[number].kind == "close":
            form, self._form = self._form, ""
            if base is None:
                return b"</a>" if self._attachment(tokens[number]) is None else b"</ac:link-body></ac:link>"
            return _link_end(self._base[base.start : base.end], base.form, form)
        if base is None:
            return self._new(tokens, number)
        raw = self._base[base.start : base.end]
        inner = inner_tokens(tokens, number)
        if self._keeps_form(base, inner):
            self._form = base.form
            return raw
        if base.form == "virtual":
            return raw + b"<ac:link-body>"
        return raw.replace(b"ac:plain-text-link-body><![CDATA[", b"ac:link-body>")

    def _keeps_form(self, base: Token, inner: Sequence[Token]) -> bool:
        """Whether a link's text is stored as it was: not at all (`virtual`), in CDATA, or as elements."""
        if base.form == "virtual":
            sources = [self._source.get(id(token)) for token in inner]
            is_whole = all(source is not None and source.form == "virtual" for source in sources)
            return is_whole and len(inner) == self._length(base)
        return base.form != "cdata" or all(token.kind in {"word", "space"} for token in inner)

    def _new(self, tokens: Sequence[Token], number: int) -> bytes:
        token = tokens[number]
        opens = token.kind != "close"
        if token.kind == "leaf":
            return self._new_leaf(token)
        source = token if opens else token.partner or token
        if token.name == "link":
            return self._new_link(token)
        if token.name == "p" and _is_first_in_task(tokens, number if opens else tokens.index(source)):
            return b""
        return new_tag(source, opens=opens).encode()

    def _new_link(self, token: Token) -> bytes:
        name = self._attachment(token)
        if name is None:
            return f"<a href={quoteattr(self._href(token))}>".encode()
        return f"<ac:link><ri:attachment ri:filename={quoteattr(name)} /><ac:link-body>".encode()

    def _attachment(self, link: Token) -> str | None:
        """Name of the attachment to which a link leads; None if it leads elsewhere."""
        return None if ":" in link.key else self._targets.attachment_name(link.key)

    def _href(self, token: Token) -> str:
        target = token.key
        if target.startswith(PLACEHOLDER):
            raise EditError(token.line, f"no link {target} is on this page.")
        path, _, fragment = target.partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:|//|/", path, re.IGNORECASE) or not path:
            return target
        url = self._targets.page_url(path)
        if url is None:
            raise EditError(
                token.line, f"{path} is not a page of this space; link to a page that was pulled or pushed."
            )
        return f"{url}#{fragment}" if fragment else url

    def _new_leaf(self, token: Token) -> bytes:
        label = token.value[0] if token.value else ""
        if token.name in {"macro", "status", "date"}:
            name = token.key if token.name == "macro" else f"{token.name}/{token.key}"
            raise EditError(token.line, f"no placeholder {PLACEHOLDER}{name} is on this page.")
        if token.name == "image":
            return self._new_image(token, label).encode()
        if token.name == "code":
            return new_code(token).encode()
        shapes = {"break": "<br />", "rule": "<hr />", "pre": f"<pre>{escape(label)}</pre>"}
        return shapes.get(token.name, f"<code>{escape(token.key)}</code>").encode()

    def _new_image(self, token: Token, label: str) -> str:
        alt = f" ac:alt={quoteattr(label)}" if label else ""
        if re.match(r"https?://", token.key):
            return f"<ac:image{alt}><ri:url ri:value={quoteattr(token.key)} /></ac:image>"
        name = self._targets.attachment_name(token.key)
        if name is None:
            raise EditError(token.line, f"{token.key} is no attachment of this page; add it with 'cn attach'.")
        return f"<ac:image{alt}><ri:attachment ri:filename={quoteattr(name)} /></ac:image>"


def _closing(token: Token, base: Token, raw: bytes) -> bytes:
    """The end of an element, which is another tag only if a heading got another level."""
    opening, new = base.partner, token.partner
    if token.name != "heading" or new is None or opening is None or new.value == opening.value:
        return raw
    return patched_heading(raw, new.value[0])


def _link_end(raw: bytes, old_form: str, form: str) -> bytes:
    """The end of a link, from the form in which the base has its text to the one in which it is stored now."""
    if old_form == "cdata" and form != "cdata":
        return raw.replace(b"]]></ac:plain-text-link-body>", b"</ac:link-body>")
    return b"</ac:link-body>" + raw if old_form == "virtual" and form != "virtual" else raw


def _is_first_in_task(tokens: Sequence[Token], number: int) -> bool:
    return number > 0 and tokens[number - 1].kind == "open" and tokens[number - 1].name == "task"
