"""Tests of the acceptance suites that are about folders alone, each with the reason why no replica can pass them."""

from __future__ import annotations

UNCOMMITTED = "a replica has no text that is not committed: what a test writes into its folder arrives as a commit"
HISTORY = "a replica always has a history"
WORK_TREE = "linked, sparse and shallow work trees, submodules and merges under way are states of a folder"
COMMITS = "each write to a replica is a commit that its remote has: none is left to be staged, committed or pushed"
SUBFOLDER = "a replica follows a whole branch: a base in a subfolder of a repository is a state of a folder"
LINKS = "what a link outside leads to is not in the commit: a path below it does not exist and needs no refusal"
IDENTITY = "a replica commits as the user of its server, not as the configuration of a folder's repository says"
UNASKED = "what a test writes into its folder is pushed with its next request, and this test sends none"
COMPLETION = "a shell completes pages of the folder in which it is, from the index of that folder"
VARIABLE = "a remote is behind the folders of a command line, and this test names its folder by a variable"
UNNAMED = "the program of the wiki names no commit to wait for: what was pushed a moment ago may arrive after its call"
LAYER_FOLDER = "the folder of a layer that goes, or comes back, is a state of a folder: its remote stays"
MANIFEST = "a layer is a remote in a copy of the manifest: what a test writes into its own is not read"
DATED = "each page of a replica has the date of its last commit"
OWN_REMOTES = "this test has remotes of its own"

LEFT_OUT = {
    "test_changes_name_the_next_call_and_show_what_is_not_committed": UNCOMMITTED,
    "test_each_section_has_the_commit_that_wrote_it": UNCOMMITTED,
    "test_a_transaction_deletes_what_its_earlier_steps_make_or_move": UNCOMMITTED,
    "test_text_that_was_not_seen_is_kept_when_an_edit_takes_it_away": UNCOMMITTED,
    "test_a_move_keeps_lines_that_were_not_seen_and_whose_links_it_rewrites": UNCOMMITTED,
    "test_text_that_no_commit_holds_is_not_replaced_by_a_restore": UNCOMMITTED,
    "test_status_tells_where_a_folder_and_its_index_stand": UNCOMMITTED,
    "test_a_folder_without_history_says_so": HISTORY,
    "test_without_git_there_is_no_past": HISTORY,
    "test_every_frontmatter_value_of_the_wrong_type_is_served_and_git_is_not_needed": HISTORY,
    "test_uncommitted_bytes_have_a_revision_of_their_own": UNCOMMITTED,
    "test_writes_are_files_until_they_are_committed": COMMITS,
    "test_a_commit_holds_this_bases_files_alone_and_leaves_other_staging": COMMITS,
    "test_a_push_reaches_the_remote_or_says_why_not": COMMITS,
    "test_a_base_in_a_subfolder_commits_its_own_files_alone": SUBFOLDER,
    "test_with_automatic_commits_each_write_is_one": IDENTITY,
    "test_nothing_but_pages_of_the_space_can_be_read": LINKS,
    "test_a_shallow_clone_knows_the_commits_that_it_has": WORK_TREE,
    "test_a_linked_work_tree_is_written_on_its_own_branch": WORK_TREE,
    "test_a_submodule_is_read_and_says_that_it_is_not_written": WORK_TREE,
    "test_what_a_sparse_checkout_leaves_out_stays_in_the_repository": WORK_TREE,
    "test_an_operation_in_progress_is_said_and_read_through": WORK_TREE,
    "test_commits_name_the_program_that_asked_as_it_is_set": IDENTITY,
    "test_a_subscriber_of_changes_and_reviews_is_told_of_each_change": UNASKED,
    "test_a_change_is_told_within_a_second_of_being_noticed": UNASKED,
    "test_what_an_asterisk_replaces_unseen_is_kept": UNCOMMITTED,
    "test_a_page_comes_back_as_it_was_and_loose_text_is_never_lost": UNCOMMITTED,
    "test_without_git_there_is_no_history_and_that_is_said": HISTORY,
    "test_without_git_a_write_is_a_file": HISTORY,
    "test_a_write_can_be_left_to_the_users_own_commit": COMMITS,
    "test_what_is_staged_elsewhere_stays_staged": COMMITS,
    "test_the_log_tells_who_what_and_when": IDENTITY,
    "test_several_folders_are_searched_as_one": VARIABLE,
    "test_a_link_that_an_editor_saved_a_moment_ago_follows_a_rename": UNNAMED,
    "test_a_shell_is_offered_what_fits": COMPLETION,
    "test_of_very_many_pages_a_shell_is_offered_the_folders": COMPLETION,
    "test_completing_loads_neither_the_command_line_nor_the_index": COMPLETION,
    "test_sections_stand_in_order_of_appearance_with_what_others_say": DATED,
    "test_the_markdown_is_the_effective_concept_with_a_line_for_each_dissent": DATED,
    "test_a_tombstone_takes_a_section_out_and_a_losing_one_is_a_conflict": DATED,
    "test_equal_text_is_no_conflict_whatever_stands_round_it": DATED,
    "test_broken_yaml_in_one_layer_leaves_the_others_and_is_told": DATED,
    "test_a_section_without_a_date_has_that_of_its_last_commit": SUBFOLDER,
    "test_a_folder_that_is_gone_is_named_in_every_answer_until_it_is_back": LAYER_FOLDER,
    "test_a_folder_that_has_lost_everything_and_one_that_is_a_file_are_named": LAYER_FOLDER,
    "test_a_folder_that_disappears_leaves_the_others_serving": LAYER_FOLDER,
    "test_a_folder_that_is_missing_at_the_start_or_comes_back_is_served_without_a_restart": LAYER_FOLDER,
    "test_a_manifest_that_changes_is_taken_and_a_broken_one_is_named": MANIFEST,
    "test_the_server_of_a_layer_that_is_taken_out_ends": MANIFEST,
    "test_one_remote_in_two_layers_and_a_manifest_that_gets_and_loses_remotes": OWN_REMOTES,
    "test_a_server_names_the_commits_of_layers_waits_for_them_and_takes_webhooks": OWN_REMOTES,
}


def reason_left_out(name: str) -> str:
    """Why a test is left out on deployments with replicas; "" if it is not.

    Args:
        name: Of the test, with or without its parameters.
    """
    return LEFT_OUT.get(name.partition("[")[0], "")
