"""Conformance of a file to OKF v0.2: three rules; everything else is up to the author.

A concept has readable frontmatter with a non-empty `type`. An `index.md` has no frontmatter, except for an
`okf_version` at the root. The dated headings of a `log.md` begin with an ISO date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Finding
from commonplace.domain.findings import finding_of
from commonplace.domain.frontmatter import read_frontmatter
from commonplace.domain.words.text_decoder import decoded
from commonplace.toolsets.cascade.rules.concepts import id_at, read_concept, section_spans
from commonplace.toolsets.cascade.rules.values import Concept, scalar_as_text

VERSION_KEY = "okf_version"

_BREAKS = frozenset({"bad_yaml", "not_utf8", "unterminated_frontmatter"})
_DATED = re.compile(r"##[ \t]+(.*)")


def nonconformities(address: Address, raw: bytes) -> list[Finding]:
    """The violations of OKF in one file of a bundle; [] for a file outside the scope of OKF."""
    if address.name == "index.md":
        return list(_index(address, raw))
    if address.name == "log.md":
        return list(_log(raw))
    identifier = id_at(address)
    return list(_concept(read_concept(identifier, raw), raw)) if identifier else []


def _concept(concept: Concept, raw: bytes) -> Iterator[Finding]:
    broken = [finding for finding in concept.findings if finding.rule in _BREAKS]
    yield from (_error(finding.rule, finding.message, finding.line) for finding in broken)
    if broken:
        return
    if not read_frontmatter(raw.removeprefix(b"\xef\xbb\xbf")).present:
        yield _error("okf_frontmatter", "A concept begins with frontmatter between two lines '---'.", 1)
    elif not isinstance(concept.frontmatter.get("type"), str) or not scalar_as_text(concept.frontmatter["type"]):
        yield _error("okf_type", "A concept's frontmatter has a 'type' that is a text and not empty.", 1)


def _index(address: Address, raw: bytes) -> Iterator[Finding]:
    frontmatter = read_frontmatter(raw.removeprefix(b"\xef\xbb\xbf"))
    extra = [key for key in frontmatter.values if address.folder or key != VERSION_KEY]
    if extra or any(finding.rule == "bad_yaml" for finding in frontmatter.findings):
        yield _error("okf_index", f"An index.md has no frontmatter; only the root's may state {VERSION_KEY}.", 1)


def _log(raw: bytes) -> Iterator[Finding]:
    source = decoded(raw.removeprefix(b"\xef\xbb\xbf")).encode()
    for _, start, end in section_spans(source, read_frontmatter(source).span.end):
        heading = source[start:end].decode().partition("\n")[0].strip(" \r")
        match = _DATED.fullmatch(heading)
        if match and not _begins_with_day(match[1].lstrip("[*_ ")):
            line = source.count(b"\n", 0, start) + 1
            yield _error("okf_log", "The headings '## …' of a log.md begin with a date YYYY-MM-DD.", line)


def _begins_with_day(text: str) -> bool:
    try:
        date.fromisoformat(text[:10])
    except ValueError:
        return False
    return not text[10:11].isalnum()


def _error(rule: str, message: str, line: int) -> Finding:
    return finding_of(rule, message, line=line)
