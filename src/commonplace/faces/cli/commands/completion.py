"""`commonplace completion`: let your shell complete commands, options, pages and tags.

As JSON: `{"shell", "script"}`.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import typer

from commonplace.faces.cli.session import Session

ShellName: TypeAlias = Literal["bash", "zsh", "fish"]

BASH = r"""
_commonplace() {
  local line current="${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = ":files" ]; then
      compopt -o default 2>/dev/null
      return
    fi
    line="${line%%$'\t'*}"
    case "$line" in */) compopt -o nospace 2>/dev/null ;; *) line="$(printf '%q' "$line")" ;; esac
    COMPREPLY+=("$line")
  done < <(commonplace __complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$current" 2>/dev/null)
}
complete -F _commonplace commonplace
"""

ZSH = r"""
#compdef commonplace
_commonplace() {
  local line current="${(Q)words[CURRENT]}"
  local -a names texts folders
  while IFS= read -r line; do
    if [[ $line == ":files" ]]; then
      _files
      return
    fi
    if [[ $line == */ ]]; then
      folders+=("$line")
    else
      names+=("${line%%$'\t'*}")
      texts+=("${line//$'\t'/  -- }")
    fi
  done < <(commonplace __complete "${(@Q)words[2,CURRENT-1]}" "${current#[\"\']}" 2>/dev/null)
  (( $#folders )) && compadd -S '' -- $folders
  (( $#names )) && compadd -l -d texts -- $names
}
if [[ $funcstack[1] == _commonplace ]]; then
  _commonplace "$@"
elif (( $+functions[compdef] )); then
  compdef _commonplace commonplace
fi
"""

FISH = r"""
function __commonplace_complete
    set -l words (commandline -opc)
    set -l typed (string replace -r '^["\']' '' -- (commandline -ct))
    set -l current (string unescape -- "$typed"; or printf '%s' "$typed")
    set -l found (commonplace __complete $words[2..-1] "$current" 2>/dev/null)
    if test "$found[1]" = ":files"
        __fish_complete_path "$current"
    else
        printf '%s\n' $found
    end
end
complete -c commonplace -f -a '(__commonplace_complete)'
"""

SCRIPTS: dict[ShellName, str] = {"bash": BASH, "zsh": ZSH, "fish": FISH}
"""The script of each shell."""


def command(
    session: Session,
    shell: Annotated[ShellName, typer.Argument(metavar="bash|zsh|fish", hidden=True)],
) -> None:
    """Let your shell complete commands, options, pages and tags.

    Examples:
        source <(commonplace completion bash)     # in ~/.bashrc
        source <(commonplace completion zsh)      # in ~/.zshrc, behind compinit
        commonplace completion fish > ~/.config/fish/completions/commonplace.fish

    Pages, types and tags come from the index as the last command left it. Where a folder has very many pages, they are
    offered folder by folder.
    """
    script = SCRIPTS[shell].lstrip("\n")
    if session.out.as_json:
        session.out.json({"shell": shell, "script": script})
    else:
        session.out.raw(script.encode())
