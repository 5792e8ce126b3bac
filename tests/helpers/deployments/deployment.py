"""The deployment on which the suites run, and the command lines that start the product on it.

`DEPLOYMENT=replica` puts a remote behind every folder that a test serves and starts a replica of it that writes;
`DEPLOYMENT=cluster` lets that replica search in an OpenSearch cluster, too. The default is the folder itself.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import yaml

from deployments.checkout import Checkout, new_checkout

DEPLOYMENT = os.environ.get("DEPLOYMENT", "folder")
"""`folder`, `replica` or `cluster`."""
ENGINE = "DEPLOYMENT_ENGINE"
"""Variable with the URL of the search cluster."""
SERVES = frozenset({"mcp", "serve"})
READS_REMOTES = frozenset(
    {
        "search", "read", "list", "links", "related", "log", "diff", "write", "restore", "check", "index", "status",
        "find", "new", "mv", "rm", "recent", "tags", "wanted", "orphans",
    }
)  # fmt: skip
"""Commands that take a remote for their folder."""
UNTOUCHED = frozenset({"--replica-of"})
"""Options of command lines that are not changed."""
READS_LAYERS = frozenset({"mcp", "serve", "resolve", "conflicts"})
"""Commands that take layers."""
PAIR = frozenset({"--personal", "--shared"})
VALUED = frozenset(
    {"--toolset", "--tier", "--commit", "--host", "--port", "--transport", "--log-level", "--rate-limit"}
)
"""Options before a value that is not a folder."""


@dataclass(slots=True)
class Served:
    """The checkouts of one client or server, by the names of their collections."""

    checkouts: dict[str, Checkout] = field(default_factory=dict[str, Checkout])
    waited: dict[str, int] = field(default_factory=dict[str, int])
    """Number of the test's pushes that the server is known to have, by name."""

    def needed(self) -> str:
        """The commits that the test has pushed and the server may lack, as `at_least` takes them; "" for none."""
        late = {name: item for name, item in self.checkouts.items() if item.pushes > self.waited.get(name, 0)}
        self.waited |= {name: checkout.pushes for name, checkout in late.items()}
        if len(self.checkouts) == 1:
            return next((checkout.tip for checkout in late.values()), "")
        return ",".join(f"{quote(name, safe='')}={checkout.tip}" for name, checkout in late.items())


_checkouts: dict[Path, Checkout] = {}
_home: list[Path] = []
by_port: dict[int, Served] = {}
"""The running servers of this process."""
engine_prefixes: list[str] = []
"""Beginnings of the names of the indexes that tests have made in the cluster and nobody has deleted."""
started: list[str] = []
"""The deployment of each process that was started: what was changed, and what was left as it is."""


def deployed(arguments: Sequence[str | Path], *, folder: Path | None = None) -> tuple[list[str | Path], Served]:
    """The command line that does the same on the deployment, and what it serves.

    Args:
        arguments: Those for folders.
        folder: In which a command runs.
    """
    line = list(arguments)
    if DEPLOYMENT == "folder" or not line:
        return line, Served()
    name = str(line[0])
    if any(str(word) in UNTOUCHED for word in line) or _option(line, "--toolset") == "projects":
        changed = None
    elif any(str(word) in {"--manifest", *PAIR} for word in line):
        changed = _layered(line, folder or Path.cwd()) if name in READS_LAYERS else None
    elif name in SERVES:
        changed = _serving(line)
    else:
        changed = _command(line, folder) if name in READS_REMOTES else None
    started.append(DEPLOYMENT if changed else "folder")
    return changed or (line, Served())


def _serving(line: list[str | Path]) -> tuple[list[str | Path], Served] | None:
    places = [word for before, word in pairwise(line) if _is_folder(before, word)]
    if not places:
        return None
    rest = _without(line, "--commit")
    paths = [word for word in rest if word not in places]
    served = _checked_out(places)
    if _option(line, "--toolset") is None and (usual := _usual_toolset(places)):
        paths += ["--toolset", usual]
    remotes = [word for place in places for word in ("--replica-of", _checkouts[Path(place)].url)]
    engine: list[str] = []
    if DEPLOYMENT == "cluster":
        engine = ["--engine-url", os.environ[ENGINE]]
        # Bases of several tests have the same name, and two of a name cannot share the indexes of a cluster.
        prefix = f"t-{sha256(' '.join(map(str, places)).encode()).hexdigest()[:12]}"
        os.environ["COMMONPLACE_ENGINE_PREFIX"] = prefix
        engine_prefixes.append(prefix)
    return [*paths, *remotes, "--replica-writes", "--replica-poll", "1", *engine], served


def _layered(line: list[str | Path], folder: Path) -> tuple[list[str | Path], Served] | None:
    """The same with a remote behind each folder of a layer that is there; a manifest is copied for it."""
    made: list[str | Path] = []
    places: list[str | Path] = []
    for before, word in zip(["", *line], line, strict=False):
        if before == "--manifest" and (folder / word).is_file():
            made.append(_manifest_of_remotes(folder / word, places))
        elif before in PAIR and (folder / word).is_dir():
            made.append(_remote_of(folder / word, places))
        else:
            made.append(word)
    if not places:
        return None
    poll = ["--replica-poll", "1"] if line[0] in SERVES else []
    return [*made, *poll], _checked_out(list(dict.fromkeys(places)))


def _manifest_of_remotes(manifest: Path, places: list[str | Path]) -> Path:
    try:
        reported_value = json.loads(manifest.read_text())
        entries = [entry for entry in reported_value["layers"] if entry.get("source", "okf-local") == "okf-local"]
        others = [entry for entry in reported_value["layers"] if entry.get("source", "okf-local") != "okf-local"]
        found_entries = [(entry, manifest.parent / Path(entry["path"]).expanduser()) for entry in entries]
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError):
        return manifest
    for entry, place in found_entries:
        if "://" not in entry["path"]:
            entry["path"] = _remote_of(place, places) if place.is_dir() else str(place)
    for entry in others:
        words = [entry.get("command"), *(entry.get("args") or [])]
        if any(str(word).startswith(("./", "../")) for word in words):
            return manifest
    copy = Path(tempfile.mkdtemp(dir=_folder())) / manifest.name
    copy.write_text(json.dumps(reported_value))
    return copy


def _remote_of(place: Path, places: list[str | Path]) -> str:
    real = place.resolve()
    places.append(real)
    _checked_out([real])
    return _checkouts[real].url


def _command(line: list[str | Path], folder: Path | None) -> tuple[list[str | Path], Served] | None:
    named = [word for before, word in pairwise(line) if str(before) in {"-C", "--kb"}]
    places: list[str | Path] = [place for word in named or [""] if (place := (folder or Path()) / word).is_dir()]
    if not places or len(places) < len(named or [""]) or "--" in line:
        return None
    rest = _without(_without(line, "-C"), "--kb")
    served = _checked_out(places)
    return [*rest, *(word for place in places for word in ("-C", _checkouts[Path(place)].url))], served


def _is_folder(before: str | Path, word: str | Path) -> bool:
    return str(before) not in VALUED and Path(word).is_absolute() and Path(word).is_dir()


def _option(line: Sequence[str | Path], name: str) -> str | None:
    return str(line[line.index(name) + 1]) if name in line else None


def _without(line: Sequence[str | Path], name: str) -> list[str | Path]:
    paths: list[str | Path] = []
    words = iter(line)
    for word in words:
        if word == name:
            next(words, None)
        else:
            paths.append(word)
    return paths


def _usual_toolset(places: Sequence[str | Path]) -> str | None:
    if len(places) == 1 and (Path(places[0]) / ".confluence.json").is_file():
        return "pages"
    return "kb" if any((Path(place) / "kb.yaml").is_file() for place in places) else None


def _checked_out(places: Sequence[str | Path]) -> Served:
    served = Served()
    for place in map(Path, places):
        if place not in _checkouts:
            _checkouts[place] = new_checkout(place, Path(tempfile.mkdtemp(dir=_folder())))
        else:
            _checkouts[place].push_changes()
        name, number = _declared_name(place), 2
        unused = name
        while unused in served.checkouts:
            unused, number = f"{name}-{number}", number + 1
        served.checkouts[unused] = _checkouts[place]
    return served


def _declared_name(place: Path) -> str:
    try:
        yaml_object = yaml.safe_load((place / "kb.yaml").read_text())
    except (OSError, ValueError, yaml.YAMLError):
        return place.name
    return str(yaml_object["name"]) if isinstance(yaml_object, dict) and yaml_object.get("name") else place.name


def _folder() -> Path:
    if not _home:
        _home.append(Path(tempfile.mkdtemp(prefix="remotes-")))
        atexit.register(shutil.rmtree, _home[0], ignore_errors=True)
    return _home[0]


@contextmanager
def in_step() -> Iterator[None]:
    """Push what tests have changed in their folders, and afterwards take in what the server has pushed."""
    for checkout in _checkouts.values():
        checkout.push_changes()
    try:
        yield
    finally:
        for checkout in _checkouts.values():
            checkout.pull()


def needed_headers(served: Served) -> Mapping[str, str]:
    """The header by which a request waits for what the test has pushed."""
    needed = served.needed()
    return {"Commonplace-At-Least": needed} if needed else {}
