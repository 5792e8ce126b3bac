"""Names that narrow a question: an unknown one is refused with the nearest, and with what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from commonplace.domain.errors import NotFoundError
from commonplace.services.collections import Collection
from commonplace.toolsets.notes.service.page_lookup import (
    require_known_folder,
    require_known_tag,
    require_known_type,
    unknown,
)
from indexed import Indexed

FILES = {
    "drinks/hot/tea.md": "---\ntype: Guide\ntags: [drink/tea, hot]\n---\n",
    "drinks/pot.md": "---\ntags: [hot]\n---\n",
    "top.md": "# Top\n",
}
Require = Callable[[Sequence[Collection], str], None]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("names"), FILES) as indexed:
        yield indexed


@pytest.mark.parametrize(
    ("require", "name"),
    [
        (require_known_folder, "drinks/"),
        (require_known_folder, "drinks/hot/"),
        (require_known_tag, "drink"),
        (require_known_tag, "HOT"),
        (require_known_type, "guide"),
    ],
)
def test_a_known_name_passes(base: Indexed, require: Require, name: str) -> None:
    require([base.collection], name)


@pytest.mark.parametrize(
    ("require", "name", "nearest", "hint"),
    [
        (require_known_folder, "drink/", ["drinks/", "drinks/hot/"], "Known: drinks/."),
        (require_known_folder, "hot/", ["drinks/hot/"], "Known: drinks/."),
        (require_known_tag, "hod", ["hot"], "Known: hot, drink/tea."),
        (require_known_tag, "tea", ["drink/tea"], "Known: hot, drink/tea."),
        (require_known_type, "giude", ["Guide"], "Known: Guide."),
        (require_known_type, "zzz", [], "Known: Guide."),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(
    base: Indexed, require: Require, name: str, nearest: list[str], hint: str
) -> None:
    with pytest.raises(NotFoundError, match="There is no") as refused:
        require([base.collection], name)
    assert refused.value.context["nearest"] == nearest
    assert refused.value.hint == hint


def test_where_there_is_none_at_all_that_is_said() -> None:
    assert unknown("tag", "x", [], []).hint == "There is no tag at all."
