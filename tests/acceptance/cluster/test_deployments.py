"""The list of tests that the deployments with replicas leave out follows the suites."""

from __future__ import annotations

from pathlib import Path

from deployments.left_out import LEFT_OUT

SUITES = Path(__file__).resolve().parents[1]


def test_every_test_that_is_left_out_is_in_the_suites() -> None:
    texts = [file.read_text(encoding="utf-8") for file in SUITES.rglob("test_*.py")]
    assert [name for name in LEFT_OUT if not any(f"def {name}(" in text for text in texts)] == []
