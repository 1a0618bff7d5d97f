# SPDX-License-Identifier: Apache-2.0
"""`ik bench peers`: what else a Python user could call, side by side with this package.

Every peer that PyPI has runs in its own process and environment, on the same problems:
poses of random configurations of nine arms, from random starts and from starts beside a solution.
All take turns, block by block, so a busy machine slows them alike. What is timed is the
peer's public call, from goal and start in its own types to joint positions, when warm. Answers are
judged by pinocchio. Compare ratios within a run, not times of different runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ik_core.exceptions import InvalidOption

from ..results import Row
from .adapters.base import Chain
from .catalog import PEERS, Peer
from .chains import ARMS, write_chain
from .environments import PeerAbsent, default_root, interpreter
from .figure import draw
from .problems import Judge, Problems, make_problems
from .processes import PeerFailed, Process
from .scores import Score, absent_row, score_rows
from .tables import report

__all__ = ['draw', 'report', 'rows']

BLOCK = 100  # Problems in a turn
SETS = ('random', 'near')


def rows(arguments: argparse.Namespace) -> list[Row]:
    """One row for each arm, set and peer, then over all arms; absent peers with the reason."""
    try:
        import pinocchio  # noqa: F401
    except ImportError as error:
        print(f'peers: {error}: pip install pin example-robot-data', file=sys.stderr)
        return []
    chosen = _chosen(arguments.peers)
    pythons, absent = _pythons(chosen, arguments.peers_venv or default_root())
    scores: list[Score] = []
    processes: dict[str, Process] = {}
    try:
        for arm in ARMS:
            scores += _measure_arm(arm, arguments.count, pythons, processes)
            print(f'peers: {arm} done', file=sys.stderr)
    finally:
        for process in processes.values():
            process.close()
    return score_rows(scores) + absent


def _chosen(names: str | None) -> list[Peer]:
    """The peers of a list with commas; all by default. Raises InvalidOption."""
    wanted = list(PEERS) if names is None else names.split(',')
    for name in wanted:
        if name not in PEERS:
            raise InvalidOption(f'unknown peer {name!r}; there are: {", ".join(PEERS)}')
    return [PEERS[name] for name in wanted]


def _pythons(peers: list[Peer], root: Path) -> tuple[dict[str, str], list[Row]]:
    """The interpreter of each peer that can be had, and a row for each other one."""
    pythons, rows = {}, []
    for peer in peers:
        try:
            pythons[peer.name] = interpreter(peer, root)
        except PeerAbsent as reason:
            rows.append(absent_row(peer.name, str(reason)))
    return pythons, rows


def _measure_arm(
    arm: str, count: int, pythons: dict[str, str], processes: dict[str, Process]
) -> list[Score]:
    """All peers on one arm; a process that failed is left out, and started again for the next."""
    with tempfile.TemporaryDirectory() as folder:
        chain = write_chain(arm, Path(folder))
        judge = Judge(chain)
        sets = make_problems(chain, judge, count)
        file = Path(folder) / 'problems.npz'
        _save(sets, file)
        scores: dict[tuple[str, str], Score] = {}
        for name in pythons:
            peer = PEERS[name]
            if peer.arms and arm not in peer.arms:
                continue
            loaded = _load(peer, pythons[name], processes, chain, file)
            for kind in SETS:
                scores[name, kind] = Score(arm, kind, name, *loaded)
        for kind in SETS:
            _take_turns(kind, sets[kind], judge, scores, processes)
    return list(scores.values())


def _save(sets: dict[str, Problems], file: Path) -> None:
    arrays = {f'{kind}_goals': problems.goals for kind, problems in sets.items()}
    arrays |= {f'{kind}_starts': problems.starts for kind, problems in sets.items()}
    np.savez(file, **arrays)  # type: ignore[arg-type]


def _load(
    peer: Peer, python: str, processes: dict[str, Process], chain: Chain, file: Path
) -> tuple[str, str, str]:
    """The peer's version, its settings, and why it can't be set up for the arm if it can't."""
    if peer.name not in processes:
        processes[peer.name] = Process(peer, python)
    try:
        version, settings = processes[peer.name].load(chain, file)
    except PeerFailed as reason:
        processes.pop(peer.name).close()
        return '', '', str(reason)
    return version, settings, ''


def _take_turns(
    kind: str,
    problems: Problems,
    judge: Judge,
    scores: dict[tuple[str, str], Score],
    processes: dict[str, Process],
) -> None:
    """Put a set to all peers, block by block."""
    for block in _blocks(len(problems.goals)):
        for (name, its_kind), score in scores.items():
            if its_kind != kind or name not in processes:
                continue
            indices = [i for i in block if i % PEERS[name].every == 0]
            if not indices:
                continue
            try:
                answer = processes[name].solve(kind, indices)
            except PeerFailed as reason:
                score.note = str(reason)
                processes.pop(name).close()
                continue
            score.add(judge, problems, indices, answer)


def _blocks(count: int) -> Iterator[range]:
    for first in range(0, count, BLOCK):
        yield range(first, min(first + BLOCK, count))
