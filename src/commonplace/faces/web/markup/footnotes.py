"""Footnotes: numbered in the order of their first reference, listed at the end."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Footnotes:
    """The footnotes of one page, or of one document that it embeds."""

    scope: str = ""
    """Beginning of the ids of an embedded document's footnotes, which differ from those of the page."""
    _numbers: dict[str, int] = field(default_factory=dict[str, int])
    _references: dict[str, int] = field(default_factory=dict[str, int])
    _texts: dict[str, str] = field(default_factory=dict[str, str])

    def reference(self, name: str) -> str:
        """A superscript number that links to the footnote."""
        number = self._numbers.setdefault(name, len(self._numbers) + 1)
        count = self._references[name] = self._references.get(name, 0) + 1
        identifier = f"footnote-ref-{self.scope}{number}" + (f"-{count}" if count > 1 else "")
        link = f'<a href="#footnote-{self.scope}{number}" id="{identifier}" aria-label="Footnote {number}">{number}</a>'
        return f'<sup class="footnote-ref">{link}</sup>'

    def define(self, name: str, html: str) -> None:
        """Set the text of a footnote. Later definitions of the same name are ignored."""
        self._texts.setdefault(name, html)

    def html(self) -> str:
        """The list of footnotes; "" if there are none. Footnotes without references come last."""
        for name in self._texts:
            self._numbers.setdefault(name, len(self._numbers) + 1)
        if not self._texts:
            return ""
        items = [self._item(name, number) for name, number in self._numbers.items()]
        return f'<section class="footnotes"><hr>\n<ol>\n{"".join(items)}</ol></section>\n'

    def _item(self, name: str, number: int) -> str:
        to = f"#footnote-ref-{self.scope}{number}"
        back = f' <a class="footnote-back" href="{to}" aria-label="Back to the text">\u21a9</a>'
        text = self._texts.get(name, "").rstrip()
        text = f"{text[:-4]}{back}</p>" if text.endswith("</p>") else f"{text}{back}"
        return f'<li id="footnote-{self.scope}{number}">{text}</li>\n'
