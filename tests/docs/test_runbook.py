"""The runbook and the alerts are true: they name what the product has, each other, and promtool finds no fault."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from commonplace.completion.command_table import COMMANDS
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from support import ROOT

MONITORING = ROOT / "deploy" / "monitoring"
PAGE = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None and "REQUIRE_TOOLS" not in os.environ,
    reason="needs promtool (Debian's package prometheus)",
)


def rules() -> list[dict[str, Any]]:
    """The alerts."""
    groups = yaml.safe_load((MONITORING / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_every_command_of_the_runbook_is_one_with_these_options() -> None:
    lines = re.findall(r"`(commonplace [^`]+)`", PAGE) + re.findall(r"^\$ .*?(commonplace .*)$", PAGE, re.MULTILINE)
    assert len(lines) > 20
    for line in lines:
        name, *words = shlex.split(line)[1:]
        options = {word for word in words if word.startswith("-")}
        assert name == "--version" or options <= {"-C", *COMMANDS[name][2]}, line


def test_every_alert_has_a_section_that_names_it_and_a_case() -> None:
    document = read_document(Address("docs/runbook.md"), PAGE.encode())
    anchors = {section.anchor for section in document.sections}
    cases = (MONITORING / "alerts_test.yaml").read_text(encoding="utf-8")
    assert len(rules()) > 15
    for rule in rules():
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert (page, anchor in anchors) == ("docs/runbook.md", True), rule
        assert f"alertname: {rule['alert']}\n" in cases
    assert {rule["alert"] for rule in rules()} == set(re.findall(r"`(Commonplace\w+)`", PAGE))


def test_each_situation_says_what_one_sees_and_when_it_is_over() -> None:
    situations = PAGE.split("\n## ")[3:]
    assert len(situations) > 20
    for situation in situations:
        title = situation.partition("\n")[0]
        if title != "Upgrade order":
            assert "- **Over when**" in situation, title
            assert "- **Seen:**" in situation or title == "Restore from a backup", title


@needs_promtool
def test_promtool_raises_each_alert_in_its_case_and_reads_each_query(tmp_path: Path) -> None:
    _promtool("test", "rules", str(MONITORING / "alerts_test.yaml"))
    panels = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    queries = [
        {"record": f"panel:{panel['id']}", "expr": target["expr"].replace("$__rate_interval", "5m")}
        for panel in panels
        for target in panel["targets"]
    ]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": queries}]}), encoding="utf-8")
    _promtool("check", "rules", "--lint=none", str(file))


def _promtool(*arguments: str) -> None:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
