"""Text as it is read, and what markup hides."""

from __future__ import annotations

import pytest

from commonplace.domain.words.text_decoder import readable_text


@pytest.mark.parametrize(
    ("written", "read", "hidden"),
    [
        ("a [[b|c]] d", "a c d", "b"),
        ("a [[b#c]] d", "a b > c d", ""),
        ("a [[b#^x1]] d", "a b d", "b#^x1"),
        ("a ![[b.png|100]] d", "a  d", "![[b.png|100]]"),
        ('a [b](c.md "t") d', "a [b] d", '](c.md "t")'),
        ("a [b][c] d", "a [b] d", "][c]"),
        ("a[^1] d", "a d", "[^1]"),
        ("[^1]: a", "[^1]: a", ""),
        ("x <u class=k>y</u> z", "x y z", "<u class=k>\n</u>"),
        ("x<br>y", "x y", "<br>"),
        ("x<!-- c -->y", "xy", "<!-- c -->"),
        ("x&nbsp;y", "x\u00a0y", ""),
        ("x %%c%% y", "x  y", "%%c%%"),
        ("`[a](b)` [c](d)", "`[a](b)` [c]", "](d)"),
        ("``a ` [a](b)`` [c](d)", "``a ` [a](b)`` [c]", "](d)"),
        ("```\n[a](b)\n```\n[c](d)", "```\n[a](b)\n```\n[c]", "](d)"),
        ("~~~ x\n[a](b)", "~~~ x\n[a](b)", ""),
        ("an ` [c](d)\n\nan ` e", "an ` [c]\n\nan ` e", "](d)"),
        ("选择**实时**预览", "选择实时预览", ""),
        ("选择 **实时** 预览", "选择 **实时** 预览", ""),
        ("vector<int> x", "vector<int> x", ""),
    ],
)
def test_markup_is_removed_and_its_words_are_not_lost(written: str, read: str, hidden: str) -> None:
    assert readable_text(written) == (read, hidden)
