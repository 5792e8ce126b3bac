"""Parameters of the tools of the `cascade` toolset."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from commonplace.faces.mcp.toolset import Parameters

ConceptId = Annotated[str, Field(description="Path without .md, as search shows it: systems/auth-service")]


class SearchConcepts(Parameters):
    """Parameters of `search`."""

    query: Annotated[str, Field(description="Words or a question; not blank.")]
    limit: Annotated[float, Field(ge=1, allow_inf_nan=False, description="Maximum number of concepts.")] = 10
    layer: Annotated[
        str | None,
        Field(description="Search this layer's own text alone; what higher layers suppress is then shown, and marked."),
    ] = None


class ReadFile(Parameters):
    """Parameters of `read_file`."""

    concept_id: ConceptId
    layer: Annotated[str | None, Field(description="The concept as this layer alone has it.")] = None


class ListConcepts(Parameters):
    """Parameters of `list_concepts`."""

    type: Annotated[str | None, Field(description="Only concepts whose effective type is this.")] = None


class GetLinks(Parameters):
    """Parameters of `get_links`."""

    concept_id: ConceptId


class LogCapture(Parameters):
    """Parameters of `log_capture`."""

    kind: Annotated[Literal["investigation", "decision", "gotcha", "artifact"], Field(description="Kind of finding.")]
    title: Annotated[str, Field(description="Short and specific.")]
    sections: Annotated[
        dict[str, str],
        Field(
            description="Text by section. investigation: problem, fix, perhaps attempts, root-cause; decision: choice, "
            "why, perhaps alternatives; gotcha: body; artifact: summary, pointer."
        ),
    ]
    confidence: Annotated[Literal["high", "medium", "low"] | None, Field(description="How certain it is.")] = None
    links: Annotated[list[str] | None, Field(max_length=32, description="Related concepts, issues and addresses.")] = (
        None
    )


class ConfirmCapture(Parameters):
    """Parameters of `confirm_capture`."""

    token: Annotated[str, Field(description="From log_capture.")]
