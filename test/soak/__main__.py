# SPDX-License-Identifier: Apache-2.0
"""`python -m soak --minutes N`, or `--offline TICKS`: nothing may break a limit.

The first runs `ik_node` as a process under all that can go wrong, see `actions` and `trials`, with
each output for a third of the time; the second moves the governor, and the tracker that aims it,
through random lives, see `offline`. Both are judged from outside, by finite differences of the
positions against limits read from the URDF. The exit code is 0 where nothing was broken.

The folder `test` has to be on PYTHONPATH, as `make soak` sees to.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import Counter

# [Hz] Of the node, by its output
RATES = {'joint_state': 500.0, 'joint_trajectory': 250.0, 'position_command': 500.0}


def main(arguments: list[str] | None = None) -> int:
    """Run a soak test; 0 where nothing was broken."""
    parser = argparse.ArgumentParser(prog='soak', description=__doc__.split('\n')[0])
    parser.add_argument('--minutes', type=float, default=10.0)
    parser.add_argument('--rate', type=float, help='of the node [Hz]')
    parser.add_argument('--output', choices=RATES, help='of the node; default: each')
    parser.add_argument('--actions', default='', help='only these, with commas between them')
    parser.add_argument('--seed', type=int, default=int(time.time()) % 10**6)
    parser.add_argument('--domain', type=int, default=60 + os.getpid() % 40, help='ROS_DOMAIN_ID')
    parser.add_argument('--no-faults', action='store_true', help='let nothing raise in the node')
    parser.add_argument('--offline', type=int, metavar='TICKS', help='of a governor; no ROS')
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends the node, too
    return _offline(options) if options.offline is not None else _campaign(options)


def _offline(options: argparse.Namespace) -> int:
    from .obstacles import avoid
    from .offline import campaign, govern, track

    failed = False
    print(f'seeds from {options.seed} on', flush=True)
    some = options.offline // 50
    for live, ticks in ((govern, options.offline), (track, some), (avoid, some)):
        began = time.monotonic()
        tally = campaign(live, options.seed, ticks)
        told = ', '.join(f'{name} {n}' for name, n in sorted(tally.told.items()))
        seconds = time.monotonic() - began
        print(f'{live.__name__}: {tally.ticks} ticks in {seconds:.0f} s, {told}')
        print(f'{len(tally.failures)} seeds with violations', flush=True)
        for seed, text in tally.failures:
            print(f'{live.__name__}({seed}): {text}')
        failed |= bool(tally.failures)
        if live is avoid:  # an arm that stays, or stays away, shows nothing
            failed |= min(tally.told['near'], tally.told['moved']) < 0.2 * tally.ticks
    return int(failed)


def _campaign(options: argparse.Namespace) -> int:
    from .campaign import campaign, isolate, weights

    isolate(options.domain)
    chosen = [name for name in options.actions.split(',') if name]
    known = {name for output in RATES for name in weights(output)}
    if not known.issuperset(chosen):
        print(f'unknown actions: {sorted({*chosen} - known)}; there are {sorted(known)}')
        return 2
    outputs = [options.output] if options.output else list(RATES)
    outputs = [output for output in outputs if weights(output, chosen)]
    seconds = 60.0 * options.minutes / max(len(outputs), 1)
    did, in_motion, failed = Counter[str](), Counter[str](), not outputs
    for output in outputs:
        rate = options.rate or RATES[output]
        print(f'seed {options.seed}, {seconds:.0f} s of {output} at {rate:g} Hz', flush=True)
        run = campaign(output, rate, seconds, options.seed, not options.no_faults, chosen)
        for name, value in run.table():
            print(f'{name:<26}{value}')
        did, in_motion = did + run.did, in_motion + run.in_motion
        failures = run.failures()
        failed |= bool(failures)
        print('FAILED: ' + '\n'.join(failures) if failures else 'nothing was broken', flush=True)
    print(f'\n{"action":<26}done, in motion')
    for name, count in sorted(did.items()):
        print(f'{name:<26}{count:4d}, {in_motion[name]:4d}')
    return int(failed)


if __name__ == '__main__':
    sys.exit(main())
