"""The merge of layers, whatever they hold: nothing is lost, and what comes out reads back as what went in."""

from __future__ import annotations

from dataclasses import replace

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.domain.frontmatter import read_frontmatter
from commonplace.toolsets.cascade.rules.concepts import heading_key, read_concept, scan_lines
from commonplace.toolsets.cascade.rules.output import frontmatter_text, resolved_json, to_markdown
from commonplace.toolsets.cascade.rules.values import (
    Concept,
    ConceptSection,
    Contribution,
    LayerRank,
    ResolvedConcept,
    by_precedence,
    contributor_cutoff,
    resolve,
    without_trailing_blanks,
)

HEADINGS = [
    "# A",
    "## A",
    "### b {#a}",
    "## A b  c",
    "## C {#c updated=2026-02-03}",
    "#",
    "## D ##",
    "   # E",
    "## a-2",
]
TEXTS = ["word", "", "  ", "# ", "#tag", "> quote", "- item", "    # code", "```", "~~~", "- ```", "  ```", "---"]
TEXTS += ["x\u00a0", "Ünïcode 漢字", "[[a]]", "\ttab", "<!--", "1. ```sh"]
OVERRIDES = ["## A {override=none}", '## C {#c override="none" updated=2026-05-05}']

lines = st.lists(st.sampled_from(HEADINGS + TEXTS), max_size=14)
lines_with_overrides = st.lists(st.sampled_from(HEADINGS + TEXTS + OVERRIDES), max_size=14)
scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
texts = st.text(max_size=12) | st.sampled_from(
    ["2026-01-02", "no", "1e3", "- a", "a: b", "#", "", "null", "010", "x\ny"]
)
values = st.recursive(
    scalars | texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
frontmatters = st.dictionaries(st.sampled_from(["type", "title", "tags", "x y"]) | texts, values, max_size=5)
dates = st.sampled_from([None, "2026-01-01", "2026-03-01", "2026-03-01T10:00:00Z"])


@st.composite
def concepts(
    draw: st.DrawFn, body: st.SearchStrategy[list[str]] = lines_with_overrides, *, full: bool = True
) -> Concept:
    """A concept as it is read from a document."""
    own = draw(frontmatters)
    own.pop("override", None)
    if full and draw(st.integers(0, 4)) == 0:
        own["override"] = "full"
    if date := draw(dates):
        own["updated"] = date
    block = frontmatter_text(own)
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    return read_concept("a", (block + "\n".join(draw(body))).replace("\n", ending).encode())


@st.composite
def stacks(draw: st.DrawFn) -> list[Contribution]:
    """One to four layers, some of the same level."""
    held = draw(st.lists(concepts(), min_size=1, max_size=4))
    return [
        Contribution(LayerRank(f"layer{order}", draw(st.integers(0, 2)), order), concept)
        for order, concept in enumerate(held)
    ]


def contribution(concept: Concept, level: int = 1, order: int = 0) -> Contribution:
    return Contribution(LayerRank(f"layer{order}", level, order), concept)


@given(concepts(lines, full=False))
def test_merging_one_layer_is_the_identity(concept: Concept) -> None:
    resolved = resolve("a", [contribution(concept)])
    assert resolved.frontmatter == concept.frontmatter
    assert tuple(section.section for section in resolved.sections) == concept.sections
    assert not any(section.conflicts or section.suppressed for section in resolved.sections)
    assert not resolved.value_conflicts


@given(stacks(), st.integers(-1, 3))
def test_a_layer_that_says_nothing_changes_nothing(stack: list[Contribution], level: int) -> None:
    empty = contribution(Concept("a", {}, ()), level, len(stack))
    with_it, without = resolve("a", [*stack, empty]), resolve("a", stack)
    named = replace(with_it, contributors=(), excluded=with_it.excluded - {empty.layer.name})
    assert named == replace(without, contributors=())


@given(stacks())
def test_no_section_of_any_layer_is_ever_gone(stack: list[Contribution]) -> None:
    resolved = resolve("a", stack)
    effective = {section.section.key: section for section in resolved.sections}
    ordered = by_precedence(stack)
    counting = ordered[: contributor_cutoff([other_contribution.concept.frontmatter for other_contribution in ordered])]
    assert [contributor.layer for contributor in resolved.contributors] == [element.layer.name for element in ordered]
    for other_contribution in counting:
        for section in other_contribution.concept.sections:
            won = effective[section.key]
            dissents = {(dissent.layer, dissent.content) for dissent in won.conflicts}
            assert (
                won.suppressed
                or without_trailing_blanks(section.stated) == without_trailing_blanks(won.section.content)
                or (other_contribution.layer.name, section.stated) in dissents
            )
    for won in effective.values():
        assert won.layer == next(c.layer.name for c in counting if won.section in c.concept.sections)
        assert not (won.suppressed and won.conflicts)


@given(stacks(), st.randoms(use_true_random=False))
def test_the_order_of_the_manifest_counts_only_between_equals(stack: list[Contribution], random: object) -> None:
    order = list(range(len(stack)))
    random.shuffle(order)  # pyright: ignore[reportAttributeAccessIssue]
    moved = [
        Contribution(replace(other_contribution.layer, order=place), other_contribution.concept)
        for other_contribution, place in zip(stack, order, strict=True)
    ]
    ranks = [(other_contribution.layer.level, other_contribution.concept.updated) for other_contribution in stack]
    if len(set(ranks)) == len(ranks):
        assert resolve("a", moved) == resolve("a", stack)
    assert resolve("a", reversed(stack)) == resolve("a", stack)


@example(
    [
        Contribution(LayerRank("layer0", 0, 0), Concept("a", {}, (ConceptSection("", None, "- ```"),), ())),
        Contribution(
            LayerRank("layer1", 0, 1),
            Concept("a", {"override": "full"}, (ConceptSection("", "#", ""), ConceptSection("e", "   # E", "")), ()),
        ),
    ]
)
@given(stacks())
def test_the_markdown_reads_back_as_what_counts(stack: list[Contribution]) -> None:
    resolved = resolve("a", stack)
    parts = to_markdown(resolved).split("\n")
    back = read_concept("a", "\n".join(line for line in parts if not line.startswith("> ⚠ ")).encode())
    assert back.frontmatter == resolved.frontmatter
    shown = shown_sections(resolved)
    assert [section.key for section in back.sections] == [section.key for section in shown]
    for read, stated in zip(back.sections, shown, strict=True):
        assert read.content in {stated.content, closed(stated.text)}
        assert read.heading == stated.heading or heading_key((read.heading or "").lstrip("# ")) == stated.key


@given(stacks())
def test_every_dissent_stands_on_one_line_of_the_markdown(stack: list[Contribution]) -> None:
    resolved = resolve("a", stack)
    reported_lines = [line for line in to_markdown(resolved).split("\n") if line.startswith("> ⚠ ")]
    shown = sorted(resolved.sections, key=lambda section: section.section.heading is not None)
    assert reported_lines == [
        f"> ⚠ {dissent.layer} disagrees (updated {dissent.updated or '?'}): {dissent.content}".replace("\n", " ")
        for section in shown
        for dissent in section.conflicts
    ]


@given(frontmatters)
def test_every_reader_of_yaml_takes_the_frontmatter_for_the_same(own: dict[str, object]) -> None:
    block = frontmatter_text(own)  # pyright: ignore[reportArgumentType]
    assert repr(read_frontmatter(block.encode()).values) == repr(own)
    assert repr(yaml.safe_load(block.split("---\n", 1)[1].rsplit("---\n", 1)[0]) or {}) == repr(own)


@given(stacks())
def test_the_shape_has_its_keys_in_order(stack: list[Contribution]) -> None:
    shown = resolved_json(resolve("a", stack))
    assert list(shown)[:6] == ["id", "contributors", "frontmatter", "frontmatterProvenance", "sections", "markdown"]
    assert list(shown)[6:] in ([], ["frontmatterConflicts"])
    assert list(shown["frontmatter"]) == list(shown["frontmatterProvenance"])  # pyright: ignore[reportArgumentType]


def shown_sections(resolved: ResolvedConcept) -> list[ConceptSection]:
    sections = [section.section for section in resolved.sections if not section.suppressed]
    return sorted(sections, key=lambda section: section.heading is not None)


def closed(text: str) -> str:
    """The text with the fence closed that it leaves open."""
    fence = list(scan_lines(text))[-1].fence
    return f"{text}\n{fence.closing()}".strip() if fence else text
