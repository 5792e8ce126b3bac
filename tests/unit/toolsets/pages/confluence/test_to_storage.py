"""A body as Markdown and back: what is not edited stays as its bytes are, and nothing is lost unsaid."""

from __future__ import annotations

import random
import re

import pytest

from commonplace.domain.errors import KnowledgeError
from commonplace.toolsets.pages.confluence.elements import check_well_formed, plain_text
from commonplace.toolsets.pages.confluence.from_markdown import EditError, read_markdown
from commonplace.toolsets.pages.confluence.push import normal_form
from commonplace.toolsets.pages.confluence.to_storage import LossError, merge_edit, view_of
from confluence.bodies import BLOCKS, Links, real_bodies
from support import Amount

LINKS = Links()
_WORD = re.compile(r"(?<![\w\\/&#.:<=\"-])[A-Za-z]{4,}(?![\w(\]/:;.=>\"-])")


def edited(body: str, old: str, new: str) -> str:
    """The body after replacing the first occurrence of a text in its Markdown."""
    view = view_of(body.encode(), LINKS)
    assert old in view.markdown, view.markdown
    return merge_edit(view, view.markdown.replace(old, new, 1), LINKS).decode()


def is_text(before: str) -> bool:
    """Whether a word after this much Markdown is neither code nor part of a link's target."""
    return "```" not in before and before.rfind("](") <= before.rfind(")")


def without_digests(text: str) -> str:
    """Markdown without the digests of its placeholders, which change with a label."""
    return re.sub(r"(confluence:[^)]*/)[0-9a-f]{8}", r"\1", text)


@pytest.mark.parametrize("kind", BLOCKS)
def test_one_edited_word_changes_no_other_byte(kind: str) -> None:
    body = BLOCKS[kind]
    view = view_of(body.encode(), LINKS)
    assert merge_edit(view, view.markdown, LINKS) == body.encode()
    for word in ("alpha", "beta", "gamma", "delta"):
        if word in body:
            assert edited(body, word, "omega") == body.replace(word, "omega", 1)
    for block in view.blocks:
        tokens = read_markdown(block.markdown, view.leaves)
        assert [token.whole for token in tokens] == [token.whole for token in block.tokens]


def test_values_change_where_they_stand() -> None:
    for kind, old, new, before, after in (
        ("heading", "## C", "### C", ("<h2 ", "</h2>"), ("<h3 ", "</h3>")),
        ("tasks", "[ ]", "[x]", ("incomplete",), ("complete",)),
        ("panel", "Watch out", "Look", ("Watch out",), ("Look",)),
        ("expand", "Open me", "Shut", ("Open me",), ("Shut",)),
        ("status", "READY", "DONE", ("READY",), ("DONE",)),
        ("status", "2026-05-31", "2026-06-01", ("2026-05-31",), ("2026-06-01",)),
        ("image", "A chart", "Two charts", ("A chart",), ("Two charts",)),
        ("numbers", "3. alpha\n4.", "5. alpha\n6.", ('start="3"',), ('start="5"',)),
        ("code", "```py", "```go", (">py<",), (">go<",)),
        (
            "links",
            "[Deploy & run](",
            "[Run](",
            ("</ac:link> <ac",),
            ("<ac:link-body>Run</ac:link-body></ac:link> <ac",),
        ),
    ):
        expected = BLOCKS[kind]
        for one, other in zip(before, after, strict=True):
            expected = expected.replace(one, other, 1)
        assert edited(BLOCKS[kind], old, new) == expected, kind


def test_rows_items_and_blocks_come_and_go() -> None:
    table = BLOCKS["table"]
    row = "<tr><td><p>one</p></td><td><p>two</p></td></tr>"
    assert edited(table, "| delta |", "| delta |\n| one | two |") == table.replace("</tbody>", f"{row}</tbody>")
    assert "<tbody></tbody>" in edited(table, "\n| gamma \\|<br>x | delta |", "")
    numbers = BLOCKS["numbers"]
    assert edited(numbers, "3. alpha", "3. alpha\n3. new") == numbers.replace(
        "alpha</p></li>", "alpha</p></li><li><p>new</p></li>"
    )
    assert edited(BLOCKS["rule"], "alpha", "alpha\n\n> [!TIP] Hint\n> Do it.") == (
        '<p>alpha</p><ac:structured-macro ac:name="tip"><ac:parameter ac:name="title">Hint</ac:parameter>'
        "<ac:rich-text-body><p>Do it.</p></ac:rich-text-body></ac:structured-macro><hr/><p>beta</p>"
    )
    assert edited("<p>alpha</p><p></p>", "alpha", "alpha\n\nend") == "<p>alpha</p><p></p><p>end</p>"
    with pytest.raises(EditError, match="Line 1: "):
        edited("<p>a <![CDATA[alpha]]></p>", "alpha", "**alpha** < b")
    whole = "".join(BLOCKS[kind] for kind in ("paragraph", "table", "macro"))
    view = view_of(whole.encode(), LINKS)
    first, second, *rest = (block.markdown for block in view.blocks)
    moved = merge_edit(view, "\n\n".join([second, first, *rest]), LINKS).decode()
    assert moved == BLOCKS["table"] + BLOCKS["paragraph"] + BLOCKS["macro"]


def test_a_placeholder_moves_but_goes_only_where_that_is_said() -> None:
    body = BLOCKS["macro"]
    view = view_of(body.encode(), LINKS)
    text, macro = (block.markdown for block in view.blocks)
    moved = merge_edit(view, f"{macro}\n\n{text}\n\nend", LINKS).decode()
    assert moved == body[len("<p>alpha</p>") :] + "<p>alpha</p><p>end</p>"
    with pytest.raises(LossError, match="jira-chart"):
        merge_edit(view, text, LINKS)
    assert merge_edit(view, text, LINKS, allow_loss=True) == b"<p>alpha</p>"
    with pytest.raises(EditError, match=r"Line 3: .*cannot be edited"):
        merge_edit(view, f"{text}\n\n{macro.replace('jql', 'sql')}", LINKS)
    with pytest.raises(LossError, match="comment r-1"):
        edited(BLOCKS["comment"], '<span data-comment="r-1">alpha beta</span>', "alpha beta")
    for text, reason in (
        ("<script>x</script>", "Line 1: a page cannot keep this HTML"),
        ("a\n\n</details>", "Line 3"),
        ("a\n\n<details>\n\nb", "never closed"),
        ("[x](other.txt)", "is not a page"),
        ("![x](other.png)", "is no attachment"),
        ("[x](confluence:toc/123)", "no placeholder"),
        ("- [ ] a\n- b", "without a box"),
    ):
        with pytest.raises(EditError, match=reason):
            merge_edit(view_of(b"", LINKS), text, LINKS)


def test_a_body_that_is_not_well_formed_is_shown_and_never_written() -> None:
    for body in (
        b"<p>alpha",
        b"<p>&nosuch;</p>",
        b"<p></b></p>",
        b"<p>\x01</p>",
        b"\xff",
        b"</x><x>",
        b"<!DOCTYPE a><p/>",
    ):
        view = view_of(body, LINKS)
        assert "not well-formed" in view.markdown
        assert merge_edit(view, view.markdown, LINKS) == body
        with pytest.raises(EditError, match="not well-formed"):
            merge_edit(view, view.markdown + "more", LINKS)
    deep = b"<ul><li>" * 3000 + b"x" + b"</li></ul>" * 3000
    assert "confluence:" in view_of(deep, LINKS).markdown


def test_real_bodies_go_back_as_they_came(amount: Amount) -> None:
    bodies = real_bodies() or dict(BLOCKS)
    rng = random.Random(46)
    edits = amount(1, 12)
    for name, body in bodies.items():
        raw = body.encode()
        view = view_of(raw, LINKS)
        assert merge_edit(view, view.markdown, LINKS) is raw, name
        if view.flaw:
            continue
        added = merge_edit(view, view.markdown + "\n\nLast words.\n", LINKS)
        assert added.replace(b"<p>Last words.</p>", b"").strip() == raw.strip(), name
        words = [word for word in _WORD.finditer(view.markdown) if is_text(view.markdown[: word.start()])]
        for word in rng.sample(words, min(edits, len(words))):
            text = f"{view.markdown[: word.start()]}Zebra{view.markdown[word.end() :]}"
            try:
                merged = merge_edit(view_of(raw, LINKS), text, LINKS)
            except KnowledgeError:
                continue  # part of a placeholder or a tag
            shown = view_of(merged, LINKS).markdown
            assert without_digests(shown) == without_digests(text), (name, word[0])
            before, after = normal_form(raw), normal_form(merged)
            assert abs(len(before) - len(after)) <= 60, (name, word[0])


def test_random_edits_are_stored_as_they_were_written_or_refused_with_their_line(amount: Amount) -> None:
    bodies = [body for body in (real_bodies() or BLOCKS).values() if len(body) < 20_000]
    rng = random.Random(47)
    stored, refused = 0, list[str]()
    pieces = [
        "*",
        "**",
        "`",
        "[",
        "](",
        "<b>",
        "</b>",
        "\n\n",
        "\n- ",
        "> ",
        "| ",
        "#",
        "&amp;",
        "x y",
        "---\n",
        "1. ",
        "```\n",
    ]
    rounds = amount(150, 10_000)
    for _ in range(rounds):
        raw = rng.choice(bodies).encode()
        view = view_of(raw, LINKS)
        if view.flaw:
            continue
        text = view.markdown
        for _ in range(rng.randint(1, 3)):
            at, size = rng.randint(0, len(text)), rng.choice((0, 0, 1, 5, 40))
            text = text[:at] + rng.choice([*pieces, ""]) + text[at + size :]
        try:
            merged = merge_edit(view, text, LINKS, allow_loss=True)
        except EditError as error:
            refused.append(str(error))
            continue
        check_well_formed(merged)
        stored += 1
        shown = view_of(merged, LINKS)
        expected = [token.whole for token in read_markdown(text, view.leaves) if token.kind in {"word", "leaf"}]
        found = [token.whole for block in shown.blocks for token in block.tokens if token.kind in {"word", "leaf"}]
        plain = [key for kind, _, key, _ in expected if kind == "word"]
        assert [key for kind, _, key, _ in found if kind == "word"] == plain, (text, merged)
    assert stored > rounds // 4
    assert all(re.match(r"Line \d+: ", reason) for reason in refused)
    assert plain_text(b"<p>a<![CDATA[<b>]]>&amp;</p>") == "a<b>&"
