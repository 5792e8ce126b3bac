"""The tools of the `projects` toolset for instructions and for the projects themselves."""

from __future__ import annotations

from commonplace import __version__
from commonplace.domain.json import JsonObject
from commonplace.domain.ports import Progress
from commonplace.faces.mcp.toolsets.projects import parameters
from commonplace.faces.mcp.toolsets.projects.calling import with_subsections
from commonplace.services.projects import instructions, overview
from commonplace.services.projects.home import Home
from commonplace.services.projects.instructions import Place

SERVER_NAME = "Knowledge MCP Server"
DESCRIPTION = "Centralized project knowledge management via Model Context Protocol"


def get_project_main(home: Home, given: parameters.OfProject) -> JsonObject:
    """The instructions of a project."""
    main = instructions.get_main(home, given.project_id)
    return {"content": main.content, "exists": main.exists}


def update_project_main(home: Home, given: parameters.UpdateMain) -> JsonObject:
    """Replace the instructions."""
    instructions.update_main(home, given.project_id, given.content)
    return {"message": f"Project '{given.project_id}' main content updated successfully"}


def update_project_section(home: Home, given: parameters.UpdateSection) -> JsonObject:
    """Another text for one section."""
    gone = instructions.update_section(home, given.project_id, given.section_header, given.new_content)
    return {"message": f"Section '{given.section_header.strip()}' updated successfully{with_subsections(gone)}"}


def add_project_section(home: Home, given: parameters.AddSection) -> JsonObject:
    """One more section."""
    place = Place(given.position, given.reference_header or "")
    instructions.add_section(home, given.project_id, given.section_header, given.content, place)
    return {"message": f"Section '{given.section_header.strip()}' added successfully"}


def remove_project_section(home: Home, given: parameters.OfSection) -> JsonObject:
    """One section less."""
    gone = instructions.remove_section(home, given.project_id, given.section_header)
    return {"message": f"Section '{given.section_header.strip()}' removed successfully{with_subsections(gone)}"}


def delete_project(home: Home, given: parameters.OfProject) -> JsonObject:
    """A project with all of its files."""
    overview.delete_project(home, given.project_id)
    return {"project_id": given.project_id, "message": f"Project '{given.project_id}' successfully deleted"}


def list_projects(home: Home, _: parameters.Nothing) -> JsonObject:
    """Every project."""
    return {
        "projects": [
            {
                "project_id": project.id,
                "has_main": project.main is not None,
                "file_count": project.documents,
                "updated": project.updated or None,
            }
            for project in overview.list_projects(home)
        ]
    }


def get_server_info(home: Home, _: parameters.Nothing) -> JsonObject:
    """Who serves, and from where."""
    return {"name": SERVER_NAME, "version": __version__, "storage_path": home.path, "description": DESCRIPTION}


def get_storage_status(home: Home, _: parameters.Nothing) -> JsonObject:
    """How the store stands to Git and its remote."""
    status = home.upstream.status()
    return {
        "storage_path": home.path,
        "has_changes": bool(status.uncommitted),
        "current_branch": status.branch,
        "last_commit": status.last_commit,
        "remote_status": status.remote,
        "uncommitted_files": len(status.uncommitted),
        "status_details": "\n".join(status.uncommitted),
        "rescue_branches": list(status.rescued),
    }


def sync_storage(home: Home, _: parameters.Nothing, progress: Progress) -> JsonObject:
    """Commit what was changed by hand, bring in what the remote has, and push."""
    done = home.upstream.sync(progress)
    return {
        "message": done.told,
        "files_committed": done.files,
        "pushed": done.pushed,
        "commit_message": done.message or None,
        **({} if done.pushed else {"push_error": done.error}),
    }
