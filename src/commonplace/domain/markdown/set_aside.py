"""Removes syntax that is not Markdown before parsing: JSX in MDX, reference shortcodes of Hugo.

The result has the same length in bytes as the source, so that offsets are equal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from commonplace.domain.addresses import Address
from commonplace.domain.markdown.mdx import without_jsx

_REFERENCE = re.compile(rb"\{\{[<%][ \t]*(?:rel)?ref[ \t]+(?:path=)?([\"'`])([^\"'`\s]+)\1[^{}\n]*?[%>]\}\}")


class ReadableSource(NamedTuple):
    """A source with blanks in place of syntax that is not Markdown."""

    text: bytes
    """The source itself if all of it is Markdown."""
    tags: Sequence[tuple[int, int]] = ()
    """The ranges of the HTML tags among the blanked parts."""


def readable_source(address: Address, source: bytes) -> ReadableSource:
    """The source with blanks in place of other syntax."""
    if address.path.lower().endswith(".mdx"):
        return ReadableSource(*without_jsx(source))
    if b"ref" in source and b"{{" in source:
        return ReadableSource(_REFERENCE.sub(_only_target, source))
    return ReadableSource(source)


def _only_target(found: re.Match[bytes]) -> bytes:
    """Replace `{{< ref "page.md" >}}` by `page.md` between blanks."""
    before, after = found.start(2) - found.start(), found.end() - found.end(2)
    return b" " * before + found[2] + b" " * after
