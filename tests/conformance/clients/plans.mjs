// For each toolset a walk through all of its tools. `call` calls one and gives what it answered; `text` its text; `run`
// is a word that no other walk on the same base has.

async function kb({ call, run, base }) {
  const kb_name = (await call("kb_list")).knowledge_bases.find((one) => one.path === base).name;
  const created = await call("kb_create", { kb_name, entry_type: "note", title: `First ${run}`, body: "Alpha." });
  const entry_id = created.entry_id;
  const entries = [{ entry_type: "note", title: `Second ${run}` }, { entry_type: "event", title: `Day ${run}`, date: "2026-03-01" }];
  const target_id = (await call("kb_bulk_create", { kb_name, entries })).results[0].entry_id;
  await call("kb_update", { kb_name, entry_id, body: "Alpha beta.\n", revision: created.revision });
  await call("kb_link", { source_id: entry_id, source_kb: kb_name, target_id, relation: "supports" });
  const found = await call("kb_search", { query: `first ${run}`, kb_name });
  expect(found.results.some((one) => one.id === entry_id), "the new entry is found");
  const { revision } = (await call("kb_get", { entry_id, kb_name })).entry;
  expect((await call("kb_read_body", { entry_id, kb_name, body_limit: 5 })).body === "Alpha", "a part of the body");
  await call("kb_batch_read", { entries: [{ entry_id }, { entry_id: target_id, kb_name }] });
  await call("kb_timeline", {});
  expect((await call("kb_backlinks", { entry_id: target_id, kb_name })).backlinks.length === 1, "one backlink");
  await call("kb_tags", { kb_name, tree: true });
  await call("kb_stats");
  await call("kb_schema", { kb_name });
  await call("kb_orient", { kb_name });
  await call("kb_list_entries", { kb_name, sort_by: "updated_at", sort_order: "desc" });
  await call("kb_recent", { kb_name });
  await call("kb_qa_validate", { kb_name });
  await call("kb_qa_status", { kb_name });
  await call("kb_qa_assess", { kb_name, entry_id });
  await call("kb_index_sync", { kb_name });
  await call("kb_manage", { action: "validate", kb_name });
  await call("kb_commit", { kb: kb_name, message: `Walk ${run}` });
  await call("kb_push", { kb: kb_name });
  await call("kb_delete", { entry_id, kb_name, revision });
}

async function notes({ text, run }) {
  const folder = run.replace(/ /g, "-");
  const at = (path) => `base:${folder}/${path}`;
  const several = (await text("overview", {})).includes("base:");
  const page = (path) => (several ? at(path) : `${folder}/${path}`);
  await text("write", { page: page("tea.md"), text: "# Tea\n\n## Log\n\n- first\n" });
  await text("edit", { page: page("tea.md"), changes: [{ do: "append", section: "Log", text: `- second ${run}` }] });
  const steps = [{ do: "write", page: page("pot.md"), text: "See [[tea]].\n" }];
  await text("transaction", { steps });
  await text("proposals", { action: "list" });
  const found = await text("search", { query: `second ${run}`, max_tokens: 400 });
  expect(found.includes("tea.md"), "the hit");
  expect((await text("read", { page: page("tea.md") })).includes(`- second ${run}`), "the text");
  await text("links", { page: page("pot.md") });
  await text("changes", {});
  await text("move", { page: page("tea.md"), to: page("green.md") });
  const pot = await text("read", { page: page("pot.md") });
  expect(pot.includes("green"), "the link that followed");
  const revision = /\brev ([0-9a-f]+)/.exec(pot)[1];
  await text("delete", { page: page("pot.md"), revision });
  await text("restore", { page: page("pot.md") });
  await text("add", { source: page("pot.md"), title: `Pot ${run}` });
  expect((await text("brief", { task: `second ${run}` })).includes("green.md"), "what matters for the task");
}

async function wiki({ call, text, run }) {
  const path = `Walks/${run}`;
  await call("write_note", { path, content: `# ${run}\n\nAlpha [[Hub]].\n` });
  const revision = /\b[0-9a-f]{40}\b/.exec(await text("read_note", { path }))[0];
  await call("edit_note", { path, revision, old_string: "Alpha", new_string: "Beta" });
  await call("list_notes", { prefix: "Walks/" });
  await call("search_notes", { query: run });
  await call("semantic_search", { query: "what is near" });
  await call("get_links", { path });
  await call("get_recent_changes", {});
  await call("get_history", { path });
  await call("find_orphaned_notes");
  await call("upload_attachment", { path, filename: "a.txt", content: "aGVsbG8=" });
  await call("list_attachments", { path });
  await call("download_attachment", { path, filename: "a.txt" });
  await call("delete_attachment", { path, filename: "a.txt" });
  await call("rename_note", { path, new_path: `${path} moved` });
  await call("delete_note", { path: `${path} moved` });
}

async function pages({ call, base, run }) {
  const [first] = (await call("search", { query: base })).results;
  const page = first.path;
  await call("read_page", { path: page });
  await call("edit_section", { page, heading: first.title, text: `Walked by ${run}.` });
  await call("status", {});
  await call("diff", { pages: [page] });
  await call("push", { pages: [page], allow_loss: true });
}

async function cascade({ call }) {
  const [first] = (await call("search", { query: "service", limit: 3 })).result;
  await call("read_file", { concept_id: first.id });
  await call("list_concepts", {});
  await call("get_links", { concept_id: first.id });
}

async function projects({ call, run: project_id }) {
  const chapters = ["One", "Two"].map((title) => ({ title, content: `Text of ${title}.` }));
  await call("get_server_info");
  await call("update_project_main", { project_id, content: "# Main\n\n## Testing\n\nRun it.\n" });
  await call("get_project_main", { project_id });
  await call("update_project_section", { project_id, section_header: "## Testing", new_content: "Run all." });
  await call("add_project_section", { project_id, section_header: "## Style", content: "Plain." });
  await call("remove_project_section", { project_id, section_header: "## Style" });
  const filename = "guide";
  await call("create_knowledge_file", { project_id, filename, title: "Guide", introduction: "What.", keywords: ["k"], chapters });
  await call("get_knowledge_file", { project_id, filename });
  await call("list_knowledge_files", { project_id });
  await call("search_knowledge", { project_id, query: "text" });
  await call("update_chapter", { project_id, filename, chapter_title: "One", new_content: "Other text." });
  await call("add_chapter", { project_id, filename, chapter_title: "Three", content: "More." });
  await call("list_chapters", { project_id, filename });
  await call("get_chapter", { project_id, filename, chapter_index: 0 });
  await call("get_next_chapter", { project_id, filename, current_index: 0 });
  await call("remove_chapter", { project_id, filename, chapter_title: "Three" });
  const { todo_number } = await call("create_todo", { project_id, description: "List", tasks: [{ title: "First" }] });
  await call("add_todo_task", { project_id, todo_number, title: "Second" });
  await call("get_todo_tasks", { project_id, todo_number });
  await call("complete_todo_task", { project_id, todo_number, task_number: 1 });
  await call("get_next_todo_task", { project_id, todo_number });
  await call("remove_todo_task", { project_id, todo_number, task_number: 2 });
  await call("list_todos", { project_id });
  await call("delete_todo", { project_id, todo_number });
  await call("list_projects");
  await call("get_storage_status");
  await call("sync_storage");
  await call("delete_knowledge_file", { project_id, filename });
  await call("delete_project", { project_id });
}

export function expect(truth, what) {
  if (!truth) throw new Error(`not so: ${what}`);
}

export const PLANS = { kb, notes, wiki, pages, cascade, projects };
