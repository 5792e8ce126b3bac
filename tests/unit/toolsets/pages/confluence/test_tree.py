"""Places of pages, whatever their titles are."""

from __future__ import annotations

from commonplace.toolsets.pages.confluence.tree import FolderLinks, Node, attachment_folder, file_name, page_paths


def test_pages_lie_where_their_parents_say() -> None:
    nodes = [Node("1", "Home", ""), Node("2", "Run", "1"), Node("3", "A & B", "2"), Node("4", "Lost", "99")]
    assert page_paths(nodes, "1") == {"1": "README.md", "2": "run/README.md", "3": "run/a-b.md", "4": "lost.md"}


def test_odd_titles_and_circles_have_places_of_their_own() -> None:
    titles = [
        "Same",
        "same",
        "SAME",
        "/",
        "..",
        "\U0001f600" * 255,
        "README",
        "attachments",
        "a" * 255,
        "",
        "x/y",
        "build",
    ]
    nodes = [Node("1", "Home", ""), *(Node(str(10 + number), title, "1") for number, title in enumerate(titles))]
    nodes += [Node("50", "Ring", "51"), Node("51", "Round", "50"), Node("52", "Tail", "51"), Node("53", "Self", "53")]
    paths = page_paths(nodes, "1")
    assert len({path.lower() for path in paths.values()}) == len(nodes)
    assert (paths["10"], paths["11"]) == ("same.md", "same-11.md")
    assert paths["16"] == "readme-16.md"
    assert all(len(part.encode()) < 200 for path in paths.values() for part in path.split("/"))
    chain = [Node(str(number), f"t{number}", str(number - 1)) for number in range(2, 400)]
    assert max(path.count("/") for path in page_paths([Node("1", "Home", ""), *chain], "1").values()) <= 26


def test_links_lead_to_pages_and_files() -> None:
    links = FolderLinks(
        "run/README.md",
        {"1": "README.md", "2": "run/README.md", "3": "run/a b.md"},
        {"T": "3"},
        "ENG",
        {},
        "https://x/wiki/spaces/ENG/pages/",
    )
    assert (links.page("", "T"), links.page("OPS", "T"), links.page_with_id("1")) == ("a%20b.md", None, "../README.md")
    assert links.page_url("a%20b.md") == "https://x/wiki/spaces/ENG/pages/3"
    assert links.attachment("a/b.png") == "../attachments/run/a_b.png"
    assert links.attachment_name("../attachments/run/x.png") == "x.png"
    assert links.attachment_name("../x.png") is None
    assert (attachment_folder("README.md"), attachment_folder("a/b.md")) == ("attachments/README", "attachments/a/b")
    assert [file_name(name) for name in ("..", "a\0b", "x" * 300 + ".png")] == ["file", "a_b", "x" * 196 + ".png"]
