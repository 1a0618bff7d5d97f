"""Functions and modules stay short; the formatter lays out all but matrices and the like."""

import ast
import statistics
from functools import cache
from pathlib import Path

import pytest
from support.places import ROOT

FOLDERS = ('ik_core', 'ik_node', 'ik_viewer', 'launch', 'benchmark', 'test')
MEDIAN, NINE_OF_TEN, LONGEST = 7, 20, 60
"""Lines of function bodies; kernels, which can't call Python, may be longer than the last."""
MODULE = 500
MANY = 8
"""Entries from which a literal, a call or a kernel's parameters may be laid out in rows."""
KERNEL_DECORATORS = ('njit', 'inner')
LOOPS = (ast.For, ast.While, ast.With)


def sources():
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob('*.py'))


def functions(tree):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def is_kernel(function):
    return any(ast.unparse(d).startswith(KERNEL_DECORATORS) for d in function.decorator_list)


def body_length(function, lines):
    """Lines of code in the body: docstring, comments and blank lines don't count."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    inside = (line.strip() for line in lines[body[0].lineno - 1 : body[-1].end_lineno])
    return sum(bool(line) and not line.startswith('#') for line in inside)


@cache
def looked_through():
    """Of all files (lines, name, whether it is a kernel) of each function; the files with loops
    that are in no function."""
    found, with_loops = [], []
    for path in sources():
        text = path.read_text(encoding='utf-8')
        tree, lines = ast.parse(text), text.splitlines()
        for function in functions(tree):
            name = f'{path.name}:{function.lineno} {function.name}'
            found.append((body_length(function, lines), name, is_kernel(function)))
        if any(isinstance(statement, LOOPS) for statement in tree.body):
            with_loops.append(path)
    return found, with_loops


def lengths():
    """(lines, name, whether it is a kernel) of every function."""
    return looked_through()[0]


def is_data(tree):
    """Whether a module only says values: no functions or classes."""
    return not any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in ast.walk(tree))


def entries(node):
    """How many entries the largest literal or list of arguments of a statement has."""

    def count(part):
        if isinstance(part, (ast.Tuple, ast.List)):
            return sum(count(element) for element in part.elts)
        return 1

    literals = [count(part) for part in ast.walk(node) if isinstance(part, (ast.Tuple, ast.List))]
    calls = [len(part.args) for part in ast.walk(node) if isinstance(part, ast.Call)]
    own = [len(node.args.args)] if isinstance(node, ast.FunctionDef) else []
    return max([0, *literals, *calls, *own])


def end_of(statement):
    """The last line of a statement, of a function that of its header."""
    body = getattr(statement, 'body', None)
    return body[0].lineno - 1 if body else statement.end_lineno


def laid_out_by_hand(text):
    """The lines of statements that ruff is asked to leave alone though they are not long."""
    lines = [n for n, line in enumerate(text.splitlines(), 1) if line.endswith('# fmt: skip')]
    if not lines:
        return []
    statements = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    found = []
    for number in lines:
        around = [node for node in statements if node.lineno <= number <= end_of(node)]
        smallest = min(around, key=lambda node: end_of(node) - node.lineno)
        if entries(smallest) < MANY:
            found.append(number)
    return found


def test_bodies_are_counted_without_docstrings_comments_and_blank_lines():
    text = 'def f():\n    """Says.\n\n    More."""\n    # why\n    a = 1\n\n    return (\n a)\n'
    [function] = functions(ast.parse(text))
    assert body_length(function, text.splitlines()) == 3


def test_matrices_and_long_lists_may_be_laid_out_by_hand():
    field = "class A:\n    x: int = option(1, 'doc',\n        bounds=(0, 1))  # fmt: skip\n"
    matrix = 'R = [\n    [1, 0, 0],\n    [0, 1, 0], [0, 0, 1],\n]  # fmt: skip\n'
    kernel = 'def f(\n    a, b, c, d,\n    e, f, g, h,\n):  # fmt: skip\n    return 1\n'
    assert laid_out_by_hand(field) == [3]
    assert laid_out_by_hand(kernel.replace('a, b, ', '')) == [4]
    assert laid_out_by_hand(matrix) == []
    assert laid_out_by_hand(kernel) == []


def test_functions_are_short():
    counts = sorted(length for length, _, _ in lengths())
    assert len(counts) > 1000
    assert statistics.median(counts) <= MEDIAN
    assert counts[len(counts) * 9 // 10] <= NINE_OF_TEN


def test_no_function_is_long_but_kernels():
    long = [(n, name) for n, name, kernel in lengths() if n > LONGEST and not kernel]
    assert not long


@pytest.mark.parametrize('path', sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_is_long_but_data(path: Path):
    text = path.read_text(encoding='utf-8')
    lines = text.count('\n')
    assert lines <= MODULE or is_data(ast.parse(text))


def test_modules_have_no_loops_whose_variables_would_be_names_of_theirs():
    assert looked_through()[1] == []


@pytest.mark.parametrize(
    'path',
    [path for path in sources() if path.parts[len(ROOT.parts)] != 'test'],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_formatter_lays_out_all_else(path):
    text = path.read_text(encoding='utf-8')
    assert laid_out_by_hand(text) == []
