# SPDX-License-Identifier: Apache-2.0
"""Moves one peer through a scene, in the peer's own environment: `worker.py ADAPTER SCENE OUT`.

Writes the joints' positions at the ticks, the CPU time of each step and which had no answer.
"""

from __future__ import annotations

import importlib
import json
import sys
import time

import numpy as np


def main(adapter: str, scene_file: str, out: str) -> None:
    """Send the tips to all goals, one after the other."""
    with open(scene_file, encoding='utf-8') as file:
        scene = json.load(file)
    peer = importlib.import_module(f'adapters.{adapter}').Peer(scene)
    places, seconds, unanswered, error = [np.array(scene['q0'])], [], [], ''
    for goals in np.array(scene['goals']):
        peer.set_goals(goals)
        for _ in range(round(scene['seconds'] * peer.rate)):
            q, begin = None, time.thread_time()
            try:
                q = peer.step()
            except Exception as raised:  # a step without an answer, which is reported
                error = f'{type(raised).__name__}: {raised}'
            seconds.append(time.thread_time() - begin)
            unanswered.append(q is None or not np.isfinite(q).all())
            places.append(places[-1] if unanswered[-1] else np.array(q))
    np.savez(
        out,
        places=places,
        seconds=seconds,
        unanswered=unanswered,
        rate=peer.rate,
        settings=peer.settings,
        error=error[:200],
    )


if __name__ == '__main__':
    main(*sys.argv[1:])
