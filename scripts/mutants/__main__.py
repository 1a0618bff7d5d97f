# SPDX-License-Identifier: Apache-2.0
"""Change one place of the sources at a time, and list which of these mutants no test sees.

    python scripts/mutants before.csv                         # 25 of each group
    python scripts/mutants after.csv --first before.csv       # tests that killed come first
    python scripts/mutants few.csv --group tasks --each 5

Kernels run as plain Python in copies of the tree, so no library is built. Each test file of a
group is first run without a mutant, instrumented: which tests pass, how long they take, and the
drawn places that they execute. A mutant is then judged by the tests that execute it, those of
files with its name and quick ones first, for half a minute of the processor at most. Verdicts
that the list has are kept, so a run that was interrupted goes on; delete rows to have them judged
again.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from typing import Any

from mutations import Mutant, draw, instrumented, mutated

ROOT = Path(__file__).resolve().parents[2]
SCRATCH = ROOT / 'build' / 'mutants'
# Folders of sources and of their tests; a folder within another one is a group of its own
GROUPS = {
    'governor': ('ik_core/tracking/governor', 'test/core/tracking/governor'),
    'tracker': ('ik_core/tracking', 'test/core/tracking'),
    'tasks': ('ik_core/tasks', 'test/core/tasks'),
    'solvers': ('ik_core/solvers', 'test/core/solvers'),
    'collision': ('ik_core/collision', 'test/core/collision'),
    'node': ('ik_node', 'test/node'),
}
# Programs for people to look at, and figures
WITHOUT = ('ik_node/tools/', 'test/node/tools/', 'ik_core/tracking/recording/figure.py')
PROCESSES = 2
# [s] Of the processor, for which a mutant is judged, and a test file measured at most
SECONDS = 30.0
MEASURED = 300.0  # [s] For which the test files of a group are measured together
LONGEST = 10.0  # [s] Tests that take longer judge nothing: other tests take their place
WAITED = 300.0  # [s] For which a test may wait, however little it computes
COLUMNS = [*Mutant._fields, 'verdict', 'test']


def main() -> None:
    """Judge the mutants that the list has no verdict on; print the count of each verdict."""
    parser = argparse.ArgumentParser(description='mutants that no test sees')
    parser.add_argument('out', type=Path, metavar='CSV')
    parser.add_argument('--each', type=int, default=25, help='mutants of a group (25)')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--group', action='append', choices=GROUPS, help='only this (repeatable)')
    parser.add_argument('--first', type=Path, metavar='CSV', help='a list whose tests come first')
    asked = parser.parse_args()
    os.nice(15)
    names = [path for path in tracked() if not path.startswith(WITHOUT)]
    groups = {name: GROUPS[name] for name in asked.group or GROUPS}
    drawn = {
        name: draw(name, ROOT, files_in(names, sources, ''), asked.each, asked.seed)
        for name, (sources, _) in groups.items()
    }
    killers = {key_of(row): row['test'] for row in rows_of(asked.first)}
    known = {key_of(row) for row in rows_of(asked.out)}
    with Scratch() as scratch, asked.out.open('a', newline='') as file:
        table = csv.DictWriter(file, COLUMNS)
        if not known:
            table.writeheader()
        for name, (_, tests) in groups.items():
            left = [each for each in drawn[name] if key_of(each._asdict()) not in known]
            if not left:
                continue
            measured = scratch.measure(drawn[name], files_in(names, tests, 'test_'))
            for row in scratch.judge(drawn[name], left, measured, killers):
                table.writerow(row)
                file.flush()
                print(*(row[each] for each in ('file', 'line', 'operator', 'verdict', 'test')))
    counts = Counter((row['group'], row['verdict']) for row in rows_of(asked.out))
    for (group, verdict), count in sorted(counts.items()):
        print(f'{group:10} {verdict:10} {count}')


def tracked() -> list[str]:
    """Return the files of the tree, without what is built."""
    command = ['git', 'ls-files', '-co', '--exclude-standard']
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def files_in(names: Iterable[str], folder: str, prefix: str) -> list[str]:
    """Return the Python files of a group's folder, without those of a group within."""
    within = [each for pair in GROUPS.values() for each in pair if each.startswith(f'{folder}/')]
    return [
        name
        for name in names
        if name.startswith(f'{folder}/') and name.endswith('.py')
        if name.rpartition('/')[2].startswith(prefix)
        if not any(name.startswith(f'{each}/') for each in within)
    ]


def rows_of(path: Path | None) -> list[dict[str, str]]:
    """Return the rows of a list; none if it does not exist."""
    if path is None or not path.exists():
        return []
    with path.open(newline='') as file:
        return [*csv.DictReader(file)]


def key_of(row: dict[str, Any]) -> tuple[str, ...]:
    """Return what identifies a mutant, wherever its line is."""
    return tuple(str(row[name]) for name in ('file', 'operator', 'was', 'becomes', 'place'))


class Scratch:
    """Copies of the tree: one for each process, and for each group one that is instrumented."""

    def __init__(self) -> None:
        SCRATCH.mkdir(parents=True, exist_ok=True)
        self.folder = TemporaryDirectory(prefix='mutants-')
        self.runners: Queue[Runner] = Queue()

    def __enter__(self) -> Scratch:
        for number in range(PROCESSES):
            self.runners.put(Runner(self._copy(str(number))))
        return self

    def __exit__(self, *_: object) -> None:
        for _ in range(PROCESSES):
            self.runners.get().close()
        self.folder.cleanup()

    def _copy(self, name: str) -> Path:
        copy = Path(self.folder.name) / name
        for file in tracked():
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, copy / file)
        shutil.copy2(copy / 'scripts/mutants/reached.py', copy)
        return copy

    def measure(self, drawn: list[Mutant], tests: list[str]) -> list[dict[str, Any]]:
        """Return the reports of the tests that pass without a mutant.

        `reached` are the numbers of the mutants whose place a test executes.
        """
        copy = self._copy(drawn[0].group)
        places: dict[str, dict[int, int]] = {}
        for number, mutant in enumerate(drawn):
            places.setdefault(mutant.file, {})[mutant.place] = number
        for file, numbers in places.items():
            (copy / file).write_text(instrumented(ROOT / file, numbers))
        runners: Queue[Runner] = Queue()
        for _ in range(PROCESSES):
            runners.put(Runner(copy))
        whole = min(SECONDS, MEASURED / len(tests))

        def measured(test: str) -> list[dict[str, Any]]:
            """Measure a file, or return what was measured of the same file with its support."""
            text = (copy / test).read_text()
            support = sorted((copy / 'test/support').glob('*.py'))
            read = [text, *(each.read_text() for each in support if each.stem in text)]
            key = sha256(''.join([*read, str(places)]).encode()).hexdigest()
            kept = SCRATCH / f'{key}.jsonl'
            if not kept.exists():
                runner = runners.get()
                reports, _ = runner.run([test], most=(LONGEST, WAITED), whole=whole)
                runners.put(runner)
                print(f'{test}: {len(reports)} tests')
                if not reports:
                    return []
                kept.write_text('\n'.join(map(json.dumps, reports)))
            return [json.loads(line) for line in kept.read_text().splitlines()]

        with ThreadPoolExecutor(PROCESSES) as pool:
            found = [report for reports in pool.map(measured, tests) for report in reports]
        for _ in range(PROCESSES):
            runners.get().close()
        return [report for report in found if report['outcome'] == 'passed']

    def judge(
        self,
        drawn: list[Mutant],
        left: list[Mutant],
        measured: list[dict[str, Any]],
        killers: dict[Any, str],
    ) -> Iterable[dict[str, Any]]:
        """Yield the row of each mutant that is left, as soon as it is judged."""

        def judged(mutant: Mutant) -> dict[str, Any]:
            number, first = drawn.index(mutant), killers.get(key_of(mutant._asdict()), '')
            tests = chosen([each for each in measured if number in each['reached']], mutant, first)
            runner = self.runners.get()
            try:
                return {**mutant._asdict(), **verdict_on(runner, mutant, tests)}
            finally:
                self.runners.put(runner)

        with ThreadPoolExecutor(PROCESSES) as pool:
            yield from pool.map(judged, left)


def chosen(
    tests: list[dict[str, Any]], mutant: Mutant, first: str
) -> dict[str, tuple[float, float]]:
    """Return the tests that judge a mutant, in order.

    With each how long it may compute and wait [s]: several times as long as without a mutant.
    """
    words = {*Path(mutant.file).stem.split('_')}

    def order(test: dict[str, Any]) -> tuple[Any, ...]:
        file = test['test'].partition('::')[0]
        is_other = not words & {*Path(file).stem.split('_')}
        return test['test'] != first, is_other, test['computed']

    found, whole = {}, 0.0
    if (ROOT / first.partition('::')[0]).is_file():  # also if it was not measured again
        found[first] = 3.0 * LONGEST, WAITED
    for test in sorted(tests, key=order):
        whole += test['computed']
        if whole < SECONDS:
            found[test['test']] = 3.0 + 3.0 * test['computed'], 20.0 + 10.0 * test['waited']
    return found


def verdict_on(
    runner: Runner, mutant: Mutant, tests: dict[str, tuple[float, float]]
) -> dict[str, str]:
    """Return the verdict on a mutant by these tests, and the test that saw it."""
    if not tests:
        return {'verdict': 'survived', 'test': 'no measured test executes it'}
    path = runner.copy / mutant.file
    try:
        path.write_text(mutated(ROOT / mutant.file, mutant))
        forget(path)
        files = [*dict.fromkeys(test.partition('::')[0] for test in tests)]
        most = LONGEST, WAITED
        reports, code = runner.run(files, '-x', tests=tests, most=most, whole=SECONDS)
    finally:
        shutil.copy2(ROOT / mutant.file, path)
        forget(path)
    seen = [report for report in reports if report['outcome'] in ('failed', 'timed out')]
    if seen:
        verdict = 'killed' if seen[0]['outcome'] == 'failed' else 'timed out'
        return {'verdict': verdict, 'test': seen[0]['test']}
    if not reports and code not in (0, 5, -9):  # 5: pytest found none of the tests
        return {'verdict': 'killed', 'test': f'no test begins: pytest ends with {code}'}
    return {'verdict': 'survived', 'test': f'{len(reports)} of {len(tests)} tests'}


def forget(path: Path) -> None:
    """Remove the compiled file of a module: sources of the same second and size look alike."""
    for compiled in (path.parent / '__pycache__').glob(f'{path.stem}.*.pyc'):
        compiled.unlink()


class Runner:
    """A process that runs tests in a copy of the tree."""

    def __init__(self, copy: Path) -> None:
        self.copy = copy
        self.process = subprocess.Popen(
            [sys.executable, str(copy / 'scripts/mutants/run_tests.py')],
            cwd=copy,
            env={**os.environ, 'NUMBA_DISABLE_JIT': '1', 'PYTHONPATH': f'{copy}:{copy}/test'},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait()

    def run(self, files: list[str], *options: str, **job: Any) -> tuple[list[dict[str, Any]], int]:
        """Run tests; return their reports, and pytest's exit code: -9 if it took too long.

        A report has the test's name and outcome, how long it computed and waited [s], and the
        places that it reached.
        """
        with TemporaryDirectory(prefix='mutants-job-') as folder:
            path, out = Path(folder, 'job.json'), Path(folder, 'out.jsonl')
            out.touch()
            job = {'tests': {}, **job, 'files': files, 'options': options, 'out': str(out)}
            path.write_text(json.dumps(job))
            print(path, file=self.process.stdin, flush=True)
            code = int(self.process.stdout.readline())
            return [json.loads(line) for line in out.read_text().splitlines()], code


if __name__ == '__main__':
    main()
