"""Measures the finding of contradictions: `python -m benchmarks.judged.contradictions REPOSITORY... [--show]`.

The pairs are built from the history of documentation repositories, half of them from each.

A contradicting pair is a page after a commit that changed one value of a statement, and the section in which it stood,
as it was before, under another name: a value that was changed in one place and left in another. Counted is what
a reader would call another value of the same thing:

- a number with or without unit, a date, a version, a visible URL, yes or no; in a field also a name;
- in text: no code, front matter, heading, destination of a link, key of a row, or list of changes;
- another value, not another spelling: case, markup, separators, http or https, and the language of a URL are the same;
- no ordinals: numbers of lists, examples, steps, figures and references;
- a statement that names its subject: at least four more words, or a field or cell with its key;
- at most three pairs of a page, three of a commit, and one of a statement; no placeholder that was filled.

An innocent pair is two pages of today that state nearly the same (0.6 of the words of a statement, at least three) with
another value, and stood so for a year at least: nobody held it for a contradiction. Pages of one name, which are
versions of each other, are left out.

A contradicting pair counts as found if a finding is on the statement that changed, and an innocent pair as a false one
with any finding. The two halves are by the parity of a digest: `even` is for looking at, `odd` for reporting.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import IO, NamedTuple, cast

from commonplace.domain.addresses import Address
from commonplace.domain.claims import claims_of, contradicting_claims
from commonplace.domain.document_reader import read_document
from commonplace.domain.frontmatter import block_end
from commonplace.services.health.contradictions import are_of_other_things

PAIRS = 150
"""Number of pairs of each kind from one repository."""
MIN_WORDS = 4
SHARED_WORDS = 0.6
MAX_PAGES = 20
"""Maximum number of pages that one commit changes in this way."""

_VALUE = re.compile(
    r"https?:\S+|[$€]?\d[\w.,:/+-]*|v\d[\w.]*|true|false|yes|no|enabled|disabled|on|off|required|optional"
    r"|January|February|March|April|May|June|July|August|September|October|November|December|%|[$.]"
    r"|(?:second|minute|hour|day|week|month|year|byte)s?|[KMGT]?i?B|ms|one|two|three|four|five|six|seven|eight|nine|ten",
    re.IGNORECASE,
)
_STATED = re.compile(
    r"\d|https?:|^(?:true|false|yes|no|enabled|disabled|on|off|required|optional|one|two|three|four|five|six|seven"
    r"|eight|nine|ten)$",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"https?://[^\s)>\]\"'`|]+|[$€]?\d[\w.,:/+-]*\w|[$€]?\d|[^\W_][\w'-]*|[^\w\s]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MARKER = re.compile(r"^\s*(?:>\s*)*(?:[-*+]|\d+[.)])\s+")
_DESTINATION = re.compile(r"(\[[^\[\]]*\])(?:\([^)]*\)|\[[^\]]*\])|<a [^>]*>|\{[^}]*\}|\[\d+\]")
_DEFINITION = re.compile(r"^\s*\[[^\]]*\]:\s")
_LISTS_OF_CHANGES = re.compile(
    r"(?i)what-?s-?new|release-?notes|changelog|history|updates|hall-of-fame|thirdparty|20\d\d"
)
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: str(number) for number, word in enumerate(_WORDS, 1)}
_FENCE = re.compile(r"^\s*(?:>\s*)?(`{3,}|~{3,})")
_ORDINAL = re.compile(r"(?:example|step|figure|listing|table|chapter|section|part|item|no|#)[.\s#]*$", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_FIELD = re.compile(r"^\W*\w[\w /()'-]{1,40}\W?:\W*\s\S{1,40}(?:\s\S{1,20}){0,2}$")


class Statement(NamedTuple):
    """A paragraph, item or row of a page."""

    line: int
    """Line from 1 of its beginning."""
    text: str
    section: tuple[int, int]
    """Lines of its section, from 0, the end excluded."""


class Pair(NamedTuple):
    """Two pages, and the lines of the first one that contradict the second; none for an innocent pair."""

    first: str
    second: str
    lines: range
    label: str

    @property
    def half(self) -> str:
        """The half of the set to which it belongs."""
        return "odd" if hashlib.sha256(self.label.encode()).digest()[0] % 2 else "even"


def statements_of(page: str) -> list[Statement]:
    """The paragraphs, items and rows of a page, without code, front matter and headings."""
    start = page.count("\n", 0, len(page.encode()[: block_end(page.encode())].decode("utf-8", "replace")))
    lines = page.split("\n")
    heads = [0, *(at for at, text in enumerate(lines) if text.startswith("#")), len(lines)]
    sections = [(a, b) for a, b in pairwise(heads) if a < b]
    blocks, fence = list[tuple[int, list[str]]](), ""
    open_block = False
    for at, text in enumerate(lines):
        marker = _FENCE.match(text)
        is_code = bool(fence or marker or text.startswith(("    ", "\t", "#", "<", ":::")) or _DEFINITION.match(text))
        if at < start or is_code or not text.strip():
            open_block = False
        elif open_block and not _MARKER.match(text) and not text.lstrip().startswith("|"):
            blocks[-1][1].append(text.strip())
        else:
            blocks.append((at, [text.strip()]))
            open_block = True
        fence = (marker[1] if marker else "") if not fence else "" if marker and marker[1].startswith(fence) else fence
    return [
        Statement(
            at + 1, " ".join(texts), next((part for part in sections if part[0] <= at < part[1]), (0, len(lines)))
        )
        for at, texts in blocks
    ]


def _plain(text: str) -> str:
    text = _DESTINATION.sub(lambda match: match[1] or "", _MARKER.sub("", text))
    return re.sub(r"[*_`\[\]]", "", text)


def _same_value(value: Sequence[str]) -> str:
    text = "".join(_NUMBERS.get(token.casefold(), token) for token in value).casefold().strip(".,;").lstrip("$v")
    text = re.sub(r"(?<=\d)(?:st|nd|rd|th)$|^0+(?=\d)|(?:\.0+)+$", "", text)
    text = re.sub(r"^https?://(?:www\.)?|/[a-z]{2}-[a-z]{2}(?=/|$)", "", text).rstrip("/")
    return re.sub(r"[,\s-]", "", text)


def changed_value(old: str, new: str) -> tuple[str, str, str] | None:
    """The only value in which two statements differ, before and after, and the words around; None if there is none."""
    before, after = _TOKEN.findall(_plain(old)), _TOKEN.findall(_plain(new))
    shorter = min(len(before), len(after))
    start = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    end = next((at for at in range(shorter - start) if before[-1 - at] != after[-1 - at]), shorter - start)
    was, now = before[start : len(before) - end], after[start : len(after) - end]
    frame = " ".join([*before[:start], "\0", *before[len(before) - end :]])
    if not (0 < len(was) <= 4 and 0 < len(now) <= 4) or _same_value(was) == _same_value(now):
        return None
    if "xxx" in "".join(was + now).casefold() or _ORDINAL.search(" ".join(before[:start])):
        return None
    row = old.startswith("|")
    if row and "|" not in before[1:start]:  # the key of the row
        return None
    named = not row and _FIELD.match(old) and end <= 1 and _is_other_name("".join(was), "".join(now))
    if not named and not all(_is_value(value) for value in (was, now)):
        return None
    around = frame if row else max(re.split(r"(?<=[.!?]) (?=[A-Z])", frame), key=lambda part: "\0" in part)
    if len(_WORD.findall(around)) < (1 if row or _FIELD.match(old) else MIN_WORDS):
        return None
    return " ".join(was), " ".join(now), around


def _is_value(tokens: Sequence[str]) -> bool:
    return all(_VALUE.fullmatch(token) for token in tokens) and any(_STATED.search(token) for token in tokens)


def _is_other_name(was: str, now: str) -> bool:
    """Whether a name became another one, and not only another spelling."""
    pairs = [{text[at : at + 2].casefold() for at in range(len(text) - 1)} for text in (was, now)]
    both = len(pairs[0] & pairs[1])
    return len(was) > 1 and len(now) > 1 and both < 0.5 * len(pairs[0] | pairs[1])


class Repository:
    """A repository of documentation, read through `git`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.head = self._git("symbolic-ref", "HEAD").strip()
        self._cat = subprocess.Popen(
            ["git", "-C", folder, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def _git(self, *arguments: str) -> str:
        ran = subprocess.run(["git", "-C", self.folder, *arguments], capture_output=True, check=True)
        return ran.stdout.decode("utf-8", "replace")

    def page(self, revision: str, path: str) -> str | None:
        """The text of a page; None if it is not there."""
        requests, answers = cast("IO[bytes]", self._cat.stdin), cast("IO[bytes]", self._cat.stdout)
        requests.write(f"{revision}:{path}\n".encode())
        requests.flush()
        head = answers.readline().split()
        if head[-1] == b"missing":
            return None
        text = answers.read(int(head[2]))
        answers.read(1)
        return text.decode("utf-8-sig", "replace").replace("\r\n", "\n")

    def pages(self) -> list[str]:
        """The paths of the pages of today."""
        names = self._git("ls-tree", "-r", "-z", "--name-only", self.head).split("\0")
        return [name for name in names if name.endswith((".md", ".mdx"))]

    def a_year_ago(self) -> str:
        """The commit of a year before the last one."""
        last = self._git("log", "-1", "--format=%cI", self.head).strip()
        return self._git("rev-list", "-1", f"--before={int(last[:4]) - 1}{last[4:]}", self.head).strip()

    def changed_lines(self) -> Iterator[tuple[str, str]]:
        """Commits and pages in which a line changed in something like a value, the newest first."""
        command = ["git", "-C", self.folder, "log", "-p", "-U0", "--no-renames", "--no-merges", "--format=\1%H"]
        log = subprocess.Popen([*command, self.head, "--", "*.md", "*.mdx"], stdout=subprocess.PIPE)
        commit, path, minus, plus = "", "", list[str](), list[str]()
        for raw in cast("IO[bytes]", log.stdout):
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            if line.startswith("-") and not line.startswith("--- "):
                minus.append(line[1:])
            elif line.startswith("+") and not line.startswith("+++ "):
                plus.append(line[1:])
            else:
                if len(minus) == len(plus) and any(map(_one_value_changed, minus, plus)):
                    yield commit, path
                minus, plus = [], []
                commit = line[1:] if line.startswith("\1") else commit
                path = line[6:] if line.startswith("+++ b/") else path
        log.kill()
        log.wait()


def _one_value_changed(old: str, new: str) -> bool:
    before, after = old.split(), new.split()
    return len(old) < 3_000 and len(before) == len(after) and 0 < sum(map(str.__ne__, before, after)) <= 2


def _of_small_commits(changes: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The changes of commits that changed a value on a few pages; many pages are changed by a program."""
    for _, pages in groupby(changes, key=itemgetter(0)):
        paths = sorted(set(pages))
        if len(paths) <= MAX_PAGES:
            yield from paths


def contradicting_pairs(repository: Repository) -> Iterator[Pair]:
    """Pages after a change of a value, with the section that they had before."""
    pages, frames = Counter[str](), set[str]()
    for commit, path in _of_small_commits(repository.changed_lines()):
        if pages[path.rsplit("/", 1)[-1]] > 2 or pages[commit] > 2 or _LISTS_OF_CHANGES.search(path):
            continue
        old, new = repository.page(f"{commit}^", path), repository.page(commit, path)
        if old is None or new is None:
            continue
        before, after = statements_of(old), statements_of(new)
        stated = {statement.text for statement in before}, {statement.text for statement in after}
        gone = [statement for statement in before if statement.text not in stated[1]]
        fresh = [statement for statement in after if statement.text not in stated[0]]
        changed = [(a, b, value) for a in gone[:20] for b in fresh[:20] if (value := changed_value(a.text, b.text))]
        for was, now, value in changed[:1]:
            if value[2] in frames or len(changed) > 3:
                continue
            frames.add(value[2])
            pages.update((path.rsplit("/", 1)[-1], commit))
            section = "\n".join(old.split("\n")[slice(*was.section)])
            heading = "" if section.startswith("#") else "# Copy\n\n"
            label = f"{commit[:9]} {path}: {value[0]} -> {value[1]}: {value[2]}"
            yield Pair(new, heading + section, range(now.line, now.line + now.text.count(" ") + 1), label)


def innocent_pairs(repository: Repository) -> Iterator[Pair]:
    """Pages of today that state nearly the same with another value, and did a year ago."""
    by_words: defaultdict[frozenset[str], list[tuple[str, Statement]]] = defaultdict(list)
    texts, year = dict[str, str](), repository.a_year_ago()
    for path in sorted(repository.pages(), key=lambda path: hashlib.sha256(path.encode()).digest()):
        page = repository.page(repository.head, path)
        texts[path] = page or ""
        for statement in statements_of(texts[path])[:200]:
            words = sorted(set(map(str.casefold, _WORD.findall(_plain(statement.text)))))
            if len(words) >= 3 and _STATED.search(statement.text):
                for at in range(min(12, len(words))):
                    by_words[frozenset(words[:at] + words[at + 1 :])].append((path, statement))
    names, seen = Counter[str](), set[str]()
    for (path, first), (other, second) in chain.from_iterable(
        combinations(places[:6], 2) for places in by_words.values()
    ):
        label = f"{path} | {other}: {first.text[:200]} | {second.text[:200]}"
        same = _DIGITS.sub("", path.rsplit("/", 1)[-1]) == _DIGITS.sub("", other.rsplit("/", 1)[-1])
        if same or names[path] >= 5 or names[other] >= 5 or label in seen or not _differs(first.text, second.text):
            continue
        seen.add(label)
        past = [repository.page(year, path), repository.page(year, other)]
        held = zip((first, second), past, strict=True)
        if all(page is not None and statement.text in _texts(page) for statement, page in held):
            names.update((path, other))
            yield Pair(texts[path], texts[other], range(0), label)


def _texts(page: str) -> set[str]:
    return {statement.text for statement in statements_of(page)}


def _differs(first: str, second: str) -> bool:
    """Whether two statements share most words, and state another value."""
    words, others = (set(map(str.casefold, _WORD.findall(_plain(text)))) for text in (first, second))
    shared = len(words & others)
    values = [{token for token in _TOKEN.findall(_plain(text)) if _STATED.search(token)} for text in (first, second)]
    return shared >= 3 and shared >= SHARED_WORDS * len(words | others) and values[0] != values[1]


def findings(pair: Pair) -> list[int]:
    """The lines of the first page on which the product finds contradictions to the second."""
    start = pair.first.count("\n", 0, len(pair.first.encode()[: block_end(pair.first.encode())].decode()))
    body = "\n".join(pair.first.split("\n")[start:])
    other = "\n".join(pair.second.split("\n")[pair.second[: block_end(pair.second.encode())].count("\n") :])
    names = [path.rsplit("/", 1)[-1] for path in pair.label.split(": ", 1)[0].split(" | ")]
    pages = (read_document(Address(f"{at}.md"), text.encode()) for at, text in enumerate((pair.first, pair.second)))
    if are_of_other_things(*pages):
        return []
    return [claim.line + start for claim, _ in contradicting_claims(claims_of(body), claims_of(other), names)]


def main() -> int:
    """Build the pairs, and print precision and recall of each half."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path, metavar="REPOSITORY")
    parser.add_argument("--show", action="store_true", help="print what was missed and what was false in `even`")
    arguments = parser.parse_args()
    counts = Counter[tuple[str, str]]()
    for folder in arguments.repositories:
        repository = Repository(folder)
        for kind, pairs in (("true", contradicting_pairs(repository)), ("innocent", innocent_pairs(repository))):
            for _, pair in zip(range(PAIRS), pairs, strict=False):
                lines = findings(pair)
                is_found = any(line in pair.lines for line in lines) if kind == "true" else bool(lines)
                counts[pair.half, kind] += 1
                counts[pair.half, f"found {kind}"] += is_found
                if arguments.show and pair.half == "even" and is_found != (kind == "true"):
                    print("missed" if kind == "true" else f"false {lines}", pair.label)
    for half in ("even", "odd"):
        true, false = counts[half, "found true"], counts[half, "found innocent"]
        precision, recall = true / max(1, true + false), true / max(1, counts[half, "true"])
        print(f"{half}: {counts[half, 'true']} contradicting, {counts[half, 'innocent']} innocent pairs;", end=" ")
        print(f"precision {precision:.2f}, recall {recall:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
