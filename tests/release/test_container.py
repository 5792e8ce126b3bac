"""The container: what its files promise, and the server in the image that its steps make, run as an engine runs it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml

from release.environments import dist
from support import ROOT, eventually

MOST_BYTES = 250_000_000
PROCESS = [sys.executable, str(Path(__file__).with_name("image_process.py"))]
URL = "http://127.0.0.1:8090"


def test_the_image_runs_without_privileges_and_says_whether_it_is_healthy() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    system = text[text.index("AS system") :]
    for line in (
        "USER commonplace",
        "HEALTHCHECK",
        'ENTRYPOINT ["commonplace"]',
        'VOLUME ["/data", "/cache", "/state"]',
    ):
        assert line in system
    assert "USER root" not in system
    assert text.splitlines()[-2] == "FROM system AS server", "the default stage is the one without the model"


def test_only_the_proxy_is_reached_from_outside_and_the_server_can_write_its_volumes_alone() -> None:
    services: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    server, proxy = services["server"], services["proxy"]
    assert (server["read_only"], server["cap_drop"], "ports" in server) == (True, ["ALL"], False)
    assert [volume.rpartition(":")[2] for volume in server["volumes"]] == ["/data", "/cache", "/state"]
    assert (proxy["ports"], proxy["depends_on"]["server"]["condition"]) == (["443:443"], "service_healthy")
    named = [volume.partition(":")[0] for volume in proxy["volumes"] if volume.startswith("./")]
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image as a folder: its steps run in a root that debootstrap makes."""
    if os.geteuid() or not shutil.which("debootstrap"):
        if "REQUIRE_TOOLS" in os.environ:
            raise AssertionError("root and debootstrap are needed")
        pytest.skip("needs root and debootstrap")
    folder = tmp_path_factory.mktemp("container")
    dist(ROOT / "dist")
    root = folder / "root"
    subprocess.run(["debootstrap", "--variant=minbase", "bookworm", root], check=True, timeout=400, stdout=-3)
    for name in ("doc", "man", "locale", "info"):  # what the slim image of Debian leaves out
        shutil.rmtree(root / "usr" / "share" / name)
    excluded = "".join(f"path-exclude /usr/share/{name}/*\n" for name in ("doc", "man", "locale", "info"))
    (root / "etc" / "dpkg" / "dpkg.cfg.d" / "slim").write_text(excluded)
    subprocess.run(["chroot", root, "apt-get", "clean"], check=True, timeout=60)
    steps = [sys.executable, str(ROOT / "tools" / "release" / "run_containerfile.py")]
    subprocess.run([*steps, "--base", root, "--out", folder / "image"], check=True, timeout=600, stdout=-3)
    return folder / "image"


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_the_server_in_the_image_answers_with_a_key_over_a_read_only_root(image: Path, tmp_path: Path) -> None:
    size = sum(file.lstat().st_size for file in image.rglob("*") if not file.is_dir())
    assert size < MOST_BYTES, f"{size:,} bytes"
    for name in ("data", "cache", "state"):
        (tmp_path / name).mkdir()
        os.chown(tmp_path / name, 10001, 10001)
    (tmp_path / "data" / "tea.md").write_text("# Tea\n\nGreen tea wants water of 80 degrees.\n")
    config = json.loads(image.with_name("image.json").read_text(encoding="utf-8"))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROCESS, image, tmp_path, *words], capture_output=True, text=True, check=False, timeout=100
        )

    assert run("sh", "-c", "id -u; touch /opt/x || touch /x || echo refused").stdout == "10001\nrefused\n"
    refused = run()
    assert refused.returncode == 2, "without a key the server is not offered to other machines"
    assert "commonplace keys create" in refused.stderr
    key = run("commonplace", "keys", "create", "laptop").stdout.strip()
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 8090))
    with subprocess.Popen([*PROCESS, str(image), str(tmp_path)]) as server:
        eventually(lambda: run(*config["Healthcheck"]).returncode == 0, 60)
        request = Request(f"{URL}/api/v1/search?q=green+tea")  # noqa: S310 - this machine
        with pytest.raises(HTTPError, match="401"):
            urlopen(request)  # noqa: S310 - this machine
        request.add_header("Authorization", f"Bearer {key}")
        with urlopen(request) as answer:  # noqa: S310 - this machine
            assert "80 degrees" in answer.read().decode()
        server.terminate()
        assert server.wait(30) == 0
