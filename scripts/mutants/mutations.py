# SPDX-License-Identifier: Apache-2.0
"""One-place mutants of a source file: what each changes, and the file with it.

Only bodies of functions are mutated. Texts, errors that are raised, annotations and numbers that
tune (tolerances below 1e-4, counts from 100 on) are not: no behaviour that is promised depends on
them.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

BOUNDARY: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip
NEGATED: dict[type, type] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OTHER_SIGN: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip
OTHER_EXTREME = {
    'min': 'max', 'minimum': 'maximum', 'least': 'most', 'argmin': 'argmax', 'any': 'all',
}  # fmt: skip
OTHER_EXTREME |= {other: name for name, other in OTHER_EXTREME.items()}
DROPPED_CALLS = {'abs', 'absolute', 'clip', 'clamp', 'copy', 'sorted', 'reversed'}
UNSWAPPED = {'isinstance', 'issubclass', 'getattr', 'hasattr', 'setattr', 'setdefault', '__init__'}
TEXTS = (
    ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Global, ast.pattern,
)  # fmt: skip
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
UNREAD = {'annotation', 'returns', 'decorator_list'}


class Mutant(NamedTuple):
    """A mutant: the `place`-th candidate of a file."""

    group: str
    file: str
    line: int
    operator: str
    was: str
    becomes: str
    place: int


def _with(node: Any, **fields: Any) -> Any:
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})


def _name_of(call: ast.Call) -> str:
    return getattr(call.func, 'attr', getattr(call.func, 'id', ''))


def _is_starred(arguments: list[ast.expr]) -> bool:
    return any(isinstance(each, ast.Starred) for each in arguments)


def _renamed(call: ast.Call, name: str) -> ast.Call:
    field = 'attr' if isinstance(call.func, ast.Attribute) else 'id'
    return _with(call, func=_with(call.func, **{field: name}))


def _variants(node: Any, is_index: bool) -> Iterator[tuple[str, Any]]:
    """Yield what a node may become instead, with the operator's name."""
    match node:
        case ast.Compare(ops=[op]):
            if type(op) in BOUNDARY:
                yield 'boundary', _with(node, ops=[BOUNDARY[type(op)]()])
            if type(op) in NEGATED:
                yield 'comparison', _with(node, ops=[NEGATED[type(op)]()])
        case ast.BinOp(left, op, right):
            if type(op) in OTHER_SIGN:
                yield 'sign', _with(node, op=OTHER_SIGN[type(op)]())
            if isinstance(op, ast.Sub | ast.Div | ast.MatMult):
                yield 'swapped', _with(node, left=right, right=left)
        case ast.AugAssign(op=op):
            if type(op) in OTHER_SIGN:
                yield 'sign', _with(node, op=OTHER_SIGN[type(op)]())
            yield 'dropped statement', ast.Pass()
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield 'sign', operand
        case ast.BoolOp(op, values):
            yield 'and/or', _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            yield 'and/or', values[0]
        case ast.Constant(bool() as value):
            yield 'constant', ast.Constant(not value)
        case ast.Constant(int() as value) if abs(value) < 100:
            yield 'index' if is_index else 'constant', ast.Constant(value + 1)
        case ast.Constant(float() as value) if value == 0.0 or 1e-4 <= abs(value) < 100.0:
            yield 'constant', ast.Constant(2.0 * value if value else 1.0)
        case ast.Subscript(slice=ast.Tuple([first, second, *rest]) as index):
            yield 'index', _with(node, slice=_with(index, elts=[second, first, *rest]))
        case ast.Call(func, args):
            name = _name_of(node)
            if name in OTHER_EXTREME:
                yield 'min/max', _renamed(node, OTHER_EXTREME[name])
            elif name in DROPPED_CALLS:
                kept = args[0] if args else getattr(func, 'value', None)
                if kept is not None:
                    yield 'dropped call', kept
            elif len(args) > 1 and name not in UNSWAPPED and not _is_starred(args[:2]):
                yield 'swapped', _with(node, args=[args[1], args[0], *args[2:]])
        case ast.IfExp(body=body, orelse=orelse):
            yield 'swapped', _with(node, body=orelse, orelse=body)
        case ast.If(orelse=[]):
            yield 'dropped statement', ast.Pass()
        case ast.Expr(ast.Call()) | ast.Continue():
            yield 'dropped statement', ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield 'dropped statement', ast.Pass()


def _inside(node: ast.AST, is_index: bool = False) -> Iterator[tuple[Any, str, Any]]:
    """Yield a node, an operator and what the node becomes, for all that is inside of a node."""
    for field, value in ast.iter_fields(node):
        if field in UNREAD or (isinstance(node, FUNCTIONS) and field == 'args'):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, TEXTS):
                continue
            within = field == 'slice' or (is_index and isinstance(child, ast.Tuple | ast.Slice))
            if isinstance(child, ast.Constant) and is_index:
                within = True
            for operator, other in _variants(child, within):
                yield child, operator, other
            yield from _inside(child, within)


def candidates(tree: ast.AST) -> list[tuple[Any, str, Any]]:
    """Return all mutants of a module: a node, the operator, and what the node becomes."""
    found = []
    outer = [tree]
    for node in outer:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                outer.append(child)
            elif isinstance(child, FUNCTIONS) and child.name not in ('__repr__', '__str__'):
                found += _inside(child)
    return [each for each in found if ast.unparse(each[0]) != ast.unparse(each[2])]


def draw(group: str, root: Path, files: list[str], count: int, seed: int) -> list[Mutant]:
    """Draw mutants, evenly over the operators, and of a line one at most.

    Each has a hash of its own, by which it is drawn: a file that changes leaves most of those of
    other files drawn.
    """
    by_operator: dict[str, list[tuple[str, Mutant]]] = {}
    for file in files:
        seen: Counter[tuple[str, str, str]] = Counter()
        for place, (node, operator, other) in enumerate(candidates(parse(root / file))):
            was, becomes = (ast.unparse(each).splitlines()[0] for each in (node, other))
            seen[operator, was, becomes] += 1
            text = f'{seed} {file} {operator} {was} {becomes} {seen[operator, was, becomes]}'
            mutant = Mutant(group, file, node.lineno, operator, was, becomes, place)
            of_operator = by_operator.setdefault(operator, [])
            of_operator.append((sha256(text.encode()).hexdigest(), mutant))
    ranked = [
        (rank, key, mutant)
        for of_operator in by_operator.values()
        for rank, (key, mutant) in enumerate(sorted(of_operator))
    ]
    drawn: dict[tuple[str, int], Mutant] = {}
    for _, _, mutant in sorted(ranked):
        if len(drawn) < count:
            drawn.setdefault((mutant.file, mutant.line), mutant)
    return sorted(drawn.values())


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text())


class _Replace(ast.NodeTransformer):
    """Replace nodes of a tree, by identity."""

    def __init__(self, instead: dict[int, Any]) -> None:
        self.instead = instead

    def visit(self, node: ast.AST) -> Any:
        """Return what stands in place of a node; its parts are replaced first."""
        make = self.instead.get(id(node))
        self.generic_visit(node)
        return make(node) if make else node


def mutated(path: Path, mutant: Mutant) -> str:
    """Return the source of a file with a mutant."""
    tree = parse(path)
    node, _, other = candidates(tree)[mutant.place]
    tree = _Replace({id(node): lambda _: other}).visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree))


def instrumented(path: Path, numbers: dict[int, int]) -> str:
    """Return the source of a file that notes in `reached.REACHED` which places are executed.

    numbers : the number to note for each place among the candidates
    """
    tree = parse(path)
    found = candidates(tree)
    notes: dict[int, list[int]] = {}
    for place, number in numbers.items():
        notes.setdefault(id(found[place][0]), []).append(number)

    def noting(numbers: list[int]) -> Any:
        note = ast.parse(f'REACHED.update({numbers})', mode='eval').body

        def wrapped(node: Any) -> Any:
            if isinstance(node, ast.stmt):
                return [ast.Expr(note), node]
            return ast.BoolOp(ast.Or(), [note, node])

        return wrapped

    tree = _Replace({key: noting(numbers) for key, numbers in notes.items()}).visit(tree)
    first = 1 + max(
        (i for i, node in enumerate(tree.body) if _is_header(node)),
        default=-1,
    )
    tree.body[first:first] = ast.parse('from reached import REACHED').body
    return ast.unparse(ast.fix_missing_locations(tree))


def _is_header(node: ast.stmt) -> bool:
    is_future = isinstance(node, ast.ImportFrom) and node.module == '__future__'
    return is_future or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
