"""Sphinx's configuration: `make docs`. rosdoc2 takes it as well, see rosdoc2.yaml."""

import shutil
import sys
from pathlib import Path

HERE = Path.cwd()  # Sphinx, and rosdoc2 which copies this folder, read this file from its folder
sys.path.insert(0, str(HERE))

import docstrings  # noqa: E402  beside this file

import ik_core  # noqa: E402

ROOT = Path(ik_core.__file__).resolve().parents[1]
BESIDE = ('CONTRIBUTING.md', 'CHANGELOG.md', 'LICENSE', 'benchmark', 'config', 'examples')
"""What pages include or show from outside this folder."""

project = 'ik_node'
author = 'ik_node maintainers'
copyright = author
version = release = ik_core.__version__

extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.viewcode']
exclude_patterns = ['_build', 'index.rst', '__*', 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md']
# What rosdoc2 puts beside the pages: they have an index of their own, and include the rest.
myst_enable_extensions = ['colon_fence', 'deflist', 'attrs_block', 'attrs_inline']
myst_heading_anchors = 4
nitpicky = True
nitpick_ignore_regex = [
    ('py:obj', '.*'),  # names in docstrings link where they can
    ('py:class', r'(Array|ArrayLike|IntArray|ndarray|Path|PathLike|TypeAliasForwardRef)'),
    ('py:class', r'(Mapping|Sequence|Callable|Any|Shape)'),
    ('py:class', r'(numpy|os|pathlib|collections|typing|ik_core)\..*'),  # inventories are far away
]

autodoc_member_order = 'bysource'
autodoc_typehints = 'signature'
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ('Array', 'ArrayLike', 'IntArray')}
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


def setup(app) -> None:
    """Called by Sphinx."""
    app.connect('builder-inited', bring_what_is_beside)
    app.connect('autodoc-process-docstring', docstrings.as_rest)
    app.connect('autodoc-process-signature', docstrings.with_short_types)
