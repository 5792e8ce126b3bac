"""Downloads: within a time and a size, and not from private networks."""

from __future__ import annotations

import pytest

from commonplace.domain.errors import ConfigError, KnowledgeError, UnavailableError
from commonplace.outside import web
from sites import site


def test_a_download_ends_in_time_and_follows_no_redirect_inside() -> None:
    def lookup(host: str, port: int) -> list[str]:
        del port
        return ["127.0.0.1"] if host == "127.0.0.1" else ["93.184.216.34"]

    with site() as url:
        for path, problem in (
            ("/drops", "it took too long"),
            ("/to-itself", "more than 5 times"),
            ("/squeezed", "compresses"),
            ("/gone", "answers 404"),
            ("/endless", "more than 67,108,864 bytes"),
        ):
            with pytest.raises(KnowledgeError, match=problem):
                web.download(url + path, allow_private=True, timeout=3 if path == "/drops" else 60)
        for address in ("file:///etc/passwd", "https://a:b@example.org/", "http://[::1", "gopher://example.org/"):
            with pytest.raises(KnowledgeError, match="no URL"):
                web.download(address, allow_private=True)
        with pytest.raises(ConfigError, match=r"127\.0\.0\.1 is on a private network"):
            web.download(f"{url}/guide", allow_private=False, lookup=lookup)
        with pytest.raises(UnavailableError, match="has no address"):
            web.download("https://no.invalid/", allow_private=False)
