"""The cascade: layers of concepts, resolved at read time into one effective graph; nothing is copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.services.services import ServiceKey

if TYPE_CHECKING:
    from commonplace.toolsets.cascade.service.cascade import Cascade

CASCADE_KEY: ServiceKey[Cascade | None] = ServiceKey("cascade")
"""The layers that the settings name; None if they name none."""
