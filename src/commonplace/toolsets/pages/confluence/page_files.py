"""A page as a file: frontmatter, title and Markdown; and the merge of two edits of it by blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from commonplace.domain.frontmatter import block_end, read_frontmatter, set_fields
from commonplace.domain.json import Json, JsonObject
from commonplace.toolsets.pages.rules.page import as_one_line

_TITLE = re.compile(r"\s*#[ \t]+([^\n]*)(?:\n|\Z)\s*")
_FENCE = re.compile(r"^[> \t]*(?:[-*+]|\d+[.)])?[ \t]*(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class PageFile:
    """A page's file, in its three parts."""

    fields: JsonObject
    title: str
    body: str
    raw: bytes

    @property
    def id(self) -> str:
        """Id of the page; "" for a page that the site does not have yet."""
        return as_one_line(self.fields.get("page_id"))

    @property
    def is_new(self) -> bool:
        """Whether a push creates the page: it has a title in its frontmatter, and no id."""
        return "title" in self.fields and "page_id" not in self.fields

    @property
    def version(self) -> int:
        """Version of the page on which the file is based; 0 if it names none."""
        text = as_one_line(self.fields.get("version"))
        return int(text) if text.isdigit() else 0

    @property
    def labels(self) -> set[str]:
        """The labels in the frontmatter."""
        labels = self.fields.get("labels")
        values = labels if isinstance(labels, Sequence) and not isinstance(labels, str) else [labels]
        return {as_one_line(value) for value in values if as_one_line(value)}

    @property
    def body_line(self) -> int:
        """Number of the file's lines before the body."""
        text = self.raw.decode("utf-8", "replace")
        return text[: len(text) - len(self.body)].count("\n")


def read_page_file(raw: bytes) -> PageFile:
    """The parts of a file; a file without a title line has the title of its frontmatter."""
    fields = read_frontmatter(raw).values
    text = raw[block_end(raw) :].decode("utf-8", "replace").replace("\r\n", "\n")
    heading = _TITLE.match(text)
    title = " ".join(heading[1].split()) if heading else as_one_line(fields.get("title"))
    return PageFile(fields, unescaped(title), text[heading.end() :] if heading else text.lstrip("\n"), raw)


def write_page_file(fields: Mapping[str, Json], title: str, body: str) -> bytes:
    """The bytes of a page's file."""
    text = f"\n# {escaped(title)}\n" + (f"\n{body}" if body else "")
    return set_fields(text.encode(), {key: value for key, value in fields.items() if value not in ("", None)})


def escaped(title: str) -> str:
    """A title as the text of a heading."""
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", " ".join(title.split()))


def unescaped(text: str) -> str:
    """The title that a heading shows."""
    return re.sub(r"\\([\\`*_\[\]<>#])", r"\1", text)


def paragraphs(text: str) -> list[str]:
    """The blocks of a text, split at blank lines outside of code."""
    blocks: list[list[str]] = [[]]
    fence = ""
    for line in text.strip("\n").split("\n"):
        marker = _FENCE.match(line)
        if fence:
            bare = line.strip("> \t")
            fence = "" if bare.startswith(fence) and not bare.strip(fence[0]) else fence
        elif marker:
            fence = marker[1]
        if not line.strip() and not fence:
            blocks.append([])
        else:
            blocks[-1].append(line)
    return ["\n".join(block) for block in blocks if block]


def merged(base: str, ours: str, theirs: str) -> str | None:
    """A three-way merge by blocks; None if both sides changed the same block differently.

    Changes of both sides that touch each other are a conflict, so that nothing is placed by guess.
    """
    if ours in {base, theirs}:
        return theirs
    if theirs == base:
        return ours
    old, mine, other = paragraphs(base), paragraphs(ours), paragraphs(theirs)
    result: list[str] = []
    for start, end, left, right in _regions(old, _opcodes(old, mine), _opcodes(old, other)):
        first, second = mine[left[0] : left[1]], other[right[0] : right[1]]
        if first == old[start:end] or first == second:
            result += second
        elif second == old[start:end]:
            result += first
        else:
            return None
    return "\n\n".join(result) + "\n" if result else ""


_Opcode = tuple[int, int, int, int]


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[_Opcode]:
    opcodes = SequenceMatcher(None, old, new, False).get_opcodes()
    return [(a, b, c, d) for name, a, b, c, d in opcodes if name != "equal"]


def _joined(start: int, sides: Sequence[list[_Opcode]], places: Sequence[int]) -> tuple[int, int, int]:
    """The end of all changes that touch each other from a start on: in the old text, and on each side.

    Args:
        start: Where the first change begins in the old text.
        sides: The changes of each side; those that touch are taken off.
        places: Where each side is at the start.
    """
    end, ends = start, [(start, place) for place in places]
    while touching := [number for number, side in enumerate(sides) if side and side[0][0] <= end]:
        _, old_end, _, new_end = sides[touching[0]].pop(0)
        end, ends[touching[0]] = max(end, old_end), (old_end, new_end)
    left_end, right_end = (new_end + end - old_end for old_end, new_end in ends)
    return end, left_end, right_end


def _regions(
    old: Sequence[str], left: list[_Opcode], right: list[_Opcode]
) -> list[tuple[int, int, tuple[int, int], tuple[int, int]]]:
    """The old text cut into ranges that a side left alone or changed, each with its range on both sides."""
    regions: list[tuple[int, int, tuple[int, int], tuple[int, int]]] = []
    at = left_at = right_at = 0
    while left or right:
        start = min(side[0][0] for side in (left, right) if side)
        size = start - at
        if size:
            regions.append((at, start, (left_at, left_at + size), (right_at, right_at + size)))
        left_at, right_at = left_at + size, right_at + size
        end, left_end, right_end = _joined(start, (left, right), (left_at, right_at))
        regions.append((start, end, (left_at, left_end), (right_at, right_end)))
        at, left_at, right_at = end, left_end, right_end
    rest = len(old) - at
    if rest:
        regions.append((at, len(old), (left_at, left_at + rest), (right_at, right_at + rest)))
    return regions
