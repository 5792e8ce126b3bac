"""Git's own server over HTTP, for servers of tests."""

from __future__ import annotations

import os
import subprocess
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

ANSWER_SECONDS = 60


def backend_answer(request: BaseHTTPRequestHandler, folder: Path, body: bytes) -> bytes:
    """The answer of `git http-backend` to a request, as CGI has it: fields, an empty line, the content.

    Args:
        request: The request.
        folder: The folder of all repositories.
        body: What was sent with the request.
    """
    parts = urlsplit(request.path)
    environment = {
        **os.environ,
        "GIT_PROJECT_ROOT": str(folder),
        "GIT_HTTP_EXPORT_ALL": "1",
        "REQUEST_METHOD": request.command,
        "PATH_INFO": parts.path,
        "QUERY_STRING": parts.query,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "REMOTE_USER": "somebody",
    }
    command = ["git", "http-backend"]
    done = subprocess.run(command, env=environment, input=body, capture_output=True, check=True, timeout=ANSWER_SECONDS)
    return done.stdout
