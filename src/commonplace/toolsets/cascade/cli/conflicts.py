"""`commonplace conflicts`: the sections and keys on which layers differ.

As JSON: `{"count", "conflicts": [{"id", "kind", "key", "winner": {"layer", "updated", "value"}, "dissents": [..]}]}`;
`kind` is `section` or `frontmatter`, and a dissent has the keys of the winner.
"""

from __future__ import annotations

import json

from commonplace.domain.json import Json
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.options import LayerOptions
from commonplace.faces.cli.output import BOLD, FAINT, one_line
from commonplace.faces.cli.session import Session
from commonplace.toolsets.cascade.cli.open_layers import open_layers
from commonplace.toolsets.cascade.rules.health import health_json, not_asked
from commonplace.toolsets.cascade.rules.values import ValueDissent
from commonplace.toolsets.cascade.service.cascade import Disagreement, conflicts

MAX_SHOWN_CONFLICTS = 100
"""Maximum number of characters of a value that are printed on a line."""


def command(session: Session, *, layers: LayerOptions) -> None:
    """List every section and key on which layers differ, the newest dissent first.

    Examples:
        commonplace conflicts --manifest layers.json
        commonplace conflicts --manifest layers.json --json | jq .count

    Under each stands first what counts, then what other layers say, with its layer and date.
    """
    out = session.out
    with open_layers(session, layers, sync=True) as cascade:
        disagreements = conflicts(cascade)
        states = cascade.health()
    if out.as_json:
        shown: dict[str, Json] = {
            "count": len(disagreements),
            "conflicts": [_json(disagreement) for disagreement in disagreements],
        }
        health = health_json(states)
        out.json({**shown, "layers": health} if health else shown)
        return
    for disagreement in disagreements:
        what = f"section {disagreement.key!r}" if disagreement.kind == "section" else f"key {disagreement.key!r}"
        out.line(f"{out.styled(BOLD, disagreement.id)}  {one_line(what)}")
        for said in (disagreement.winner, *disagreement.dissents):
            where = out.styled(FAINT, f"{said.layer} ({said.updated or '?'}):")
            out.line(f"    {where} {_brief(said.value)}")
    out.message(f"{amount(len(disagreements), 'conflict')}.")
    for state in not_asked(states):
        out.message(f"Not asked: layer {state.sentence()}.")


def _json(disagreement: Disagreement) -> dict[str, Json]:
    dissents: list[Json] = [_said(dissent) for dissent in disagreement.dissents]
    return {
        "id": disagreement.id,
        "kind": disagreement.kind,
        "key": disagreement.key,
        "winner": _said(disagreement.winner),
        "dissents": dissents,
    }


def _said(said: ValueDissent) -> dict[str, Json]:
    return {"layer": said.layer, "updated": said.updated, "value": said.value}


def _brief(value: Json) -> str:
    text = one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= MAX_SHOWN_CONFLICTS else f"{text[: MAX_SHOWN_CONFLICTS - 1]}…"
