"""Runs the benchmarks: `python -m benchmarks [part…] [--runs 3] [--sections 150000] [--files 300]`."""

from __future__ import annotations

import argparse
import json
import pkgutil
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import cast

from benchmarks.machine.calibration import measured
from benchmarks.measuring import Row, Work, line, machine

HERE = Path(__file__).parent


def main() -> int:
    """Run the named parts, or all parts; write the figures to the two files and to standard output."""
    parts = _parts()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(parts)}; all of them without")
    parser.add_argument("--runs", type=int, default=3, help="repetitions of each long measurement; medians are shown")
    parser.add_argument("--sections", type=int, default=150_000, help="size of the large generated tree")
    parser.add_argument("--files", type=int, default=0, help="for a trial: the most files of a tree; see --out")
    parser.add_argument("--out", type=Path, default=HERE, help="where results.json and results.md go")
    namespace = parser.parse_args()
    if unknown := set(namespace.parts) - set(parts):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    # Each part runs in a separate process, so that the memory of one part does not count for the next.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as process:
        work = Work(Path(), namespace.runs, namespace.sections, namespace.files)
        ran = process.map(measured, namespace.parts or parts, repeat(work))
        _write(namespace.out, [row for rows in ran for row in rows])
    return 0


def _parts() -> list[str]:
    """Names of the modules of this package that have a function `rows`."""
    names = [module.name for module in pkgutil.iter_modules([str(HERE)]) if not module.name.startswith("_")]
    return [name for name in names if hasattr(import_module(f"benchmarks.{name}"), "rows")]


def _write(folder: Path, rows: Sequence[Row]) -> None:
    """Replace the rows of the parts that ran, and keep those of the other parts."""
    ran = {row.part for row in rows}
    file = folder / "results.json"
    kept_rows: list[dict[str, object]] = []
    if file.exists():
        kept_rows = [row for row in json.loads(file.read_text(encoding="utf-8"))["rows"] if row["part"] not in ran]
    made = [asdict(row) for row in rows]
    about = {"machine": machine(), "date": f"{datetime.now(UTC):%Y-%m-%d}", "command": " ".join(sys.argv[1:])}
    file.write_text(
        json.dumps({**about, "rows": [*kept_rows, *made]}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    lines = [f"Measured on {about['machine']}; the last part on {about['date']}.", "", *_HEAD]
    lines += [line(Row(**row)) for row in cast("list[dict[str, str]]", [*kept_rows, *made])]  # pyright: ignore[reportArgumentType]
    (folder / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


_HEAD = (
    "`machine`: the day, and fixed work before and after each part: a loop in Python, the start of the MCP SDK's",
    "hello-world. Rows without it are of 2026-11-21 to 2026-11-23.",
    "",
    "| what | figure | reach | detail | machine |",
    "|---|---|---|---|---|",
)


if __name__ == "__main__":
    raise SystemExit(main())
