"""Which page a wikilink means in Logseq, Dendron, Foam and TiddlyWiki, by rules independent of the product.

Logseq: `extract.cljc` and `block.cljs` of https://github.com/logseq/logseq (fab27740), `page-name-sanity-lc` of its
`util.cljs`. Dendron: https://wiki.dendron.so/notes/3472226a-ff3c-432d-bf5d-10926f39f6c2 (links name a note's file).
Foam: `listByIdentifier` in `workspace.ts` of https://github.com/foambubble/foam (0201d386), and its docs on wikilinks.
TiddlyWiki: `prettylink.js` and `boot.js` of https://github.com/TiddlyWiki/TiddlyWiki5 (0606f71d): titles as written.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import PurePosixPath
from unicodedata import normalize
from urllib.parse import unquote

Pages = Mapping[str, str]
"""The texts of all pages by their paths."""
_DAY_FORMS = ("%b %d, %Y", "%Y-%m-%d", "%Y_%m_%d")


def logseq(pages: Pages) -> Callable[[str, str], set[str]]:
    """The pages that a name means in a page."""
    by_name: dict[str, set[str]] = defaultdict(set)
    for path, text in pages.items():
        properties: dict[str, str] = {}
        for line in text.split("\n"):
            match = re.fullmatch(r"([A-Za-z][\w-]*)::\s*(.*?)\r?", line)
            if match is None:
                break
            properties[match[1].lower()] = match[2]
        names = [properties.get("title", unquote(PurePosixPath(path).stem.replace("___", "/")))]
        names += [
            alias.strip().removeprefix("[[").removesuffix("]]") for alias in properties.get("alias", "").split(",")
        ]
        for name in filter(None, names):
            by_name[_logseq_key(name)].add(path)
        for block in re.findall(r"(?m)^\s*(?:- )?id:: ([0-9a-f-]{36})\r?$", text):
            by_name[f"(({block}))"].add(path)

    def meant(name: str, source: str) -> set[str]:
        del source
        return by_name.get(_logseq_key(name), set())

    return meant


def _logseq_key(name: str) -> str:
    plain = re.sub(r"(?i)^([a-z]{3} \d{1,2})(?:st|nd|rd|th),", r"\1,", name.strip())
    for form in _DAY_FORMS:
        try:
            return datetime.strptime(plain, form).replace(tzinfo=UTC).date().isoformat()
        except ValueError:
            continue
    return normalize("NFC", name.strip().strip("/").lower())


def dendron(pages: Pages) -> Callable[[str, str], set[str]]:
    """The pages that a name means in a page; those of its own vault, if there are any."""

    def meant(name: str, source: str) -> set[str]:
        fitting = {path for path in pages if PurePosixPath(path).stem.lower() == name.lower()}
        vault = PurePosixPath(source).parent
        return {path for path in fitting if PurePosixPath(path).parent == vault} or fitting

    return meant


def foam(pages: Pages) -> Callable[[str, str], set[str]]:
    """The pages whose path ends with a name, else the index of a folder with it; the shortest, then of equal case."""

    def meant(name: str, source: str) -> set[str]:
        if not name:
            return {source}
        parts = name.lower().split("/")
        fitting = {path for path in pages if path[:-3].lower().split("/")[-len(parts) :] == parts}
        folders = {path for path in pages if PurePosixPath(path).name in {"index.md", "README.md"}}
        fitting = fitting or {path for path in folders if path.lower().split("/")[:-1][-len(parts) :] == parts}
        if len(fitting) > 1:
            fitting = {path for path in fitting if len(path) == min(map(len, fitting))}
            fitting = {path for path in fitting if path[:-3].split("/")[-len(parts) :] == name.split("/")} or fitting
        return fitting

    return meant


def tiddlywiki(pages: Pages) -> Callable[[str, str], set[str]]:
    """The tiddlers with exactly this title in their fields."""
    titles: dict[str, set[str]] = defaultdict(set)
    for path, text in pages.items():
        for line in text.replace("\r\n", "\n").partition("\n\n")[0].split("\n") if path.endswith(".tid") else ():
            if line.startswith("title:"):
                titles[line.partition(":")[2].strip()].add(path)

    def meant(name: str, source: str) -> set[str]:
        del source
        return titles.get(name, set())

    return meant
