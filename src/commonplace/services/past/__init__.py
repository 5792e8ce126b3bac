"""Past states of a base: moments, and the collections at a moment."""

from commonplace.services.past.moments import (
    Moment,
    PastBase,
    as_of,
    document_then,
    is_moment,
    moment_of,
    narrowed_since,
    require_history,
    since_of,
    since_time,
)
from commonplace.services.past.section_blame import Form, SectionChange, section_blame

__all__ = [
    "Form",
    "Moment",
    "PastBase",
    "SectionChange",
    "as_of",
    "document_then",
    "is_moment",
    "moment_of",
    "narrowed_since",
    "require_history",
    "section_blame",
    "since_of",
    "since_time",
]
