"""Pages that are small and costly: one kind of markup each, of about `n` bytes."""

from __future__ import annotations

from collections.abc import Callable


def table(n: int, columns: int, row: str = "|x\n") -> str:
    """A table of about `n` bytes whose rows are all `row`."""
    head = f"|{'|' * columns}\n|{'-|' * columns}\n"
    return head + row * max(1, (n - len(head)) // len(row))


def lines(n: int, make: Callable[[int], str]) -> str:
    """Numbered texts, together at least `n` characters."""
    parts: list[str] = []
    size = 0
    while size < n:
        parts.append(make(len(parts)))
        size += len(parts[-1])
    return "".join(parts)


KINDS: dict[str, Callable[[int], str]] = {
 "tables without cells": lambda n: lines(n, lambda i: f"para {i}\n\n"+table(9000,1500)+"\n"),
 "one table without cells": lambda n: table(n,1500),
 "small table": lambda n: table(n,3,"|a|b|c|\n"),
 "narrow tables": lambda n: "|a\n|-\n|x\n\n"*(n//11),
 "nested quotes": lambda n: ("> "*1000+"a\n")*(n//2001),
 "deep quotes": lambda n: ">"*(n)+"a",
 "quotes": lambda n: "> a\n\nb\n\n"*(n//9),
 "callouts": lambda n: "> [!note] t\n> a\n\n"*(n//18),
 "nested callouts": lambda n: lines(n, lambda _: "".join("> "*k+"[!note] t\n" for k in range(1,60))+"\n"),
 "lists": lambda n: "- a\n"*(n//4),
 "lists in lists": lambda n: "- "*(n//2)+"a",
 "indented lists": lambda n: lines(n, lambda _: "".join("  "*k+"- a\n" for k in range(90))+"\n"),
 "tasks": lambda n: "- [ ] a\n"*(n//8),
 "links": lambda n: lines(n, lambda i: f"[a{i}](b{i}.md) "),
 "same links": lambda n: "[[a]] "*(n//6),
 "wikilinks": lambda n: lines(n, lambda i: f"[[p{i}]] "),
 "nested links": lambda n: "[a"*(n//6)+"](b)"*(n//6),
 "urls": lambda n: lines(n, lambda i: f"https://a.b/{i} "),
 "url parentheses": lambda n: "https://a.b/"+"("*(n//2)+")"*(n//2),
 "emphasis": lambda n: "*a* "*(n//4),
 "nested emphasis": lambda n: "*a **b "*(n//7),
 "open emphasis": lambda n: "*_"*(n//2),
 "footnotes": lambda n: lines(n, lambda i: f"a[^{i}]\n\n[^{i}]: t\n\n"),
 "same footnote": lambda n: "[^1] "*(n//5)+"\n\n[^1]: t\n",
 "nested footnotes": lambda n: lines(n, lambda i: f"[^{i}]: a[^{i+1}] b[^{i}]\n\n"),
 "math": lambda n: "$a$ "*(n//4),
 "display math": lambda n: "$$\na\n$$\n\n"*(n//9),
 "open math": lambda n: "$a "*(n//3),
 "code": lambda n: "```python\nx = 1\n```\n\n"*(n//22),
 "code kinds": lambda n: lines(n, lambda i: f"```python\nx = {i}\n```\n\n"),
 "large code": lambda n: lines(n, lambda _: "```python\n"+"x = [1, 'a']\n"*4500+"```\n\n"),
 "inline code": lambda n: "`a` "*(n//4),
 "html": lambda n: "<b>a</b> "*(n//9),
 "open html": lambda n: "<div>\n\n"*(n//7),
 "deep html": lambda n: "<b>"*(n//3),
 "misnested html": lambda n: "<a><b></a>"*(n//10),
 "p in b": lambda n: "<b><p>\n"*(n//7),
 "html tables": lambda n: "<table><tr><td>"*(n//15),
 "html foster": lambda n: "<table>"+"<b>a"*(n//4),
 "html attributes": lambda n: "<a "+" ".join(f"a{i}=b" for i in range(n//9))+">x</a>",
 "entities": lambda n: "&amp; "*(n//6),
 "escapes": lambda n: '"<&'*(n//3),
 "headings": lambda n: lines(n, lambda i: f"# a{i}\n"),
 "same headings": lambda n: "# a\n"*(n//4),
 "rules": lambda n: "---\n\n"*(n//5),
 "paragraphs": lambda n: "a\n\n"*(n//3),
 "hard breaks": lambda n: "a\\\n"*(n//3),
 "words": lambda n: "word "*(n//5),
 "one line": lambda n: "a"*n,
 "marks": lambda n: "==a== "*(n//6),
 "comments": lambda n: "%%\na\n%%\n\n"*(n//9),
 "tags": lambda n: lines(n, lambda i: f"#t{i} "),
 "images": lambda n: lines(n, lambda i: f"![a](b{i}.png) "),
 "admonitions": lambda n: "!!! note\n    a\n\n"*(n//16),
 "fenced admonitions": lambda n: ":::note\na\n:::\n\n"*(n//15),
 "nested admonitions": lambda n: lines(n, lambda _: "".join("    "*k+"!!! note\n" for k in range(60))+"\n"),
 "definitions": lambda n: lines(n, lambda i: f"[a{i}]: /u{i}\n"),
 "used definitions": lambda n: lines(n, lambda i: f"[a{i}]: /u\n\n[a{i}]\n\n"),
 "missing embeds": lambda n: lines(n, lambda i: f"![[e{i}]]\n\n"),
 "super": lambda n: "^a^ ~b~ "*(n//8),
 "blank lines": lambda n: "\n"*n,
 "nul": lambda n: "\0"*n,
}  # fmt: skip
"""Pages by kind."""
