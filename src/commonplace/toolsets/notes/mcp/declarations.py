"""The resources and prompts of the toolset `notes`. The modules with their content are imported lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.faces.lazy_module import LazyModule
from commonplace.faces.mcp.toolset import Prompt, PromptArgument, Resources, ResourceTemplate

if TYPE_CHECKING:
    from commonplace.toolsets.notes.mcp import prompts, resources
else:
    prompts = LazyModule("commonplace.toolsets.notes.mcp.prompts")
    resources = LazyModule("commonplace.toolsets.notes.mcp.resources")

RESOURCES = Resources(
    templates=(
        ResourceTemplate(
            uri_template="notes://{folder}/pages/{path}",
            name="page",
            description="A page as its file is, by path",
            complete={"folder": prompts.complete_folder, "path": resources.complete_path},
        ),
        ResourceTemplate(
            uri_template="notes://{folder}/changes",
            name="changes",
            description="The latest changes; subscribe to it to be told of every change of a page",
            mime_type="text/plain",
            complete={"folder": prompts.complete_folder},
        ),
        ResourceTemplate(
            uri_template="notes://{folder}/review",
            name="review",
            description="What is to be reviewed, the gravest first; subscribe to it to be told of changes",
            mime_type="text/plain",
            complete={"folder": prompts.complete_folder},
        ),
    ),
    list=resources.list_resources,
    read=resources.read_resource,
    source_of=resources.source_of,
)
PROMPTS = (
    Prompt(
        name="summarize_changes",
        title="Summarise what changed",
        description="What changed in the last days, by whom, and what it means.",
        arguments=(PromptArgument(name="since", description="Date, 'yesterday' or '7 days'; 7 days"),),
        render=prompts.summarize_changes,
    ),
    Prompt(
        name="tidy_folder",
        title="Tidy a folder",
        description="Broken links, orphans, missing titles and near-duplicates of a folder, to be mended one by one.",
        arguments=(
            PromptArgument(name="folder", description="Which; everything", complete=prompts.complete_path_folder),
        ),
        render=prompts.tidy_folder,
    ),
    Prompt(
        name="answer_with_sources",
        title="Answer with sources",
        description="An answer from the pages, each statement with its page and heading.",
        arguments=(PromptArgument(name="question", description="What to answer", required=True),),
        render=prompts.answer_with_sources,
    ),
)
