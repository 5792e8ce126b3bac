"""The tools of the `projects` toolset for instructions and for the projects themselves."""

from __future__ import annotations

from commonplace import __version__
from commonplace.domain.json import JsonObject
from commonplace.domain.ports import Progress
from commonplace.toolsets.projects.mcp import parameters
from commonplace.toolsets.projects.mcp.call_envelope import nearest_notice, new_project_notice, with_subsections
from commonplace.toolsets.projects.service import instructions, overview
from commonplace.toolsets.projects.service.instructions import InsertPosition
from commonplace.toolsets.projects.service.project_store import ProjectStore

SERVER_NAME = "Knowledge MCP Server"
DESCRIPTION = "Centralized project knowledge management via Model Context Protocol"


def get_project_main(projects: ProjectStore, arguments: parameters.ProjectArguments) -> JsonObject:
    """The instructions of a project."""
    main = instructions.get_main(projects, arguments.project_id)
    shown: JsonObject = {"content": main.content, "exists": main.exists}
    return shown if main.exists else {**shown, **nearest_notice(projects, arguments.project_id)}


def update_project_main(projects: ProjectStore, arguments: parameters.UpdateMain) -> JsonObject:
    """Replace the instructions."""
    notice = new_project_notice(projects, arguments.project_id)
    instructions.update_main(projects, arguments.project_id, arguments.content)
    return {"message": f"Project '{arguments.project_id}' main content updated successfully", **notice}


def update_project_section(projects: ProjectStore, arguments: parameters.UpdateSection) -> JsonObject:
    """Replace the text of a section."""
    gone = instructions.update_section(projects, arguments.project_id, arguments.section_header, arguments.new_content)
    return {"message": f"Section '{arguments.section_header.strip()}' updated successfully{with_subsections(gone)}"}


def add_project_section(projects: ProjectStore, arguments: parameters.AddSection) -> JsonObject:
    """Add a section."""
    place = InsertPosition(arguments.position, arguments.reference_header or "")
    instructions.add_section(projects, arguments.project_id, arguments.section_header, arguments.content, place)
    return {"message": f"Section '{arguments.section_header.strip()}' added successfully"}


def remove_project_section(projects: ProjectStore, arguments: parameters.SectionArguments) -> JsonObject:
    """Remove a section."""
    gone = instructions.remove_section(projects, arguments.project_id, arguments.section_header)
    return {"message": f"Section '{arguments.section_header.strip()}' removed successfully{with_subsections(gone)}"}


def delete_project(projects: ProjectStore, arguments: parameters.ProjectArguments) -> JsonObject:
    """Delete a project with all its files."""
    overview.delete_project(projects, arguments.project_id)
    return {"project_id": arguments.project_id, "message": f"Project '{arguments.project_id}' successfully deleted"}


def list_projects(projects: ProjectStore, arguments: parameters.ListProjects) -> JsonObject:
    """A page of the list of projects, sorted by id."""
    everything = overview.list_projects(projects)
    end = arguments.offset + arguments.limit
    shown: JsonObject = {
        "projects": [
            {
                "project_id": project.id,
                "has_main": project.main is not None,
                "file_count": project.documents,
                "updated": project.updated or None,
            }
            for project in everything[arguments.offset : end]
        ]
    }
    return {**shown, "total": len(everything), "next_offset": end} if end < len(everything) else shown


def get_server_info(projects: ProjectStore, _: parameters.NoArguments) -> JsonObject:
    """The server's name, version and folder."""
    return {"name": SERVER_NAME, "version": __version__, "storage_path": projects.path, "description": DESCRIPTION}


def get_storage_status(projects: ProjectStore, _: parameters.NoArguments) -> JsonObject:
    """Status of the store with respect to Git and its remote."""
    status = projects.upstream.status()
    return {
        "storage_path": projects.path,
        "has_changes": bool(status.uncommitted),
        "current_branch": status.branch,
        "last_commit": status.last_commit,
        "remote_status": status.remote,
        "uncommitted_files": len(status.uncommitted),
        "status_details": "\n".join(status.uncommitted),
        "rescue_branches": list(status.rescued),
        **({"push_error": status.withheld} if status.withheld else {}),
    }


def sync_storage(projects: ProjectStore, _: parameters.NoArguments, progress: Progress) -> JsonObject:
    """Commit manual changes, integrate the remote's commits, and push."""
    done = projects.upstream.sync(progress)
    return {
        "message": done.told,
        "files_committed": done.files,
        "pushed": done.pushed,
        "commit_message": done.message or None,
        **({} if done.pushed else {"push_error": done.error}),
    }
