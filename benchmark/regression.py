# SPDX-License-Identifier: Apache-2.0
"""Compare the answers of two commits to the same questions, and the times they take.

    git worktree add --detach ../old main
    python benchmark/regression.py write ../old         # into ~/.cache/ik_regression/COMMIT
    python benchmark/regression.py write .
    python benchmark/regression.py compare ../old .     # the same bits?
    python benchmark/regression.py compare ../old . --within 1e-9
    python benchmark/regression.py time ../old .        # ratios new / old
    python benchmark/regression.py time ../old . --kinds form forms --starts 0
    python benchmark/regression.py history . --issue 26 --tests 290

A checkout is a folder with the packages in it. `write` asks it the questions of
`regression_questions.py`, which take a quarter of an hour; `--share 0.01` asks a hundredth of
them, the same ones each time, and `--parts solves governor` only these parts.

`compare` lists every row that is an exception, and exits with 1 if there is one:

- by default all bits have to be equal: for a change that only moves arithmetic;
- with `--within D` floats may differ by D, and iterations freely; status, counts and all else have
  to be equal: for a change that makes one path of two. Values further apart than 1e-3 are called
  another branch.

`time` starts a process for each checkout, gives both the same blocks of goals in turns, and
exits with 1 if the median ratio of a row is above `--most`, 1.05. `history` appends a row to
`history.csv`. Times are CPU times, which other processes disturb less than those of a clock; all
that is timed runs on one thread.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
QUESTIONS = HERE / 'regression_questions.py'
HISTORY = HERE / 'history.csv'
PARTS = (
    'solves', 'batches', 'closed_forms', 'reachability', 'governor', 'recordings', 'node',
)  # fmt: skip
EFFORT = ('iterations',)  # fields that may differ freely with `--within`
BRANCH = 1e-3  # [rad or m] larger differences of joint values mean another solution
LISTED = 20  # most exceptions printed for each group
Table = dict[str, np.ndarray]


def environment(checkout: Path, **more: str) -> dict[str, str]:
    """Return the variables of a process that imports the checkout; numpy gets one thread."""
    path = os.pathsep.join(filter(None, [str(checkout), os.environ.get('PYTHONPATH')]))
    fixed = {'PYTHONDONTWRITEBYTECODE': '1', 'PYTHONHASHSEED': '0', 'OPENBLAS_NUM_THREADS': '1'}
    return {**os.environ, **fixed, 'PYTHONPATH': path, **more}


def commit_of(checkout: Path) -> str:
    """Return the commit of a checkout, marked if files are changed; or the folder's name."""
    command = ['git', '-C', str(checkout), 'describe', '--always', '--dirty', '--exclude=*']
    found = subprocess.run(command, capture_output=True, text=True)
    return found.stdout.strip() or checkout.name


def answers_of(path: Path) -> Path:
    """Return the default folder for a checkout's answers, or the path if it has answers."""
    cache = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
    return path if any(path.glob('*.npz')) else Path(cache, 'ik_regression', commit_of(path))


# --- answers -------------------------------------------------------------------------------------


def write(checkout: Path, folder: Path, parts: list[str], share: float) -> int:
    """Write the answers of a checkout into a folder; return the exit code."""
    print(f'answers of {commit_of(checkout)}: {folder}', flush=True)
    command = [sys.executable, QUESTIONS, 'answer', checkout, folder, repr(share), *parts]
    return subprocess.run(list(map(str, command)), env=environment(checkout)).returncode


def compare(old: Path, new: Path, parts: list[str], within: float | None) -> bool:
    """Print how the answers in two folders differ; return whether there is no exception."""
    print(f'{"part":14} {"rows":>8} {"same bits":>10} {"within":>8} {"exceptions":>11}')
    listed = []
    for part in parts:
        files = [folder / f'{part}.npz' for folder in (old, new)]
        if missing := [str(file) for file in files if not file.exists()]:
            print(f'{part:14} not there: {", ".join(missing)}')
            listed += [f'{part}: only in one folder'] if len(missing) == 1 else []
            continue
        (asked, a), (asked_too, b) = map(read_answers, files)
        counts = np.zeros(4, int)
        for group in {**a, **b}:
            found, exceptions = compare_group(a.get(group, {}), b.get(group, {}), within)
            counts += found
            listed += [f'{part}: {group}: {text}' for text in exceptions[:LISTED]]
            if more := exceptions[LISTED:]:
                listed.append(f'{part}: {group}: and {len(more)} more')
        rows, same, near, others = counts
        note = '' if asked == asked_too else '  warning: the questions were different ones'
        print(f'{part:14} {rows:8} {same:10} {near:8} {others:11}{note}')
    print('\n'.join(listed) or 'no exceptions')
    return not listed


def read_answers(file: Path) -> tuple[str, dict[str, Table]]:
    """Return the hash of the questions and the fields of every group of answers."""
    tables: dict[str, Table] = defaultdict(dict)
    with np.load(file, allow_pickle=False) as arrays:
        for key in set(arrays.files) - {'questions'}:
            group, _, field = key.rpartition('/')
            tables[group][field] = arrays[key]
        return str(arrays['questions']), dict(sorted(tables.items()))


def compare_group(a: Table, b: Table, within: float | None) -> tuple[np.ndarray, list[str]]:
    """Return counts (4,) of rows (in either table, same bits, near, exceptions), and texts."""
    nothing = np.empty(0, 'U1')
    labels, i, j = np.intersect1d(
        a.get('label', nothing), b.get('label', nothing), return_indices=True
    )
    texts: dict[str, list[str]] = defaultdict(list)
    for side, table in (('old', a), ('new', b)):
        for label in np.setdiff1d(table.get('label', nothing), labels):
            texts[label].append(f'only in the {side} answers')
    count, same = len(labels) + len(texts), np.ones(len(labels), bool)
    for field in sorted(a.keys() | b.keys()) if len(labels) else ():
        if field not in a or field not in b or a[field].shape[1:] != b[field].shape[1:]:
            same[:] = False
            texts['all rows'].append(f'{field} has another shape')
            continue
        kind = np.result_type(a[field], b[field])
        x, y = (np.ascontiguousarray(column, kind) for column in (a[field][i], b[field][j]))
        raw = [column.reshape(len(labels), -1).view(np.uint8) for column in (x, y)]
        equal = (raw[0] == raw[1]).all(axis=1)
        same &= equal
        for row in np.flatnonzero(~equal):
            if text := difference(field, np.atleast_1d(x[row]), np.atleast_1d(y[row]), within):
                texts[labels[row]].append(text)
    exceptions = [f'{label}: {"; ".join(text)}' for label, text in texts.items()]
    others = count - len(labels) + sum(label in texts for label in labels)
    if 'all rows' in texts:
        others = count
    return np.array([count, same.sum(), count - same.sum() - others, others]), exceptions


def difference(field: str, x: np.ndarray, y: np.ndarray, within: float | None) -> str:
    """Describe how a field of a row differs; empty if it is equal, or may differ."""
    if within is not None and field in EFFORT:
        return ''
    if x.dtype.kind != 'f':
        k = tuple(np.argwhere(x != y)[0].tolist())
        return f'{field}{list(k) if x.size > 1 else ""} {x[k]} -> {y[k]}'
    with np.errstate(invalid='ignore'):
        gap = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
    gap = np.where(np.isnan(gap), np.inf, gap)
    most, first = float(gap.max()), np.argwhere(gap > (within or 0.0))
    if within is not None and not len(first):
        return ''
    where = f', first at {first[0].tolist()}' if len(first) and x.size > 1 else ''
    return f'{field} {"is another branch" if most > BRANCH else "differs"} by {most:.2g}{where}'


# --- times ---------------------------------------------------------------------------------------

ROBOTS = ('panda', 'ur5e', 'iiwa14', 'pr2_like')
ARMS = ('ur5e', 'kr', 'puma', 'panda', 'iiwa14', 'three parallel')
# Kinds of blocks (`regression_questions.seconds`), and the robots of each.
TIMED = dict.fromkeys(('single', 'batch', 'tick', 'near', 'many', 'many near'), ROBOTS) | {
    'form': ARMS,
    'forms': ARMS,
}
START = """
import time
import ik_core as ik
load = getattr(ik, 'load_urdf', None) or ik.load_robot  # before and after December 2026
robot = load({urdf!r})
goal = ik.PoseTask('panda_hand', position=[0.4, 0.0, 0.5], quaternion=[1, 0, 0, 0])
assert ik.solve(ik.IkProblem(robot, [goal])).success
print(time.process_time())
"""


class Worker:
    """A process that imports a checkout and times blocks of goals."""

    def __init__(self, checkout: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(QUESTIONS), 'time', str(checkout)],
            env=environment(checkout), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.communicate()

    def seconds(self, *block: str | int) -> float:
        """Return the time [s] per goal of a block, as `regression_questions.seconds`."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(block), file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline() or 'nan')


def first_starts(checkout: Path, cached: int = 1) -> tuple[float, float]:
    """Return CPU times [s] of a process until its first solution, without and with a cache."""
    program = START.format(urdf=str(HERE.parent / 'urdf' / 'panda.urdf'))
    with tempfile.TemporaryDirectory() as folder:
        run = lambda: subprocess.run(  # noqa: E731
            [sys.executable, '-c', program], env=environment(checkout, XDG_CACHE_HOME=folder),
            cwd=folder, check=True, capture_output=True, text=True,
        )  # fmt: skip
        times = [float(run().stdout) for _ in range(1 + cached)]
    return times[0], float(np.median(times[1:]))


def time_both(
    old: Path, new: Path, pairs: int, starts: int, most: float, kinds: Iterable[str] = TIMED
) -> bool:
    """Print all times and their ratios new / old; return whether medians are at most `most`."""
    times: dict[str, list[list[float]]] = defaultdict(list)
    blocks = [(what, name) for what in kinds for name in TIMED[what]]
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(checkout)) for checkout in (old, new)]
        for block in range(1 + pairs):
            for what, name in blocks:
                pair = [0.0, 0.0]
                for k in (0, 1) if block % 2 else (1, 0):
                    pair[k] = workers[k].seconds(what, name, block)
                times[f'{what}, {name} [us]'] += [pair] if block else []  # 0: warm-up
    for k in range(starts):
        order = (old, new) if k % 2 else (new, old)
        found = {checkout: first_starts(checkout) for checkout in order}
        for i, what in enumerate(('first start, nothing compiled [s]', 'first start [s]')):
            times[what].append([found[old][i], found[new][i]])
    slower = False
    print(f'{"":34} {"old":>9} {"new":>9} {"ratio":>7} {"quartiles":>15} {"pairs":>6}')
    for what, values in times.items():
        low, ratio, high = np.percentile([b / a for a, b in values], [25, 50, 75])
        unit = 1e6 if '[us]' in what else 1.0
        a, b = unit * np.median(values, axis=0)
        slower |= not ratio <= most
        print(f'{what:34} {a:9.4g} {b:9.4g} {ratio:7.3f} {low:7.3f} - {high:.3f} {len(values):6}'
              f'{"" if ratio <= most else "  slower"}')  # fmt: skip
    return not slower


def history_row(checkout: Path, issue: str, tests: str) -> dict[str, str]:
    """Return a row of history.csv: times per solve and tick of the Panda, medians of 20 blocks."""
    times = {}
    with Worker(checkout) as worker:
        for what in ('single', 'batch', 'tick'):
            blocks = [worker.seconds(what, 'panda', block) for block in range(21)]
            times[what] = f'{1e6 * np.median(blocks[1:]):.4g}'
    first, cached = first_starts(checkout, cached=3)
    packages = [checkout / name for name in ('ik_core', 'ik_node', 'ik_viewer')]
    files = [file for package in packages for file in package.rglob('*.py')]
    lines = sum(len(file.read_text(encoding='utf-8').splitlines()) for file in files)
    return {
        'issue': issue,
        'commit': commit_of(checkout),
        'lines_shipped': str(lines),
        'first_solve_s': f'{first:.3g}',
        'cached_first_solve_s': f'{cached:.3g}',
        'warm_solve_us': times['single'],
        'batch_us': times['batch'],
        'tick_us': times['tick'],
        'tests_s': tests,
    }


def append_row(path: Path, row: dict[str, str]) -> None:
    """Append a row to a CSV file; a new file begins with the names of its columns."""
    is_new = not path.exists()
    with path.open('a', encoding='utf-8', newline='') as file:
        writer = csv.DictWriter(file, list(row), lineterminator='\n')
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def main(arguments: list[str] | None = None) -> int:
    """Run a command of the module's docstring; return 1 for exceptions or times above `--most`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest='command', required=True)
    folders = {
        'write': ['checkout'], 'compare': ['old', 'new'], 'time': ['old', 'new'],
        'history': ['checkout'],
    }  # fmt: skip
    added = {name: commands.add_parser(name) for name in folders}
    for name, names in folders.items():
        for checkout in names:
            added[name].add_argument(checkout, type=lambda text: Path(text).resolve())
    added['write'].add_argument('--out', type=Path, help='folder of the answers')
    added['write'].add_argument('--share', type=float, default=1.0, help='of the questions')
    for name in ('write', 'compare'):
        added[name].add_argument('--parts', nargs='+', choices=PARTS, default=PARTS)
    added['compare'].add_argument('--within', type=float, help='allowed difference [rad or m]')
    added['time'].add_argument('--kinds', nargs='+', choices=TIMED, default=list(TIMED))
    added['time'].add_argument('--pairs', type=int, default=20)
    added['time'].add_argument('--starts', type=int, default=3, help='pairs of first starts')
    added['time'].add_argument('--most', type=float, default=1.05, help='median ratio')
    added['history'].add_argument('--issue', required=True)
    added['history'].add_argument('--tests', default='', help='[s] that `make test` took')
    added['history'].add_argument('--out', type=Path, default=HISTORY)
    given = parser.parse_args(arguments)
    if given.command == 'write':
        folder = (given.out or answers_of(given.checkout)).resolve()
        return write(given.checkout, folder, given.parts, given.share)
    if given.command == 'compare':
        both = answers_of(given.old), answers_of(given.new)
        return 0 if compare(*both, given.parts, given.within) else 1
    if given.command == 'time':
        is_fast = time_both(
            given.old, given.new, given.pairs, given.starts, given.most, given.kinds
        )
        return 0 if is_fast else 1
    row = history_row(given.checkout, given.issue, given.tests)
    append_row(given.out, row)
    print(', '.join(f'{name} {value}' for name, value in row.items()))
    return 0


if __name__ == '__main__':
    sys.exit(main())
