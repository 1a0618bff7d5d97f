# SPDX-License-Identifier: Apache-2.0
"""Runs what pages show: `python -m support.page_runner`, for lines of python|shell, PAGE, ROBOT,
FOLDER.

Tabs separate the words of a line. ROBOT is the shipped robot that pages call my_robot.urdf; the
folder is empty. A fork of the process runs each page, so that the library is imported once, and
without numba: most pages would compile for longer than they run. What a page prints is in
FOLDER.txt. Answers are exit codes: 0 all as the page says, 1 not, 77 a module is missing that not
everybody has.
"""

import contextlib
import doctest
import importlib.util
import io
import os
import re
import shutil
import sys
import traceback
from pathlib import Path

import ik_core as ik
from ik_core.cli.main import main as ik_command
from support.pages import blocks
from support.places import URDF
from support.shell_lines import commands

COMPARE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SKIPPED = 77
# What pages import that is not installed everywhere, and what to look for
OPTIONAL = {
    'pinocchio': 'pinocchio',
    'geometry_msgs': 'geometry_msgs',
    'sensor_msgs': 'sensor_msgs',
    'ik_viewer': 'viser',
}
# Calls that need such packages
DRAWING = {'ik.show(': 'viser', 'ik.plot(': 'matplotlib', '.to_rerun(': 'rerun'}
# Subcommands of `ik` that are run; the arguments of the others are parsed
QUICK = {'info', 'solve', 'check', 'linkage', 'retarget'}


class Missing(Exception):
    """A module that not everybody has."""


def furnish(robot):
    """Make the robot, motion and poses that the pages call the reader's own."""
    shutil.copy(URDF / f'{robot}.urdf', 'my_robot.urdf')
    panda = ik.load_urdf('panda')
    still = ik.motion.Motion(panda.joint_names, [panda.middle_configuration] * 3, period=0.1)
    ik.motion.save_motion(still, 'wave.csv')
    Path('world.yaml').write_text('floor: {plane: true, xyz: [0, 0, -0.1]}\n')
    Path('poses.csv').write_text('0.4,0,0.5\n0.4,0.1,0.5\n')


def run_python(page):
    """Run its Python blocks in one go; a `text` block after one says what that prints."""
    names, printed = {'__name__': 'page'}, ''
    for block in blocks(page):
        if block.kind == 'python':
            printed = _run(page, block, names)
            assert not any(word in printed for word in ('nan', 'Traceback')), block.text
        elif block.kind == 'text' and printed:
            same = doctest.OutputChecker().check_output(block.text, printed, COMPARE)
            assert same, f'{page.name}:{block.line} says\n{block.text}\nit prints\n{printed}'
            printed = ''


def _run(page, block, names):
    """Return the output of a block, run with the names that earlier blocks defined."""
    for module in re.findall(r'^(?:import|from) (\w+)', block.text, re.M):
        if module in OPTIONAL and importlib.util.find_spec(OPTIONAL[module]) is None:
            raise Missing(OPTIONAL[module])
    for call, module in DRAWING.items():
        if call in block.text and importlib.util.find_spec(module) is None:
            raise Missing(module)
    printed = io.StringIO()
    code = compile('\n' * block.line + block.text, page.name, 'exec')
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def runs(words):
    """Return whether a command is one of `ik` that ends soon, and about nobody else's files."""
    excluded = '--live' in words or any('.amc' in word for word in words)
    return words[0] == 'ik' and words[1] in QUICK and not excluded


def run_shell(page):
    """Run its quick `ik` commands, in their order."""
    for block in blocks(page):
        for words in commands(block) if block.kind == 'sh' else ():
            if runs(words):
                assert ik_command(words[1:]) == 0, f'{page.name}:{block.line}: {words}'


def main(what, page, robot):
    """Run the blocks of one kind; the exit code."""
    furnish(robot)
    try:
        {'python': run_python, 'shell': run_shell}[what](Path(page))
    except Missing as missing:
        print(f'{missing} is not installed')
        return SKIPPED
    return 0


def serve():
    """Run the page of each line of stdin in a fork, and print its exit code."""
    for line in sys.stdin:
        what, page, robot, folder = line.rstrip('\n').split('\t')
        child = os.fork()
        if not child:
            os._exit(run_apart(what, page, robot, folder))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def run_apart(what, page, robot, folder):
    """Run a page in its folder with its own output; the exit code."""
    os.chdir(folder)
    with open(os.devnull) as nothing, open(f'{folder}.txt', 'w') as printed:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
        os.dup2(printed.fileno(), sys.stdout.fileno())
        os.dup2(printed.fileno(), sys.stderr.fileno())
    try:
        return main(what, page, robot)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == '__main__':
    serve()
