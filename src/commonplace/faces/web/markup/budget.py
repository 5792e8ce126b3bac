"""Limits of what rendering one page makes. A page over a limit is shown as its source."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from html import escape

from commonplace.faces.worker_threads import go_on

MAX_EVENTS = 250_000
"""Maximum number of parser events of one page: starts, ends and texts of elements."""
MAX_EMBEDDED_EVENTS = 60_000
"""Maximum number of parser events of all embedded documents of one page."""
MAX_HTML = 3_000_000
"""Maximum characters of a page's HTML before it is sanitized."""
MAX_SECONDS = 1.5
"""Maximum CPU time in seconds of one page before its HTML is sanitized."""
CHECK_EVENTS = 500
"""Number of events between two checks of time, size and client: a few milliseconds."""


class OverBudgetError(Exception):
    """Rendering makes more than one page may have."""


@dataclass(slots=True)
class Budget:
    """The rest of the limits for one page. Its time begins when it is created; it belongs to one thread."""

    events: int = MAX_EVENTS
    html: int = MAX_HTML
    until: float = field(default_factory=lambda: time.thread_time() + MAX_SECONDS)
    """CPU time of the thread, in seconds, at which the page must be complete."""

    def take(self, events: int = 0, html: int = 0) -> None:
        """Count events or characters.

        Raises:
            OverBudgetError: the page is over a limit.
            Stopped: the client has disconnected.
        """
        go_on()
        self.events -= events
        self.html -= html
        if self.events < 0 or self.html < 0 or time.thread_time() > self.until:
            raise OverBudgetError


def as_source(source: bytes) -> str:
    """The HTML of a text that is shown as its source."""
    text = escape(source.decode("utf-8", "replace"), quote=False)
    return f'<p>This text is too large to be laid out; it is shown as its source.</p>\n<pre tabindex="0">{text}</pre>\n'
