# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration: `make docs`. rosdoc2 takes it as well, see rosdoc2.yaml.

The pages are plain Markdown, which code hosters show whole. `complete` adds what only Sphinx has.
"""

import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

HERE = Path.cwd()  # Sphinx, and rosdoc2 which copies this folder, read this file from its folder
sys.path.insert(0, str(HERE))

import docstrings  # noqa: E402  beside this file

import ik_core  # noqa: E402

ROOT = Path(ik_core.__file__).resolve().parents[1]
# Files outside this folder that pages include, show or link to
BESIDE = ('CONTRIBUTING.md', 'CHANGELOG.rst', 'LICENSE', 'benchmark', 'config', 'examples')

# Pages that link to a file outside this folder, the file, and the options of its include
WHOLE = {
    'contributing': (
        '../CONTRIBUTING.md',
        ':start-after: "# Working on ik_node"\n:relative-docs: docs/',
    ),
    'measured': ('../benchmark/README.md', ':start-after: "# Measured"\n:relative-images:'),
    'changelog': ('../CHANGELOG.rst', ':start-line: 3\n:parser: rst'),
}
# Pages of docs/api, which Sphinx makes of docstrings
API = (
    'robots',
    'problems',
    'solving',
    'tracking',
    'teleoperation',
    'collisions',
    'motions',
    'reachability',
    'showing',
    'errors',
)

project = 'ik_node'
author = 'ik_node maintainers'
copyright = author
version = release = ik_core.__version__

extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.viewcode']
exclude_patterns = ['_build', 'index.rst', '__*', 'README.md', 'CHANGELOG.rst', 'CONTRIBUTING.md']
# What rosdoc2 puts beside the pages: they have an index of their own, and include the rest.
myst_heading_anchors = 4
nitpicky = True
nitpick_ignore_regex = [
    ('py:obj', '.*'),  # names in docstrings link where they can
    ('py:class', r'\w*(Array|Like|Names|Name|Message|ndarray|Path|TypeAliasForwardRef)'),
    ('py:class', r'(Mapping|Sequence|Callable|Any|Shape|Clock|Progress|Choice|Move|\w+Options)'),
    ('py:class', r'(numpy|os|pathlib|collections|typing|ik_core|ik_viewer)\..*'),  # far away
]

autodoc_member_order = 'bysource'
autodoc_typehints = 'signature'
autodoc_preserve_defaults = True
TYPES = (
    'Array', 'IntArray', 'VectorLike', 'MatrixLike', 'WeightsLike', 'PointLike', 'RotationLike',
    'TransformLike', 'TransformsLike', 'Names', 'SolverName', 'PresetName',
)  # fmt: skip
autodoc_type_aliases = {name: name for name in TYPES}
default_role = 'py:obj'
python_use_unqualified_type_names = True
toc_object_entries_show_parents = 'hide'

html_theme = 'furo'
html_title = f'ik_node {release}'
html_static_path = ['_static']
html_css_files = ['house.css']
html_copy_source = False
html_show_sphinx = False
html_theme_options = {'navigation_with_keys': True}

rosdoc2_settings = {'override_theme': False, 'allow_other_extensions': True}


def bring_what_is_beside(app: object) -> None:
    """rosdoc2 builds a copy of this folder: put beside it what is beside the original."""
    beside = Path(app.srcdir).parent  # type: ignore[attr-defined]
    for name in BESIDE if beside != ROOT else ():
        source, target = ROOT / name, beside / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.is_file():
            shutil.copy(source, target)


def complete(app: object, page: str, source: list[str]) -> None:
    """Add to a page the table of contents, or the file that it links to; called by Sphinx.

    Links to these files become links to their pages.
    """
    text, up = source[0], '../' * page.count('/')
    for name, (file, options) in WHOLE.items():
        text = text.replace(f']({up}{file}', f']({up}{name}.md')
        if page == name:
            text += f'\n```{{include}} {file}\n{options}\n```\n'
    if page == 'index':
        for section in text.split('\n## ')[1:]:
            title, pages = section.split('\n')[0], re.findall(r'\]\(([\w/]+)\.md\)', section)
            text += contents(pages, 'hidden:', f'caption: {title}')
    if page == 'api/index':
        text = text.replace('\n## ', contents(API) + '\n## ', 1)
    source[0] = text


def contents(pages: Iterable[str], *options: str) -> str:
    """Return a table of contents in MyST's syntax."""
    return '\n'.join(
        ('\n```{toctree}', *(f':{option}' for option in options), '', *pages, '```\n')
    )


def setup(app) -> None:
    """Called by Sphinx."""
    app.connect('source-read', complete)
    app.connect('builder-inited', bring_what_is_beside)
    app.connect('autodoc-process-docstring', docstrings.as_rest)
    app.connect('autodoc-process-signature', docstrings.with_short_types)
