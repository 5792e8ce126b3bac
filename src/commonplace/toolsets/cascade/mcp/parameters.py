"""Parameters of the tools of the `cascade` toolset."""

from __future__ import annotations

from typing import Annotated

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
