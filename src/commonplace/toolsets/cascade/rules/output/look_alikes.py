"""Different texts that look the same: composed characters, invisible characters, letters of other scripts."""

from __future__ import annotations

import unicodedata

_LATIN = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u0410\u0412\u0415\u041a\u041c\u041d\u041e"
    "\u0420\u0421\u0422\u0425\u0406\u0408\u0405\u03bf\u03bd\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f"
    "\u03a1\u03a4\u03a5\u03a7\u2010\u2011\u2012\u2013\u2212\u2018\u2019\u201c\u201d",
    "aeopcyxijsdqABEKMHOPCTXIJSovABEZHIKMNOPTYX-----''\"\"",
)
"""Cyrillic and Greek letters, dashes and quotes that fonts draw like ASCII; from the confusables of Unicode (UTS 39).
"""
_INVISIBLE = frozenset({"Cf", "Mn", "Cc"})


def looks_like(one: str, other: str) -> bool:
    """Whether two different texts look the same."""
    return one != other and _appearance(one) == _appearance(other)


def escaped(text: str) -> str:
    """The text with every character outside printable ASCII escaped, except line ends."""
    return "".join(c if c == "\n" or (c.isascii() and c.isprintable()) else ascii(c)[1:-1] for c in text)


def _appearance(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).translate(_LATIN)
    return " ".join("".join(c for c in folded if unicodedata.category(c) not in _INVISIBLE or c.isspace()).split())
