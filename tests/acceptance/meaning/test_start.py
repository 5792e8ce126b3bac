"""A start loads nothing of what searching by meaning needs, with or without a model."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "onnxruntime", "tokenizers", "faiss", "onnx")
LOADED = f"import sys; import {{}}; print([name for name in {HEAVY} if name in sys.modules])"


def test_nothing_heavy_is_loaded_to_start_a_server() -> None:
    for module in ("commonplace", "commonplace.bootstrap, commonplace.embed", "commonplace.faces.mcp.server"):
        done = subprocess.run(
            [sys.executable, "-c", LOADED.format(module)], capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stdout == "[]\n", module
