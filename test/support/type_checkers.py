# SPDX-License-Identifier: Apache-2.0
"""Runs mypy --strict and pyright over what users copy: `python -m support.type_checkers`.

That is examples/ and the Python blocks of README and docs, in which nothing may be reported, and
`planted_faults.py`, in which both have to report the lines that end in `# fault` and no others.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from support.pages import PAGES, blocks, name
from support.places import ROOT

PLANTED = Path(__file__).with_name('planted_faults.py')
MARK = '# fault'
# Pages with the examples of the folder, and with parts of files of the package
PARTS = {ROOT / 'docs' / 'examples.md', ROOT / 'docs' / 'develop' / 'recipes.md'}
# Rules about packages that are not installed here, or have no types
OF_OTHERS = {
    'import-not-found',
    'import-untyped',
    'no-untyped-call',
    'reportMissingImports',
    'reportMissingModuleSource',
}
SETTINGS = {
    'extraPaths': [str(ROOT)],
    'useLibraryCodeForTypes': False,  # guesses at packages without types
    'reportPossiblyUnboundVariable': False,  # after loops over a range, which is not empty
}


class Report(NamedTuple):
    """A line that a checker complains about; `line` counts from 1."""

    file: str
    line: int
    message: str


def found(checker):
    """Return the path of a checker, beside this Python or on PATH; None if there is none."""
    return shutil.which(
        checker, path=f'{Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}'
    )


def mypy(folder):
    """Run mypy over the files of a folder; list its reports."""
    options = ('--strict', '--follow-imports=silent', '--config-file=', '--output=json')
    cache = f'--cache-dir={ROOT / ".mypy_cache" / "strict"}'
    python = f'--python-executable={sys.executable}'
    lines = _run('mypy', *options, cache, python, *sorted(folder.glob('*.py'))).splitlines()
    rows = [json.loads(line) for line in lines]
    return [
        Report(Path(row['file']).name, row['line'], row['message'])
        for row in rows
        if row['severity'] == 'error' and _counts(row['code'], row['message'])
    ]


def pyright(folder):
    """Run pyright over the files of a folder; list its reports."""
    (folder / 'pyrightconfig.json').write_text(json.dumps(SETTINGS))
    said = _run('pyright', '--outputjson', '--pythonpath', sys.executable, '--project', folder)
    rows = json.loads(said)['generalDiagnostics']
    return [
        Report(Path(row['file']).name, row['range']['start']['line'] + 1, row['message'])
        for row in rows
        if row['severity'] == 'error' and _counts(row.get('rule'), row['message'])
    ]


CHECKERS = {'mypy': mypy, 'pyright': pyright}


def _run(checker, *arguments):
    """Run a checker; return what it prints."""
    path = found(checker)
    assert path, f'{checker} is not installed: make lint installs it'
    environment = {**os.environ, 'MYPYPATH': str(ROOT)}
    done = subprocess.run(
        [path, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def _counts(rule, message):
    """Return whether a report is about this project."""
    return rule not in OF_OTHERS or '"ik_' in message


def write_sources(folder):
    """Write all that is checked into a folder; return {file: the name that users know it by}."""
    names = {}
    for path in sorted((ROOT / 'examples').glob('*.py')):
        names[path.name] = name(path)
        shutil.copy(path, folder)
    for page in PAGES:
        text = _python_of(page)
        if page not in PARTS and text.strip():
            file = f'{name(page).replace("/", "_").replace(".", "_")}.py'
            names[file] = name(page)
            (folder / file).write_text(text, encoding='utf-8')
    names[PLANTED.name] = name(PLANTED)
    shutil.copy(PLANTED, folder)
    return names


def _python_of(page):
    """Return the Python blocks of a page, each at the lines where it stands in the page."""
    lines = [''] * len(page.read_text('utf-8').splitlines())
    for block in blocks(page):
        if block.kind == 'python':
            own = block.text.splitlines()
            lines[block.line : block.line + len(own)] = own
    return '\n'.join(lines) + '\n'


def differences(folder, reports):
    """List the reports where no line is marked, and the marked lines without a report."""
    reported = {(report.file, report.line): report.message for report in reports}
    marked = {
        (path.name, number): f'not found: {line.removesuffix(MARK).strip()}'
        for path in folder.glob('*.py')
        for number, line in enumerate(path.read_text('utf-8').splitlines(), 1)
        if line.endswith(MARK)
    }
    wrong = {**marked, **reported}
    return [Report(*place, wrong[place]) for place in sorted(reported.keys() ^ marked.keys())]


def main():
    """Print what is wrong; return the exit code."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        names = write_sources(Path(folder))
        for checker, check in CHECKERS.items():
            for file, line, text in differences(Path(folder), check(Path(folder))):
                wrong.append(f'{names[file]}:{line}: {checker}: {text}')
    print('\n'.join(wrong or ['examples, README and docs pass mypy --strict and pyright']))
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main())
