"""Writes the table of make targets in docs/release.md from the Makefile; `--check` compares it."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from sources import ROOT

PAGE = ROOT / "docs" / "release.md"
MAKEFILE = ROOT / "Makefile"
TARGETS = ("check", "test", "bench", "licences", "lock", "dist", "check-wheel", "mcpb", "server-json", "model-wheel")
"""The targets of a release, in the order of its steps."""
BEGIN, END = "<!-- made by python tools/list_release.py -->\n", "<!-- end -->\n"
_RULE = re.compile(r"^([a-z-]+):[^#\n]*## (.*)$", re.MULTILINE)


def main() -> int:
    """Write or check the table; return 1 if the check finds a difference to the Makefile."""
    parser = argparse.ArgumentParser(description="Make the table of make targets in docs/release.md.")
    parser.add_argument("--check", action="store_true", help="compare only")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--makefile", type=Path, default=MAKEFILE)
    namespace = parser.parse_args()
    before = namespace.page.read_text(encoding="utf-8")
    after = with_table(before, namespace.makefile.read_text(encoding="utf-8"))
    if namespace.check and before != after:
        print(f"{namespace.page.name} is not as the Makefile is: run python tools/list_release.py", file=sys.stderr)
        return 1
    if before != after:
        namespace.page.write_text(after, encoding="utf-8")
    return 0


def with_table(page: str, makefile: str) -> str:
    """The page with the current table of the Makefile's targets between its two marks."""
    said = dict(_RULE.findall(makefile))
    missing = [name for name in TARGETS if name not in said]
    if missing or BEGIN not in page or END not in page:
        sys.exit(f"release: no such target or mark: {', '.join(missing) or 'the marks of the table'}")
    texts = {name: said[name].rstrip(":").replace("|", "\\|") for name in TARGETS}
    rows = "".join(f"| `make {name}` | {text} |\n" for name, text in texts.items())
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}| command | what it does |\n|---|---|\n{rows}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    sys.exit(main())
