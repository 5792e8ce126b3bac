"""A long text goes through the user's pager."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from cases import each_case
from commonplace.faces.cli.output import OPTIONS, page, pager_command, shows_links


@each_case("given", ["", "cat", " cat ", "no-such-pager -x", "'unclosed"])
def test_no_pager_where_none_is_wanted_or_there_is_none(given: str) -> None:
    assert pager_command({"PAGER": given}) == ""


def test_the_users_pager_is_taken_with_its_options() -> None:
    assert pager_command({"PAGER": "sed -n 1p"}) == "sed -n 1p"


def test_the_text_reaches_the_pager_with_settings_that_the_user_may_override(tmp_path: Path) -> None:
    command = f'cat > {tmp_path}/text; echo "$LESS $LV" > {tmp_path}/set'
    before = signal.getsignal(signal.SIGINT)
    assert page("Tee für 茶\n".encode(), command, {**os.environ, "LESS": "-R"})
    assert (tmp_path / "text").read_text("utf-8") == "Tee für 茶\n"
    assert (tmp_path / "set").read_text() == f"-R {OPTIONS['LV']}\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_a_pager_that_is_left_early_is_no_failure() -> None:
    assert page(b"line\n" * 200_000, "head -n 1 > /dev/null", os.environ)


def test_links_reach_only_a_pager_that_passes_them_on(tmp_path: Path) -> None:
    for version, shows in (("less 590 (GNU)", True), ("less 566", True), ("less 551 (x)", False), ("", False)):
        less = tmp_path / "less"
        less.write_text(f"#!/bin/sh\necho '{version}'\n")
        less.chmod(0o755)
        assert shows_links(f"{less} -R") is shows
    assert not shows_links("more")
