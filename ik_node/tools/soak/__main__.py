"""`python -m ik_node.tools.soak --minutes N`, or `--offline TICKS`: nothing may break a limit.

The first runs `ik_node` as a process under all that can go wrong, see `actions`; the second moves
the governor, and the tracker that aims it, through random lives, see `offline`. Both are judged
from outside, by finite differences of the positions against limits read from the URDF. The exit
code is 0 where nothing was broken.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from ik_core.robot.shipped import shared_file

OUTPUTS = ('joint_state', 'joint_trajectory', 'position_command')


def main(arguments: list[str] | None = None) -> int:
    """Run a soak test; 0 where nothing was broken."""
    parser = argparse.ArgumentParser(prog='ik_node.tools.soak', description=__doc__.split('\n')[0])
    parser.add_argument('--minutes', type=float, default=10.0)
    parser.add_argument('--rate', type=float, default=1000.0, help='of the node [Hz]')
    parser.add_argument('--output', choices=OUTPUTS, default=OUTPUTS[0], help='of the node')
    parser.add_argument('--urdf', default=str(shared_file('urdf/panda.urdf')))
    parser.add_argument('--seed', type=int, default=int(time.time()) % 10**6)
    parser.add_argument('--domain', type=int, default=60 + os.getpid() % 40, help='ROS_DOMAIN_ID')
    parser.add_argument('--no-faults', action='store_true', help='let nothing raise in the node')
    parser.add_argument('--offline', type=int, metavar='TICKS', help='of a governor; no ROS')
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends the node, too
    return _offline(options) if options.offline is not None else _campaign(options)


def _offline(options: argparse.Namespace) -> int:
    from .offline import campaign, govern, track

    failed = False
    print(f'seeds from {options.seed} on', flush=True)
    for live, ticks in ((govern, options.offline), (track, options.offline // 50)):
        began = time.monotonic()
        tally = campaign(live, options.seed, ticks)
        told = ', '.join(f'{name} {n}' for name, n in sorted(tally.told.items()))
        seconds = time.monotonic() - began
        print(f'{live.__name__}: {tally.ticks} ticks in {seconds:.0f} s, {told}')
        print(f'{len(tally.failures)} seeds with violations', flush=True)
        for seed, text in tally.failures:
            print(f'{live.__name__}({seed}): {text}')
        failed |= bool(tally.failures)
    return int(failed)


def _campaign(options: argparse.Namespace) -> int:
    from .campaign import campaign, isolate

    isolate(options.domain)
    what = f'{options.output} at {options.rate:g} Hz'
    print(f'seed {options.seed}, {options.minutes:g} minutes, {what}', flush=True)
    texts = [Path(p).read_text('utf-8') for p in (options.urdf, shared_file('urdf/ur5e.urdf'))]
    seconds = 60.0 * options.minutes
    faults = not options.no_faults
    run = campaign(texts, options.rate, seconds, options.seed, faults, options.output)
    for name, value in run.table():
        print(f'{name:<26}{value}')
    failures = run.failures()
    print('FAILED: ' + '\n'.join(failures) if failures else 'nothing was broken')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
