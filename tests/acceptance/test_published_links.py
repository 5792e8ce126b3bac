"""Links of published trees: none is denied that leads right on the site, and moves take all of them along and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from shell import Shell
from support import new_repo

HUGO: Mapping[str, str] = {
    "hugo.toml": "title='x'\n[module]\n[[module.mounts]]\nsource = 'content/en'\ntarget = 'content'\n",
    "layouts/_markup/render-link.html": '{{ if eq .Destination "g" }}{{ end }}',
    "content/en/functions/a.md": (
        "# A\n\n[b](/functions/b/) [b](/functions/b/#term-one) [green](/tea/green/) [term](g) [x]({{% eturl x %}})\n\n"
        "{{< code-toggle file=hugo >}}\n[[menus.main]]\n# no heading\nname = '[x](gone.md)'\n{{< /code-toggle >}}\n\n"
        "As in {{< highlight go >}}a[[x]]b{{< /highlight >}}, [[no wikilink]] and [gone](/functions/gone/).\n"
    ),
    "content/en/functions/b.md": "# B\n\nterm one\n: What it means.\n\n[a](/functions/a/#from-elsewhere)\n",
    "content/en/tea.md": '---\nurl: /tea/green/\n---\n{{% include "/x.md" %}}\n\n[b](/functions/b/)\n',
    "content/en/i.md": "[t](/tea/green/#anything) [[functions/b]]\n",
}
JEKYLL: Mapping[str, str] = {
    "site/_config.yml": (
        "title: x\npermalink: /news/:year/:month/:day/:title/\n"
        "collections:\n  docs:\n    permalink: /:collection/:path/\n"
    ),
    "site/_docs/start.md": (
        "# Start\n\n[m]({% link _docs/more/deep.md %}) [p]({% post_url 2024-05-17-first %}#x)\n\n"
        "[m]({{ '/docs/more/deep/' | relative_url }}) [m]({{ site.baseurl }}/docs/more/deep/)\n"
        "[p](/news/2024/05/17/first/) [s](/docs/named/) <a href=\"{{ 'docs/more/deep/' | relative_url }}\">m</a>\n\n"
        "[r][d] [gone]({% link _docs/gone.md %})\n\n[d]: {{ site.baseurl }}/docs/more/deep/\n\n"
        "{% highlight ruby %}\n[[x]]\n{% endhighlight %}\n"
    ),
    "site/_docs/more/deep.md": "# Deep\n\n[s]({% link _docs/start.md %})\n",
    "site/_docs/a.md": "---\npermalink: /docs/named/\nredirect_from: /old/\n---\n# A\n\n[s](/docs/start/) [o](/old/)\n",
    "site/_posts/2024-05-17-first.markdown": "## X\n{: #x}\n\n[s](/docs/start/) [x](#x)\n",
}


def _shell(tmp_path: Path, files: Mapping[str, str]) -> Shell:
    return Shell(new_repo(tmp_path / "base", dict(files)).path)


def _broken(shell: Shell) -> list[str]:
    lost = [found_value["target"] for found_value in shell("links", "--broken", "--json").json["broken"]]
    findings = shell("check", "--json").json["findings"]
    return lost + [finding["message"] for finding in findings if finding["rule"] == "dead_anchor"]


def test_a_tree_of_hugo_has_no_broken_links_but_those_that_are(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    assert _broken(_shell(tmp_path, HUGO)) == ["/functions/gone/"]


def test_a_tree_of_jekyll_has_no_broken_links_but_those_that_are(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    assert _broken(_shell(tmp_path, JEKYLL)) == ["_docs/gone.md"]


@pytest.mark.parametrize(
    ("files", "old", "new", "changed"),
    [
        (HUGO, "content/en/functions/b.md", "content/en/methods/c.md", {
            "content/en/functions/a.md": [("/functions/b/", "/methods/c/")],
            "content/en/tea.md": [("/functions/b/", "/methods/c/")],
            "content/en/i.md": [("functions/b", "methods/c")],
        }),
        (HUGO, "content/en/tea.md", "content/en/drinks/verde.md", {}),
        (JEKYLL, "site/_docs/more/deep.md", "site/_docs/far.md", {
            "site/_docs/start.md": [("_docs/more/deep.md", "_docs/far.md"), ("docs/more/deep/", "docs/far/")],
        }),
        (JEKYLL, "site/_docs/a.md", "site/_docs/b/c.md", {}),
        (JEKYLL, "site/_posts/2024-05-17-first.markdown", "site/_posts/2025-06-18-second.markdown", {
            "site/_docs/start.md": [
                ("post_url 2024-05-17-first", "post_url 2025-06-18-second"),
                ("2024/05/17/first", "2025/06/18/second"),
            ],
        }),
    ],
)  # fmt: skip
@pytest.mark.sampled(4)
def test_links_of_a_tree_follow_a_move_in_their_own_way_and_come_back(
    tmp_path: Path,
    cache_dir: Path,
    files: Mapping[str, str],
    old: str,
    new: str,
    changed: Mapping[str, list[tuple[str, str]]],
) -> None:
    assert cache_dir.is_dir()
    shell = _shell(tmp_path, files)
    lost = len(_broken(shell))
    shell.ok("mv", old, new)
    for path, text in files.items():
        expected = text
        for before, after in changed.get(path, []):
            expected = expected.replace(before, after)
        assert (tmp_path / "base" / (new if path == old else path)).read_text() == expected
    assert len(_broken(shell)) == lost
    shell.ok("mv", new, old)
    for path, text in files.items():
        assert (tmp_path / "base" / path).read_text() == text
