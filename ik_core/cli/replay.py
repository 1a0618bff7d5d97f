# SPDX-License-Identifier: Apache-2.0
"""`ik replay`: repeat a recording of a node, tick by tick.

    ik replay ik_node_panda_20261121_120000.npz
    ik replay ik_node_panda_20261121_120000.npz --figure joints.svg

Exit codes: 0 the same to the last bit, 1 different, 2 bad input.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..tracking.recording import Recording, Replay, draw_replay, read_recording, replay, versions
from .parser import NOT_REACHED, REACHED, add_json, check_drawable, new_parser
from .text import as_json, table


def add_parser(commands: Any, summary: str) -> None:
    """Add `replay` to the subcommands of `ik`."""
    parser = new_parser(commands, 'replay', summary, __doc__)
    parser.add_argument('file', metavar='FILE', type=Path, help='a recording of the node, .npz')
    parser.add_argument(
        '--figure',
        metavar='FILE',
        type=Path,
        help='draw the joints over time, recorded and replayed',
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Replay a recording; exit code 0 if the result is the same, else 1."""
    if arguments.figure:
        check_drawable(arguments.figure)
    recording = read_recording(arguments.file)
    replays = replay(recording)
    rows = [_segment_data(number, segment) for number, segment in enumerate(replays)]
    if arguments.json:
        print(as_json({**_recording_data(recording), 'segments': rows}))
    else:
        print(_text(recording, rows))
    if arguments.figure:
        draw_replay(recording, replays, arguments.figure)
    return REACHED if all(segment.is_same for segment in replays) else NOT_REACHED


def _recording_data(recording: Recording) -> dict[str, Any]:
    now = versions()
    others = {k: v for k, v in recording.versions.items() if now.get(k) != v}
    return {'robot': recording.robot.name, 'notes': recording.notes, 'other_versions': others}


def _segment_data(number: int, segment: Replay) -> dict[str, Any]:
    first, now = segment.first_difference, segment.now
    at = None if first is None or first >= len(now) else now[first] - now[0]
    return {
        'segment': number,
        'ticks': len(now),
        'seconds': now[-1] - now[0],
        'largest_difference': segment.largest_difference,
        'first_difference': first,
        'after_seconds': at,
        'failure': segment.failure,
    }


def _text(recording: Recording, rows: Sequence[dict[str, Any]]) -> str:
    lines: list[tuple[str, ...]] = [('segment', 'ticks', 'seconds', 'largest difference', '')]
    for row in rows:
        verdict = 'the same'
        if row['first_difference'] is not None:
            verdict = f'differs from tick {row["first_difference"]} on'
        if row['failure']:
            verdict += f': {row["failure"]}'
        counts = (str(row['segment']), str(row['ticks']), f'{row["seconds"]:.2f}')
        lines.append((*counts, f'{row["largest_difference"]:.3g}', verdict))
    data = _recording_data(recording)
    others = [f'{name} was {version}' for name, version in data['other_versions'].items()]
    notes = ', '.join(others) or 'the same versions of python, numpy and numba'
    return '\n\n'.join((f'{data["robot"]}; {notes}', table(lines)))
