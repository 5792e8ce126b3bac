"""What the info string of a code block asks for: a title, marked lines and line numbers."""

from __future__ import annotations

import re

from cases import each_case
from commonplace.faces.web.markup.code import MAX_MARKED, code_html

CODE = "a = '''x\ny'''\nb = 1\n"


@each_case(
    ("info", "title", "marked", "numbers"),
    [
        ("python", "", [], []),
        ('python title="a b.py"', "a b.py", [], []),
        ("python [a.py]", "a.py", [], []),
        ("python {1,3}", "", [1, 3], []),
        ("python{2-3}", "", [2, 3], []),
        ('py hl_lines="1 3"', "", [1, 3], []),
        ('go {linenos=inline hl_lines=[1,"2-3"] linenostart=10}', "", [1, 2, 3], [10, 11, 12]),
        ('py title="x" linenums="5"', "x", [], [5, 6, 7]),
        ("js showLineNumbers", "", [], [1, 2, 3]),
        ("js showLineNumbers=false", "", [], []),
        ("ts:line-numbers {1}", "", [1], [1, 2, 3]),
        ("{.python filename='a.py'}", "a.py", [], []),
        (f"python {{1-{MAX_MARKED * 9}}}", "", [1, 2, 3], []),
    ],
)
def test_titles_marks_and_numbers_of_every_generator(
    info: str, title: str, marked: list[int], numbers: list[int]
) -> None:
    html = code_html(CODE, info)
    lines = html.partition("<code>")[2].partition("</code>")[0].split("\n")
    assert re.findall(r'<p class="code-title">(.*?)</p>', html) == ([title] if title else [])
    assert [at for at, line in enumerate(lines, 1) if 'class="line marked"' in line] == marked
    assert [int(number) for number in re.findall(r'data-line="(\d+)"', html)] == numbers
    if marked or numbers:  # each line is whole: a token that spans lines is closed and opened again
        assert all(line.count("<span") == line.count("</span>") for line in lines)
    assert re.sub(r"<[^>]*>", "", "\n".join(lines)).replace("&#x27;", "'") == CODE.rstrip("\n")


def test_a_title_is_escaped_and_a_list_of_options_is_a_language() -> None:
    assert '<p class="code-title">&lt;b&gt;</p>' in code_html("x", 'js title="<b>"')
    assert "<span" in code_html("let x = 1;", "rust,editable")
