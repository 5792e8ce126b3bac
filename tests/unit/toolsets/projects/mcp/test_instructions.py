"""The answers of the tools for instructions and for projects."""

from __future__ import annotations

from commonplace.toolsets.projects.mcp import instructions, parameters
from commonplace.toolsets.projects.service.project_store import ProjectStore

SHOP = parameters.ProjectArguments(project_id="web-shop")
TEXT = "# Shop\n\n## Testing\n\nRun it.\n\n### Slow\n\nAt night.\n\n## Style\n\nPlain.\n"


def test_instructions_that_are_not_there_name_the_nearest_project(projects: ProjectStore) -> None:
    assert instructions.get_project_main(projects, SHOP) == {"content": "", "exists": False}
    first = instructions.update_project_main(projects, parameters.UpdateMain(project_id="web-shop", content=TEXT))
    assert first == {"message": "Project 'web-shop' main content updated successfully"}
    assert instructions.get_project_main(projects, SHOP) == {"content": TEXT, "exists": True}
    near = instructions.get_project_main(projects, parameters.ProjectArguments(project_id="web-shpo"))
    assert near["exists"] is False
    assert "web-shop" in str(near["notice"])
    twin = instructions.update_project_main(projects, parameters.UpdateMain(project_id="web-shpo", content="x"))
    assert "'web-shpo' is new; there was 'web-shop' already" in str(twin["notice"])


def test_an_edit_names_the_section_and_what_went_with_it(projects: ProjectStore) -> None:
    instructions.update_project_main(projects, parameters.UpdateMain(project_id="web-shop", content=TEXT))
    edited = instructions.update_project_section(
        projects, parameters.UpdateSection(project_id="web-shop", section_header="## Testing", new_content="Always.")
    )
    assert edited["message"] == "Section '## Testing' updated successfully, with 1 subsection: 'Slow'"
    added = instructions.add_project_section(
        projects,
        parameters.AddSection(
            project_id="web-shop",
            section_header="## Setup",
            content="Do.",
            position="before",
            reference_header="## Testing",
        ),
    )
    assert added["message"] == "Section '## Setup' added successfully"
    removed = instructions.remove_project_section(
        projects, parameters.SectionArguments(project_id="web-shop", section_header="## Style")
    )
    assert removed["message"] == "Section '## Style' removed successfully"
    text = str(instructions.get_project_main(projects, SHOP)["content"])
    assert text.index("## Setup") < text.index("## Testing")
    assert "Plain." not in text


def test_projects_are_listed_a_page_at_a_time(projects: ProjectStore) -> None:
    for name in ("alpha", "beta", "gamma"):
        instructions.update_project_main(projects, parameters.UpdateMain(project_id=name, content="x"))
    first = instructions.list_projects(projects, parameters.ListProjects(limit=2))
    assert (len(list(first["projects"])), first["total"], first["next_offset"]) == (2, 3, 2)  # type: ignore[arg-type]
    last = instructions.list_projects(projects, parameters.ListProjects(limit=2, offset=2))
    assert set(last) == {"projects"}
    instructions.delete_project(projects, parameters.ProjectArguments(project_id="beta"))
    every = instructions.list_projects(projects, parameters.ListProjects())["projects"]
    assert [element["project_id"] for element in every] == ["alpha", "gamma"]  # type: ignore[index,union-attr]


def test_a_store_without_a_remote_says_so(projects: ProjectStore) -> None:
    projects.upstream.start()
    projects.upstream.wait_started()
    nothing = parameters.NoArguments()
    assert instructions.get_server_info(projects, nothing)["storage_path"] == projects.path
    instructions.update_project_main(projects, parameters.UpdateMain(project_id="a", content="x"))
    status = instructions.get_storage_status(projects, nothing)
    assert (status["has_changes"], status["uncommitted_files"], status["status_details"]) == (False, 0, "")
    done = instructions.sync_storage(projects, nothing, lambda *_: None)
    assert (done["files_committed"], done["pushed"], bool(done["push_error"])) == (0, False, True)
