"""Translations beside each other: the language of a path, and the paths that are copies of one page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# ISO 639-1
_CODES = _words(
    """
    ab aa af ak sq am ar an hy av ae ay az bm ba eu be bn bi bs br bg my ca ch ce ny zh cv kw co cr hr cs da dv nl dz
    en eo et ee fo fj fi fr ff gl ka de el gn gu ht ha he hz hi ho hu ia ie ig ii ik io is it iu ja jv kl kn kr ks kk km
    ki rw ky kv kg ko ku kj la lb lg li ln lo lt lu lv gv mk mg ms ml mt mi mr mh mn na nv nd ne ng nb nn no nr oc oj cu
    om or os pa pi fa pl ps pt qu rm rn ro ru sa sc sd se sm sg sr gd sn si sk sl so st es su sw ss sv ta te tg th ti bo
    tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa cy wo fy xh yi yo za zu id
    """
)
_CLEAR = _words(
    "ar bg bn cs da de el es et fa fi fr he hi hr hu ja ka kk ko lt lv nb nl pl pt ro ru sk sl sr sv th tr uk vi zh"
)
"""Codes for which a single folder counts as translations, because folders rarely have these names otherwise."""
_CODE = re.compile(r"([A-Za-z]{2})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|\d{3}))?")
MIN_COPY_SHARE = 0.7
"""Minimum score of the copy in the reader's language, relative to that of the best copy, 0 to 1."""
ORIGINAL = ""
"""The language of a page whose path names no language."""


class Translation(NamedTuple):
    """A page that is one of the copies of a text."""

    text: str
    """The path without its language: the same for all copies."""
    language: str
    """The language code in lower case with `-` (`pt-br`), or `ORIGINAL`."""


def is_language_code(name: str) -> bool:
    """Whether a name is a two-letter language code, optionally with a script and a region: `fr`, `zh-Hant-TW`."""
    found = _CODE.fullmatch(name)
    return found is not None and found[1].lower() in _CODES


def language_folders(folders: Iterable[str]) -> list[str]:
    """The folders with translations, or with one of several languages: `docs/fr`, `i18n/pt-BR`, `pages.de`.

    A folder named by a code counts if it is beside another such folder, or if the code is in `_CLEAR`.

    Args:
        folders: Every folder of a collection that contains documents.
    """
    found: set[str] = set()
    for folder in folders:
        parts = folder.split("/")
        found.update("/".join(parts[: at + 1]) for at, part in enumerate(parts) if is_language_code(_code(part)))
    beside = Counter(folder.rpartition("/")[0] for folder in found)
    return sorted(
        folder
        for folder in found
        if beside[folder.rpartition("/")[0]] > 1 or _plain(_code(folder.rpartition("/")[2]))[:2] in _CLEAR
    )


def readings(path: str, folders: Collection[str]) -> list[Translation]:
    """Interpretations of a path as a copy of a text; the first one takes the path for an original.

    Args:
        path: The path of a document; `page.fr.md` is a translation by its name.
        folders: The `language_folders` of the collection.
    """
    parts = path.split("/")
    found = [Translation(path, ORIGINAL)]
    for at, part in enumerate(parts[:-1]):
        if "/".join(parts[: at + 1]) in folders:
            kept = [part.rpartition(".")[0]] if "." in part else []
            found.append(Translation("/".join([*parts[:at], *kept, *parts[at + 1 :]]), _plain(_code(part))))
    stem, _, suffix = parts[-1].rpartition(".")
    name, _, code = stem.rpartition(".")
    if name and is_language_code(code):
        found.append(Translation("/".join([*parts[:-1], f"{name}.{suffix}"]), _plain(code)))
    return [Translation(_docusaurus_original(one.text), one.language) for one in found]


def translations_behind(scores: Mapping[str, float], wanted: str, folders: Collection[str]) -> set[str]:
    """The paths for which another copy of the text stands: that in the reader's language, if it matches about as well.

    A copy that matches much better is in the language of the query, and stands for the others.

    Args:
        scores: Scores by path.
        wanted: The reader's language, such as `de` or `pt-br`.
        folders: The `language_folders` of the collection.
    """
    texts: dict[str, list[tuple[str, str]]] = {}
    for path in scores:
        for text, language in readings(path, folders):
            texts.setdefault(text, []).append((language, path))
    shown: set[str] = set()
    behind: set[str] = set()
    for copies in texts.values():
        copies = [copy for copy in copies if copy[1] not in behind | shown]  # noqa: PLW2901
        if len({language for language, _ in copies}) > 1:
            least = MIN_COPY_SHARE * max(scores[path] for _, path in copies)
            near = [copy for copy in copies if scores[copy[1]] >= least]
            best = min(near, key=lambda copy: _rank(copy[0], wanted))[1]
            shown.add(best)
            behind |= {path for _, path in copies} - {best}
    return behind


def language_of(environment: Mapping[str, str]) -> str:
    """The language of a user's environment by POSIX (`LC_ALL`, `LC_MESSAGES`, `LANG`); `en` if none is set."""
    given = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := environment.get(name))), "")
    code = given.partition(".")[0].partition("@")[0]
    return _plain(code) if is_language_code(code) else "en"


def _rank(language: str, wanted: str) -> tuple[int, str]:
    """Sort key by preference: the language itself, the same with another region, the original, English, others."""
    same = language.partition("-")[0] == wanted.partition("-")[0]
    order = (language == wanted, same, language == ORIGINAL, language.partition("-")[0] == "en", True)
    return order.index(True), language


def _code(name: str) -> str:
    """The part of a folder's name that can be a language code, such as `de` in `pages.de`."""
    return name.rpartition(".")[2]


def _plain(code: str) -> str:
    return code.lower().replace("_", "-")


def _docusaurus_original(text: str) -> str:
    """Convert `i18n/docusaurus-plugin-content-docs/current/x` to the translated `docs/x`."""
    return re.sub(r"(?:^|(?<=/))i18n/docusaurus-plugin-content-(docs|blog|pages)(?:/current)?/", r"\1/", text)
