"""The files that an OpenSearch node is made of: fetched through Maven, checked by SHA-256 and put together."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from support import ROOT

VERSION = "2.19.1"
"""The newest release of the 2.x line (which runs on Java 17) whose k-NN plugin is in Maven Central."""
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
CACHE = ROOT / ".cache" / "opensearch"
FETCH_SECONDS = 600.0


class MissingError(Exception):
    """The engine cannot be had here."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file by its Maven coordinates. `sha256` is of the whole file; nothing else than these bytes is used."""

    group: str
    name: str
    version: str
    kind: str
    sha256: str

    @property
    def file(self) -> str:
        """The file's name."""
        return f"{self.name}-{self.version}.{self.kind}"


DISTRIBUTION = Artifact(
    "org.opensearch.distribution.integ-test-zip", "opensearch", VERSION, "zip",
    "af7152d8b7f6f1cee09d47276b32b70479fe6dd8cdbb61213f84eb7f8098b261",
)  # fmt: skip
"""The distribution without its optional modules: the server, its launcher and the Netty transport."""
PAINLESS = (
    Artifact(
        "org.opensearch.plugin", "lang-painless", VERSION, "jar",
        "3cf5e02efa40ff5b88e74e1ab66a0bc462de3509fab4a6a4ffe90b8d13777a9a",
    ),
    Artifact(
        "org.opensearch.plugin", "opensearch-scripting-painless-spi", VERSION, "jar",
        "c2598797a5f6f897ce7e8d05f593ff96de3fbc56c52f299d63cddcae41556dda",
    ),
    Artifact(
        "org.antlr", "antlr4-runtime", "4.13.1", "jar",
        "54665d2838cc66458343468efc539e454fc95b46a8a04b13c6ac43fc9be63505",
    ),
    Artifact("org.ow2.asm", "asm", "9.7", "jar", "adf46d5e34940bdf148ecdd26a9ee8eea94496a72034ff7141066b3eea5c4e9d"),
    Artifact(
        "org.ow2.asm", "asm-analysis", "9.7", "jar",
        "7bc6bcbc21379948a0c8c467fb0f864206e5b818f6bc0b546872f5c9f941556f",
    ),
    Artifact(
        "org.ow2.asm", "asm-commons", "9.7", "jar",
        "389bc247958e049fc9a0408d398c92c6d370c18035120395d4cba1d9d9304b7a",
    ),
    Artifact(
        "org.ow2.asm", "asm-tree", "9.7", "jar",
        "62f4b3bc436045c1acb5c3ba2d8ec556ec3369093d7f5d06c747eb04b56d52b1",
    ),
    Artifact(
        "org.ow2.asm", "asm-util", "9.7", "jar",
        "37a6414d36641973f1af104937c95d6d921b2ddb4d612c66c5a9f2b13fc14211",
    ),
)  # fmt: skip
"""The module for scripts, which the k-NN plugin extends. Its zip is not published, its jars are."""
KNN = Artifact(
    "org.opensearch.plugin", "opensearch-knn", f"{VERSION}.0", "zip",
    "eab8c9818865bc035212eab5068cdacae164baa09d4c152f49b736d6f6b0e85c",
)  # fmt: skip
"""The k-NN plugin without native libraries: its engine `lucene` works, `faiss` and `nmslib` do not."""
ARTIFACTS = (DISTRIBUTION, *PAINLESS, KNN)

_PAINLESS_DESCRIPTOR = f"""\
description=Painless scripts
version={VERSION}
name=lang-painless
classname=org.opensearch.painless.PainlessPlugin
java.version=11
opensearch.version={VERSION}
custom.foldername=
extended.plugins=
has.native.controller=false
"""
_PAINLESS_POLICY = """\
grant {
  permission java.lang.RuntimePermission "createClassLoader";
  permission java.lang.RuntimePermission "getClassLoader";
};
"""


def fetched() -> Path:
    """The folder that holds every artifact, each verified now.

    Raises:
        MissingError: Maven is absent, or a fetch failed.
        AssertionError: a file has other bytes than those that are known.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        artifacts = [artifact for artifact in ARTIFACTS if not (CACHE / artifact.file).is_file()]
        if artifacts:
            _fetch(artifacts)
    for artifact in ARTIFACTS:
        _verify(artifact, CACHE / artifact.file)
    return CACHE


def install(home: Path) -> None:
    """Put the distribution, the module for scripts and the k-NN plugin together in `home`, a new folder.

    Raises:
        MissingError, AssertionError: as `fetched` does.
    """
    files = fetched()
    beside = home.with_name(f"{home.name}.part")
    _unpack(files / DISTRIBUTION.file, beside)
    (beside / f"opensearch-{VERSION}").rename(home)
    beside.rmdir()
    painless = home / "modules" / "lang-painless"
    painless.mkdir()
    for artifact in PAINLESS:
        shutil.copyfile(files / artifact.file, painless / artifact.file)
    (painless / "plugin-descriptor.properties").write_text(_PAINLESS_DESCRIPTOR, encoding="utf-8")
    (painless / "plugin-security.policy").write_text(_PAINLESS_POLICY, encoding="utf-8")
    _unpack(files / KNN.file, home / "plugins" / KNN.name)
    subprocess.run(["chmod", "-R", "a+rX", home], check=True)  # the nodes' user reads it, whatever the umask was


def _unpack(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(target)


def _fetch(artifacts: list[Artifact]) -> None:
    """Have Maven copy the files; it takes them from where its own settings say."""
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingError("mvn is not in PATH")
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=CACHE) as name:
        folder = Path(name)
        (folder / "pom.xml").write_text(_pom(artifacts), encoding="utf-8")
        command = [maven, "--quiet", "--batch-mode", "--no-transfer-progress", COPY, f"-DoutputDirectory={folder}"]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MissingError(f"mvn: {error}") from error
        if done.returncode:
            raise MissingError(f"mvn ended with {done.returncode}: {done.stdout[-2000:]}")
        for artifact in artifacts:
            _verify(artifact, folder / artifact.file)
            (folder / artifact.file).rename(CACHE / artifact.file)


def _pom(artifacts: list[Artifact]) -> str:
    items = "".join(
        f"<artifactItem><groupId>{artifact.group}</groupId><artifactId>{artifact.name}</artifactId>"
        f"<version>{artifact.version}</version><type>{artifact.kind}</type></artifactItem>\n"
        for artifact in artifacts
    )
    group, name, version, _ = COPY.split(":")
    return f"""\
<project>
<modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>opensearch-artifacts</artifactId><version>1</version><packaging>pom</packaging>
<build><plugins><plugin>
<groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>
<configuration><artifactItems>
{items}</artifactItems></configuration>
</plugin></plugins></build>
</project>
"""


def _verify(artifact: Artifact, file: Path) -> None:
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    if digest != artifact.sha256:
        file.unlink()
        raise AssertionError(f"{artifact.file} is not the file that is known: sha256 {digest}")
