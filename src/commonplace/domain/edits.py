"""Edits as pure functions from a document to its new bytes. All other bytes are unchanged.

Inserted text gets the document's line ends. Blank lines around a replaced text are preserved, so that changing one word
in a section changes one line of the file.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, takewhile

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import hidden_headings, read_document
from commonplace.domain.documents import Document, Link, LinkKind, Section
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.markdown.link_rewrites import LinkMove, moved_target, written_target
from commonplace.domain.markdown.link_syntax import ScalarStyles

_BLANK = b" \t\r\n"
_LINE_END = re.compile(rb"\r?\n|\r")
_ROWS = (re.compile(rb"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]"), re.compile(rb"[ \t]*\|"))
"""Beginnings of lines in lists and tables, whose items are not separated by blank lines."""
_DEFINITION = re.compile(rb" {0,3}\[([^\[\]\r\n]+)\]:")
ITEM = re.compile(rb"([ \t]*)- ")
"""The beginning of a block of Logseq."""


def replace_section(
    document: Document, section: Section, text: str, *, keep_heading: bool = True, subsections: bool = True
) -> bytes:
    """Replace the text of a section.

    Args:
        document: The document that contains the section.
        section: A section of the document.
        text: The new text. If it repeats a preserved heading, the repetition is removed.
        keep_heading: Whether to preserve the heading line. If false, `text` replaces the heading, too.
        subsections: Whether to replace the subsections, too. Ignored for the text before the first heading.

    Raises:
        InvalidInputError: the document is not UTF-8, or the text is not valid Unicode.
    """
    _require_text(document)
    start = section.content if keep_heading else section.start
    end = section.tree_end if subsections and section.level else section.end
    if keep_heading and section.level:
        text = without_heading(document.raw[section.start : section.content].decode(), text)
    if keep_heading:
        text = as_blocks(document, section, text)
        is_item = ITEM.match(document.raw[section.start : section.content])
        if is_item and text.strip() and not document.raw[start:end].strip():
            return insert_text(document, start, text)  # an item has no blank line below it
    return keep_sections(document, start, end, _replaced(document, start, end, text))


def replace_text(document: Document, text: str) -> bytes:
    """Replace the whole text, including the frontmatter. The byte order mark and the line ends are preserved.

    Raises:
        InvalidInputError: the document is not UTF-8, or the text is not valid Unicode.
    """
    _require_text(document)
    start = _text_start(document)
    return document.raw[:start] + _adapted(
        document, with_unix_line_ends(text.removeprefix("\ufeff")), document.raw[start:]
    )


def replace_body(document: Document, text: str) -> bytes:
    """Replace everything after the frontmatter.

    Raises:
        InvalidInputError: the document is not UTF-8, or the text is not valid Unicode.
    """
    _require_text(document)
    return _replaced(document, document.body_start, len(document.raw), text)


def give_body(document: Document, text: str) -> bytes:
    """Replace everything after the frontmatter by a text that `Document.body` then returns unchanged.

    The line ends are those of the document. If the body is equal to the text, no byte changes.

    Raises:
        InvalidInputError: the document is not UTF-8, or the text is not valid Unicode.
    """
    _require_text(document)
    if text == document.body:
        return document.raw
    before, old = document.raw[: document.body_start], document.raw[document.body_start :]
    if not text:
        return before
    apart = not old.strip() or old[:1] in b"\r\n" or text[0] in "\r\n"
    lead = "\n" if document.frontmatter.present and apart else ""
    return before + _adapted(document, utf8(with_unix_line_ends(lead + text)).decode(), old)


def remove_section(document: Document, section: Section) -> bytes:
    """Remove a section with its heading and subsections. For level 0, remove the text before the first heading.

    Raises:
        InvalidInputError: the document is not UTF-8.
    """
    _require_text(document)
    end = section.tree_end if section.level else section.end
    return keep_sections(document, section.start, end, document.raw[: section.start] + document.raw[end:])


def as_blocks(document: Document, section: Section | None, text: str) -> str:
    """A text as blocks below the heading in an item, or at the end of a page of Logseq; any other text as it is."""
    line = document.raw[section.start : section.content] if section and section.level else b""
    in_item = ITEM.match(line)
    is_block = in_item or (not line and document.is_blocks)
    if not is_block or not text.strip():
        return text
    indent = in_item[1].decode() + "\t" if in_item else ""
    return "\n".join(indent + row for row in _rows(text.strip("\r\n")))


def _rows(text: str) -> list[str]:
    """The lines of a list; of another text, those of a list with an item for each paragraph."""
    if ITEM.match(text.encode()):
        return text.splitlines()
    paragraphs = [paragraph.splitlines() for paragraph in re.split(r"\n[ \t]*\n", text)]
    return [("  " if at else "- ") + row for paragraph in paragraphs for at, row in enumerate(paragraph)]


def insert_text(document: Document, at: int, text: str) -> bytes:
    """Insert a block of text at the start of a line or at the end, separated by blank lines.

    A document without a final line end gets none.
    A list item or table row is inserted below the previous item or row without a blank line.

    Raises:
        InvalidInputError: the document is not UTF-8, or the text is empty or not valid Unicode; kind "content": the
            text would hide a section below it.
    """
    _require_text(document)
    content = _trimmed(text)
    if not content:
        raise InvalidInputError("There is no text to insert.", kind="text", hint="Give the text.")
    raw = document.raw
    lines = raw[document.body_start : at].rstrip(_BLANK).splitlines()
    if lines and any(row.match(lines[-1]) and row.match(utf8(content)) for row in _ROWS):
        end = len(raw[:at].rstrip(_BLANK))
        match = _LINE_END.match(raw, end)
        behind = raw[end:]
        if match is None:  # the last line of the document has no line end
            return raw + document.newline.encode() + _adapted(document, content)
        at = match.end()
        changed = raw[:at] + _adapted(document, content) + match.group() + behind[len(match.group()) :]
    else:
        changed = _inserted(document, at, content)
    return _hide_none(document, at, at, changed)


MAX_COUNTED = 1_000
"""Maximum number of occurrences of a text that are counted."""


def replace_range(document: Document, start: int, end: int, text: str) -> bytes:
    """Replace the text of a byte range. Blank lines at the ends of the range are preserved.

    Raises:
        InvalidInputError: the document is not UTF-8, or the text is not valid Unicode.
    """
    _require_text(document)
    return keep_sections(document, start, end, _replaced(document, start, end, text))


def keep_sections(document: Document, start: int, end: int, changed: bytes) -> bytes:
    """The new bytes of an edit of one part, if it takes away no section that it does not name.

    An edit names the sections whose heading lines it touches. Those behind a code fence that nothing closes are in no
    list of sections, so that nobody names them; the new text must have their heading lines.

    Args:
        document: The document before the edit.
        start: Start of the replaced range.
        end: End of the replaced range.
        changed: The new bytes.

    Raises:
        InvalidInputError: kind "content": a section would be deleted or hidden; the message names it.
    """
    raw = document.raw
    _hide_none(document, start, end, changed)
    behind = [(at, heading) for at, heading in hidden_headings(document) if start <= at < end]
    lines = {line.strip() for line in changed[start : len(changed) - len(raw) + end].splitlines()} if behind else ()
    lost = [heading for at, heading in behind if raw[at:].partition(b"\n")[0].strip() not in lines]
    if lost:
        block = next(finding for finding in document.findings if finding.rule == "unclosed_block")
        raise InvalidInputError(
            f"The edit would delete {_named(lost)}, behind the code fence or comment that begins in line {block.line}"
            " and is not closed.",
            kind="content",
            hint="Close it first. Or give the whole text, with it closed and with every heading behind it.",
        )
    return changed


def _hide_none(document: Document, start: int, end: int, changed: bytes) -> bytes:
    """The new bytes of an edit of a range, if they have every section whose heading line the range does not touch.

    Raises:
        InvalidInputError: kind "content": a section would be hidden; the message names it.
    """
    others = [
        section.heading
        for section in document.sections
        if section.level and not (section.start < end and start < section.content)
    ]
    if others and changed != document.raw:
        there = Counter(
            section.heading for section in read_document(document.address, changed).sections if section.level
        )
        hidden = list((Counter(others) - there).elements())
        if hidden:
            raise InvalidInputError(
                f"The content would hide {_named(hidden)}: a code fence, HTML block or comment is not closed before"
                " it, or its line is joined to another.",
                kind="content",
                hint="Close it, in the content or at the end of the document. Or replace the headings, too.",
            )
    return changed


MAX_NAMED = 5
"""Maximum number of sections that a message names."""


def _named(headings: Sequence[str]) -> str:
    more = f" and {len(headings) - MAX_NAMED:,} more" if len(headings) > MAX_NAMED else ""
    return ", ".join(repr(heading[:80]) for heading in headings[:MAX_NAMED]) + more


def replace_once(
    document: Document, old: str, new: str, occurrence: int = 0, *, within: tuple[int, int] | None = None
) -> bytes:
    """Replace one occurrence of a text, also in the frontmatter. Both kinds of line ends match each other.

    Args:
        document: The document.
        old: The text.
        new: The replacement.
        occurrence: Number of the occurrence, from 1; 0 for the only occurrence.
        within: Start and end of the part in which the text is looked for; None for the whole document.

    Raises:
        InvalidInputError: the text is absent, occurs more than once while `occurrence` is 0, occurs less often than
            `occurrence`, is empty, or equals its replacement; kind "content": a section that the text does not name
            would be hidden.
    """
    _require_text(document)
    replacement = with_unix_line_ends(new)
    if old and with_unix_line_ends(old) == replacement:
        raise InvalidInputError("The text and its replacement are the same.", kind="text")
    start, end = place_of(document, old, occurrence, within=within)
    changed = document.raw[:start] + _adapted(document, replacement, document.raw[start:end]) + document.raw[end:]
    return _hide_none(document, start, end, changed)


def place_of(
    document: Document, old: str, occurrence: int = 0, *, within: tuple[int, int] | None = None
) -> tuple[int, int]:
    """The byte range of one occurrence of a text; arguments and errors are those of `replace_once`."""
    unix_line_ends = with_unix_line_ends(old)
    if not unix_line_ends:
        raise InvalidInputError("The text to replace is empty.", kind="text", hint="Give the words to replace.")
    needle = utf8(unix_line_ends)
    first, last = within or (_text_start(document), len(document.raw))
    part = document.raw[first:last]
    places = list(islice(_places(part.replace(b"\r\n", b"\n"), needle), max(MAX_COUNTED, occurrence)))
    if not places:
        raise InvalidInputError(
            "The text does not occur in the document.",
            kind="text",
            hint=_hint(with_unix_line_ends(part.decode("utf-8", "replace")), unix_line_ends),
        )
    if occurrence > len(places) or (len(places) > 1 and not occurrence):
        raise _ambiguous(len(places), occurrence)
    at = places[occurrence - 1 if occurrence else 0]
    return first + _offset_with_returns(part, at), first + _offset_with_returns(part, at + len(needle))


def _places(haystack: bytes, needle: bytes) -> Iterator[int]:
    """Offsets of all occurrences of a text in order, including overlapping ones."""
    at = haystack.find(needle)
    while at >= 0:
        yield at
        at = haystack.find(needle, at + 1)


def _ambiguous(count: int, occurrence: int) -> InvalidInputError:
    """The error for a text with several occurrences, or with fewer than the requested one."""
    times = "once" if count == 1 else f"{count:,} times" if count < MAX_COUNTED else f"at least {MAX_COUNTED:,} times"
    if occurrence:
        said = f"The text occurs {times} in the document, so there is no occurrence {occurrence:,}."
        return InvalidInputError(said, kind="text", hint=f"Give an occurrence from 1 to {count:,}.")
    return InvalidInputError(
        f"The text is ambiguous: it occurs {times} in the document.",
        kind="text",
        hint="Give more of the text round it, so that it is found once.",
    )


class WholeLink(bytes):
    """The bytes that stand for a whole link after a move."""


def rewrite_links(
    document: Document,
    targets: Mapping[int, Address],
    *,
    old: Address | Mapping[int, Address] | None = None,
    moved_to: Address | None = None,
    leads: Callable[[str, LinkKind], Address | None] | None = None,
    spellings: Mapping[int, bytes | str] | None = None,
) -> bytes:
    """Rewrite links after a move, each in its author's style. Only their paths change.

    Args:
        document: The document as read under its old address.
        targets: The new targets of links, by position in `document.links`.
        old: The old target of all these links, or of some by position. The old target of the other links was the new
            one, or the document itself.
        moved_to: The document's own new address; None if it does not move.
        leads: Resolves a path in a link of a kind from this document after the move. A style that would resolve to
            another document or file is not used. None if every style is acceptable.
        spellings: By position, the bytes of a new target or of a whole link, or the target's URL on a site, which is
            used if it leads there.

    Raises:
        InvalidInputError: the document is not UTF-8, or the new path cannot be written in a wikilink.
    """
    _require_text(document)
    raw, here = document.raw, moved_to or document.address
    changes: dict[tuple[int, int], bytes] = {}
    styles: ScalarStyles | None = None
    for position, new in targets.items():
        link = document.links[position]
        start, end = link.target_span.start, link.target_span.end
        if not link.target or not end:
            continue
        spelling = spellings.get(position, "") if spellings else ""
        if isinstance(spelling, bytes):
            changes[link.span if isinstance(spelling, WholeLink) else link.target_span] = spelling
            continue
        before = old.get(position) if isinstance(old, Mapping) else old
        before = before or (document.address if new == moved_to else new)
        move = LinkMove(document.address, here, before, new, spelling)
        target = moved_target(link, move, lambda path, kind=link.kind, new=new: not leads or leads(path, kind) == new)
        if target != link.target:
            in_head = link.kind == LinkKind.FRONTMATTER and start < document.body_start
            in_yaml = in_head and not document.frontmatter.is_properties
            if in_yaml and styles is None:
                styles = ScalarStyles(raw, document.frontmatter)
            style = styles.at(start) if in_yaml and styles else "|" if in_head else ""
            changes[start, end] = _written_target(document, link, target, style.encode())
    return _with_changes(raw, changes | _label_changes(document, changes))


def _label_changes(document: Document, changes: Mapping[tuple[int, int], bytes]) -> dict[tuple[int, int], bytes]:
    """The new labels of the definitions that Foam writes for wikilinks, `[name]: path`, where the wikilink changes."""
    if b"]:" not in document.raw:
        return {}
    kinds = {LinkKind.WIKI, LinkKind.EMBED}
    wikilinks = [link for link in document.links if link.kind in kinds and link.target_span in changes]
    labels = dict(_inside(document.raw, link, changes) for link in wikilinks)
    definitions = [_DEFINITION.match(document.raw, *link.span) for link in document.links]
    return {match.span(1): labels[match[1]] for match in filter(None, definitions) if match[1] in labels}


def _inside(raw: bytes, link: Link, changes: Mapping[tuple[int, int], bytes]) -> tuple[bytes, bytes]:
    """The text between the brackets of a wikilink, before and after the changes."""
    start, end = link.span.start + (3 if link.kind is LinkKind.EMBED else 2), link.span.end - 2
    first, last = link.target_span
    return raw[start:end], raw[start:first] + changes.get((first, last), raw[first:last]) + raw[last:end]


def _written_target(document: Document, link: Link, target: str, style: bytes) -> bytes:
    """The bytes of a link's new target.

    Raises:
        InvalidInputError: the target cannot be written there; the message names the page and line of the link.
    """
    raw, (start, end) = document.raw, link.target_span
    try:
        in_tag = raw.startswith(b"<", link.span.start) or start < document.body_start
        return written_target(link, target, raw[start:end], style or raw[start - 1 : start], in_tag=in_tag)
    except InvalidInputError as error:
        line = raw.count(b"\n", 0, start) + 1
        place = f"{document.address.path}, line {line}"
        raise InvalidInputError(f"{place}: {error}", kind=error.kind, hint=error.hint) from error


def _with_changes(raw: bytes, changes: Mapping[tuple[int, int], bytes]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for (start, end), content in sorted(changes.items()):
        parts += [raw[at:start], content]
        at = end
    return b"".join([*parts, raw[at:]])


def _text_start(document: Document) -> int:
    """Start of the text, after the byte order mark if there is one."""
    return len(codecs.BOM_UTF8) if document.raw.startswith(codecs.BOM_UTF8) else 0


def _replaced(document: Document, start: int, end: int, text: str) -> bytes:
    """The document with new text in a range. Blank lines at the ends of the range are preserved."""
    raw = document.raw
    old = raw[start:end]
    content = _trimmed(text)
    first, last = _core(old)
    if first == last:
        return _filled(document, start, end, _adapted(document, content)) if content else raw
    if content:
        return raw[: start + first] + _adapted(document, content, old[first:last]) + raw[start + last :]
    return raw[:start] + (old[:first] if end < len(raw) else b"") + raw[end:]


def _core(text: bytes) -> tuple[int, int]:
    """Start and end of a text without the blank lines at its ends and without its last line end."""
    first = len(text) - len(text.lstrip(_BLANK))
    if first == len(text):
        return 0, 0
    first = max(text.rfind(b"\n", 0, first), text.rfind(b"\r", 0, first)) + 1
    tail = _LINE_END.search(text, len(text.rstrip(_BLANK)))
    return first, tail.start() if tail else len(text)


def _filled(document: Document, start: int, end: int, content: bytes) -> bytes:
    """The document with text in a formerly blank range, separated by blank lines from the headings around it."""
    raw, newline = document.raw, document.newline.encode()
    before = raw[:start] if not start or raw[start - 1 : start] in b"\r\n" else raw[:start] + newline
    lead = newline if start > document.body_start else b""
    tail = newline * 2 if end < len(raw) else _last_line_end(document)
    return before + lead + content + tail + raw[end:]


def _inserted(document: Document, at: int, text: str) -> bytes:
    """The document with a block of text inserted at a line start or at the end, with blank lines around it."""
    _require_text(document)
    raw, newline = document.raw, document.newline.encode()
    before, after = raw[:at], raw[at:]
    content = _adapted(document, text)
    if before and before[-1:] not in b"\r\n" and before != codecs.BOM_UTF8:
        before += newline
    stripped = before.rstrip(_BLANK)
    if len(stripped) > document.body_start and before.count(b"\n", len(stripped)) == 1:
        before += newline
    if after:
        tail = newline * (2 - min(after[: len(after) - len(after.lstrip(_BLANK))].count(b"\n"), 2))
    else:
        tail = _last_line_end(document)
    return before + content + tail + after


def _last_line_end(document: Document) -> bytes:
    """The line end for text at the document's end: "" if the document does not end with one."""
    return document.newline.encode() if not document.raw or document.raw.endswith(b"\n") else b""


def without_heading(line: str, text: str) -> str:
    """The text without its first lines if they repeat the heading."""
    heading, lines = with_unix_line_ends(line).strip(), with_unix_line_ends(text).lstrip("\n")
    for repeated in (heading, heading.rpartition("\n{:")[0]):  # with or without attributes below it
        if repeated and f"{lines}\n".startswith(f"{repeated}\n"):
            return lines.removeprefix(repeated)
    return text


def _trimmed(text: str) -> str:
    """The text without blank lines at its ends, with Unix line ends. The first line's indentation is preserved."""
    lines = utf8(with_unix_line_ends(text))
    first, last = _core(lines)
    return lines[first:last].decode()


def _adapted(document: Document, text: str, replaced: bytes = b"") -> bytes:
    """Text with Unix line ends converted to the document's line ends, in place of `replaced`."""
    return with_line_ends(text, document.newline, replaced if is_mixed(document.raw) else b"")


def _offset_with_returns(raw: bytes, offset: int) -> int:
    """Convert an offset in text with Unix line ends to an offset in `raw`."""
    for match in re.finditer(rb"\r\n", raw):
        if match.start() >= offset:
            break
        offset += 1
    return offset


def _hint(text: str, unix_line_ends: str) -> str:
    if " ".join(unix_line_ends.split()) in " ".join(text.split()):
        return "It occurs with other blanks or line breaks; read the document again and copy the text exactly."
    if unix_line_ends.casefold() in text.casefold():
        return "It occurs in another case; copy the text exactly."
    return "Read the document again and copy the text exactly."


def _require_text(document: Document) -> None:
    if not document.decodable:
        raise InvalidInputError(
            "The document is not UTF-8 and is never changed.",
            kind="document",
            hint="Convert the file to UTF-8 first.",
        )


# Line ends: inserted text gets the line ends of its document, even if these are mixed.


_ANY_LINE_END = re.compile(r"(\r\n|\r|\n)")


def with_unix_line_ends(text: str) -> str:
    r"""The text with every line end as `\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def lines_of(text: str) -> list[str]:
    r"""The lines of a text as in Markdown and Git, without line ends. `str.splitlines` would also split at U+2028."""
    lines = with_unix_line_ends(text).split("\n")
    return lines[:-1] if not lines[-1] else lines


def utf8(text: str) -> bytes:
    """The text as UTF-8.

    Raises:
        InvalidInputError: the text contains a lone surrogate.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(
            "The text contains a lone surrogate, which is not valid Unicode.", kind="text"
        ) from None


def is_mixed(raw: bytes) -> bool:
    """Whether a document has several kinds of line ends, or a lone carriage return."""
    windows = raw.count(b"\r\n")
    return len({windows, raw.count(b"\n"), raw.count(b"\r")}) > 1 and bool(windows or b"\r" in raw)


def with_line_ends(text: str, newline: str, replaced: bytes = b"") -> bytes:
    r"""The text encoded, with other line ends.

    Args:
        text: Text with every line end as `\n`.
        newline: The new line end.
        replaced: In a document with mixed line ends, the bytes that the text replaces; unchanged lines preserve their
            line ends, and other lines get the line end of these bytes if all of theirs are the same.

    Raises:
        InvalidInputError: the text contains a lone surrogate.
    """
    if not replaced:
        return utf8(text if newline == "\n" else text.replace("\n", newline))
    pieces = _ANY_LINE_END.split(replaced.decode("utf-8", "replace"))
    old = list(zip(pieces[::2], [*pieces[1::2], ""], strict=True))
    kinds = set(pieces[1::2])
    newline = kinds.pop() if kinds in ({"\n"}, {"\r\n"}) else newline
    new = text.split("\n")
    ends = _kept_ends(old, new, newline)
    return utf8("".join([line + end for line, end in zip(new, ends, strict=True)]))


def _kept_ends(old: list[tuple[str, str]], new: list[str], newline: str) -> list[str]:
    """The line end of each new line: that of the same old line, matched by position from either side, or by text."""
    known_values = dict(old)
    ends = [known_values.get(line) or newline for line in new]
    same = _in_common([line for line, _ in old], new)
    ends[:same] = [end or newline for _, end in old[:same]]
    rest = min(_in_common([line for line, _ in reversed(old)], list(reversed(new))), len(new) - same)
    if rest:
        ends[-rest:] = [end or newline for _, end in old[-rest:]]
    ends[-1] = ""
    for at in reversed(range(len(ends) - 1)):
        if ends[at] == "\r" and not new[at + 1] and ends[at + 1].startswith("\n"):
            ends[at] = newline  # a carriage return and a line feed would be read as one line end
    return ends


def _in_common(lines: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(lines, other, strict=False)))
