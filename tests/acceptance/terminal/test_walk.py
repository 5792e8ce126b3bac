"""A person's walk through `find`, `new`, `mv` and the language server in Neovim, recorded in walk.txt and replayed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from screens import NEEDS_TMUX, Screen, replay
from support import ROOT, MakeRepo

FILES = {
    "index.md": "# Index\n\n[[boats]] and [[tides]].\n",
    "boats.md": "# Boats\n\nThey leave [[tides#High water|at high water]].\n\n## Anchors\n\nTwo for each boat.\n\n"
    "The anchor chain is ten metres long.\n",
    "tides.md": "# The tides\n\n## High water\n\nHigh water comes twice a day.\n\n## Low water\n\nSo does low water.\n",
    "templates/meeting.md": "# Meeting: {{title}}\n\n",
}
KEYS = """
vim.opt.swapfile = false
vim.opt.completeopt = "menuone"
vim.opt.laststatus = 2
vim.opt.statusline = "%f line %l %{v:lua.server_state()}"
function server_state()
  for _, client in ipairs((vim.lsp.get_clients or vim.lsp.get_active_clients)()) do
    if client.initialized then
      return "served"
    end
  end
  return "alone"
end
vim.fn.timer_start(100, function() vim.cmd("redrawstatus") end, { ["repeat"] = -1 })
vim.keymap.set("n", "gd", vim.lsp.buf.definition)
vim.keymap.set("n", "K", vim.lsp.buf.hover)
vim.keymap.set("n", "gR", vim.lsp.buf.rename)
vim.keymap.set("n", "ga", vim.lsp.buf.code_action)
vim.api.nvim_create_autocmd("FileType", { pattern = "markdown", command = "setlocal omnifunc=v:lua.vim.lsp.omnifunc" })
"""


def documented_client() -> str:
    """The client configuration in docs/editors.md for the installed version."""
    said = subprocess.run(["nvim", "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    version = re.match(r"NVIM v0\.(\d+)", said)
    assert version, said
    text = (ROOT / "docs/editors.md").read_text("utf-8").partition("## Neovim")[2].partition("\n## ")[0]
    newest, middle, oldest = re.findall(r"```lua\n(.*?)```", text, re.DOTALL)
    return newest if int(version[1]) >= 11 else middle if int(version[1]) >= 8 else oldest


@NEEDS_TMUX
@pytest.mark.skipif(shutil.which("nvim") is None and "REQUIRE_TOOLS" not in os.environ, reason="needs Neovim")
@pytest.mark.soak
def test_the_recorded_walk_is_as_it_was(git_repo: MakeRepo, tmp_path: Path) -> None:
    repo = git_repo("harbour", FILES)
    (tmp_path / "init.lua").write_text(documented_client() + KEYS)
    (tmp_path / "bashrc").write_text("PS1='$ '\n")
    environment = {"EDITOR": f"nvim -u {tmp_path}/init.lua -i NONE", "HISTFILE": ""}
    with Screen(repo.path, f"bash --rcfile {tmp_path}/bashrc", columns=100, rows=30, environment=environment) as screen:
        replay(screen, Path(__file__).with_name("walk.txt").read_text("utf-8"), repo.path)
    assert repo.git("log", "-1", "--format=%s") == "Rename: tides -> sea/currents"
