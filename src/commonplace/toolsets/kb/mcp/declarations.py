"""The prompts and resources of the `kb` toolset. The modules with their content are imported lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.faces.lazy_module import LazyModule
from commonplace.faces.mcp.toolset import Prompt, PromptArgument, Resources, ResourceTemplate
from commonplace.toolsets.kb.mcp.uris import JSON_TYPE, SCHEMES

if TYPE_CHECKING:
    from commonplace.toolsets.kb.mcp import prompts, resources
else:
    prompts = LazyModule("commonplace.toolsets.kb.mcp.prompts")
    resources = LazyModule("commonplace.toolsets.kb.mcp.resources")

_ENTRY = "Id or path of an entry"
PROMPTS = (
    Prompt(
        name="research_topic",
        title="Research a topic",
        description="What the knowledge bases hold on a topic, and what is missing.",
        arguments=(
            PromptArgument(
                name="topic", description="What to research", required=True, complete=prompts.complete_topic
            ),
        ),
        render=prompts.research_topic,
    ),
    Prompt(
        name="summarize_entry",
        title="Summarise an entry",
        description="An entry's main points.",
        arguments=(
            PromptArgument(name="entry_id", description=_ENTRY, required=True, complete=prompts.complete_entry),
            PromptArgument(name="kb_name", description="The base that it is in", complete=prompts.complete_base),
        ),
        render=prompts.summarize_entry,
    ),
    Prompt(
        name="find_connections",
        title="Find connections",
        description="How two entries are connected.",
        arguments=(
            PromptArgument(name="entry_a", description=_ENTRY, required=True, complete=prompts.complete_entry),
            PromptArgument(name="entry_b", description=_ENTRY, required=True, complete=prompts.complete_entry),
        ),
        render=prompts.find_connections,
    ),
    Prompt(
        name="daily_briefing",
        title="Daily briefing",
        description="What changed in the last days.",
        arguments=(PromptArgument(name="days", description="How many days back; 7", complete=prompts.complete_days),),
        render=prompts.daily_briefing,
    ),
)


def _templates() -> tuple[ResourceTemplate, ...]:
    base = "commonplace://kbs/{name}"
    added = (
        ResourceTemplate(
            uri_template=f"{base}/files/{{path}}",
            name="file",
            description="A document of a base as its file is, by path",
            complete={"name": prompts.complete_base, "path": resources.complete_path},
        ),
        ResourceTemplate(
            uri_template=f"{base}/tags/{{tag}}",
            name="kb-tag",
            description="The entries of a base that carry a tag",
            mime_type=JSON_TYPE,
            complete={"name": prompts.complete_base, "tag": resources.complete_tag},
        ),
        ResourceTemplate(
            uri_template=f"{base}/types/{{type}}",
            name="kb-type",
            description="The entries of a base of a type",
            mime_type=JSON_TYPE,
            complete={"name": prompts.complete_base, "type": resources.complete_type},
        ),
    )
    return (*_of_both_schemes(), *added)


def _of_both_schemes() -> tuple[ResourceTemplate, ...]:
    return tuple(
        template
        for scheme in SCHEMES
        for template in (
            ResourceTemplate(
                uri_template=f"{scheme}://kbs/{{name}}/entries",
                name=f"{scheme}-kb-entries",
                description="The entries of a base",
                mime_type=JSON_TYPE,
                complete={"name": prompts.complete_base},
            ),
            ResourceTemplate(
                uri_template=f"{scheme}://entries/{{id}}",
                name=f"{scheme}-entry",
                description="An entry by id, in the first base that has it",
                mime_type=JSON_TYPE,
                complete={"id": prompts.complete_entry},
            ),
            ResourceTemplate(
                uri_template=f"{scheme}://kbs/{{name}}/entries/{{id}}",
                name=f"{scheme}-kb-entry",
                description="An entry of a base by id",
                mime_type=JSON_TYPE,
                complete={"name": prompts.complete_base, "id": prompts.complete_entry},
            ),
        )
    )


RESOURCES = Resources(
    templates=_templates(),
    list=resources.list_resources,
    read=resources.read_resource,
    source_of=resources.source_of,
)
