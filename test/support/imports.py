# SPDX-License-Identifier: Apache-2.0
"""Which file imports which, also by text: read from the sources, without importing anything."""

import ast
import re


def imported_names(path, root):
    """Full dotted names of all modules and names that a file imports.

    Also those of imports in functions and below `if TYPE_CHECKING`.
    """
    package = path.relative_to(root).with_suffix('').parts
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level]) if node.level else []
            base += node.module.split('.') if node.module else []
            if any(_file(root, [*base, alias.name]) is None for alias in node.names):
                yield '.'.join(base)  # a name of the module itself, not one of its modules
            yield from ('.'.join([*base, alias.name]) for alias in node.names)


def names_in_strings(path, root):
    """Full dotted names of the modules that a file names as text.

    All of a text has to be such a name, as in import_module('.solvers', __package__),
    ('-m', 'ik_core.for_c.header') and 'solvers.run:solve', by itself or within its package.
    """
    package = path.relative_to(root).parts[:-1]
    tree = ast.parse(path.read_text(encoding='utf-8'))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _modules_in(node.value, [(), package[:1]], root)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith('import_module'):
            text = getattr(node.args[0], 'value', '')
            dots = len(text) - len(text.lstrip('.')) if isinstance(text, str) else 0
            if dots:
                base = package[: len(package) + 1 - dots]
                yield from _modules_in(f'{text[dots:]}:', [base], root)


def _modules_in(text, bases, root):
    """The modules, below one of some packages, that a text is the name of, with a dot or colon."""
    if re.fullmatch(r'\w+(\.\w+)*(:[\w.]*)?', text) and ('.' in text or ':' in text):
        names = ((*base, *text.partition(':')[0].split('.')) for base in bases)
        yield from ('.'.join(parts) for parts in names if _file(root, parts))


def _file(root, parts):
    """The source of the module of that name, or None."""
    module = root.joinpath(*parts)
    candidates = (module.with_suffix('.py'), module / '__init__.py')
    return next((path for path in candidates if path.is_file()), None) if parts else None


def import_graph(root, *packages):
    """{file: other files it imports} for all sources of some packages below `root`."""
    names = {
        path: {*imported_names(path, root), *names_in_strings(path, root)}
        for path in sources(root, *packages)
    }
    files = {name: _file(root, name.split('.')) for name in set().union(*names.values())}
    return {
        path: ({files[name] for name in of} & names.keys()) - {path} for path, of in names.items()
    }


def sources(root, *packages):
    """The files of some packages below `root`."""
    return [path for package in packages for path in sorted((root / package).rglob('*.py'))]


def cycles(graph):
    """Sets of files that import each other, directly or by way of others."""
    reach = {path: _reachable(graph, path) for path in graph}
    groups = {
        frozenset({path, *(other for other in reach[path] if path in reach[other])})
        for path in graph
        if path in reach[path]
    }
    return sorted(groups, key=sorted)


def _reachable(graph, start):
    seen, waiting = set(), [start]
    while waiting:
        for other in graph[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen
