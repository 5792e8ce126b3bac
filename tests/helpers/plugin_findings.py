"""What `doctor` says about plugins."""

from __future__ import annotations

from pathlib import Path

from shell import Shell


def plugin_findings(base: Path, environment: dict[str, str]) -> list[tuple[str, str]]:
    """Each finding about a plugin, with the plugin's name."""
    findings = Shell(base, {**environment, "COMMONPLACE_PORT": "0"})("doctor", "--json").json["findings"]
    return [(finding["subject"], finding["message"]) for finding in findings if finding["check"] == "plugin"]
