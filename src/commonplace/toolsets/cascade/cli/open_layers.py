"""Opening of the layers that a command reads."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from commonplace.domain.errors import ConfigError
from commonplace.faces.cli.options import LayerOptions
from commonplace.faces.cli.session import Session, fetch
from commonplace.toolsets.cascade.service import CASCADE_KEY

if TYPE_CHECKING:
    from commonplace.toolsets.cascade.service.cascade import Cascade


@contextmanager
def open_layers(session: Session, layers: LayerOptions, *, sync: bool) -> Generator[Cascade]:
    """Open the layers that the settings and these options name.

    Args:
        session: The run of the command.
        layers: The layer options of the command line.
        sync: Whether to sync the indexes first. Single concepts are read from their files and need no sync.

    Raises:
        ConfigError: no layers are named, or the manifest is invalid.
    """
    with session.opened_application(session.configured(layers.flags())) as application:
        cascade = application.services.of(CASCADE_KEY)
        if cascade is None:
            raise ConfigError("No layers are named: give --manifest FILE, or --personal DIR and --shared DIR.")
        if sync:
            session.sync(application)
        else:
            fetch(session, application)
        yield cascade
