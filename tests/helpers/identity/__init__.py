"""An identity provider that runs here, for tests: a real one, from npm."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from npm import environment

PROVIDER = "oauth2-mock-server@8"


@contextmanager
def provider(scope: str = "") -> Iterator[str]:
    """An identity provider on a free port; its issuer URL.

    Args:
        scope: What its tokens for a code grant; "" for what is asked with the code.
    """
    env = environment(PROVIDER)
    packages = str(Path(env["PATH"].split(os.pathsep)[0]).parent)
    script = Path(__file__).with_name("provider.mjs")
    process = subprocess.Popen(["node", str(script), packages, scope], stdout=subprocess.PIPE, env=env, text=True)
    assert process.stdout is not None
    try:
        issuer = process.stdout.readline().strip()
        assert issuer.startswith("http://localhost:")
        yield issuer
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
