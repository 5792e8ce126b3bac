"""Removes syntax that is not Markdown before parsing: JSX in MDX, reference shortcodes of Hugo.

The result has the same length in bytes as the source, so that offsets are equal.
"""

from __future__ import annotations

import re

from commonplace.domain.addresses import Address
from commonplace.domain.markdown.mdx import without_jsx

_REFERENCE = re.compile(rb"\{\{[<%][ \t]*(?:rel)?ref[ \t]+(?:path=)?([\"'`])([^\"'`\s]+)\1[^{}\n]*?[%>]\}\}")


def readable_source(address: Address, source: bytes) -> bytes:
    """The source with blanks in place of other syntax; the source itself if all of it is Markdown."""
    if address.path.lower().endswith(".mdx"):
        return without_jsx(source)
    if b"ref" in source and b"{{" in source:
        return _REFERENCE.sub(_only_target, source)
    return source


def _only_target(found: re.Match[bytes]) -> bytes:
    """Replace `{{< ref "page.md" >}}` by `page.md` between blanks."""
    before, after = found.start(2) - found.start(), found.end() - found.end(2)
    return b" " * before + found[2] + b" " * after
