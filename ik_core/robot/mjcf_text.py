# SPDX-License-Identifier: Apache-2.0
"""Gather an MJCF model from its files, safely for untrusted files, the first step of `mjcf`.

MuJoCo's own reader follows includes and opens meshes anywhere, and trusts numbers. So the files
are read here: includes are put in their places, what kinematics and collisions do not need is
dropped (actuators, sensors, textures, ...), and meshes are read below the model's own folder, or
the ROS package that has it, and nowhere else. MuJoCo is given one text, and a small stand-in for
each mesh unless a mass depends on it: compiling real meshes takes most of a minute for a humanoid.

Format: https://mujoco.readthedocs.io/en/stable/XMLreference.html
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from ..display import named
from ..exceptions import MeshError, UrdfError
from ..meshes.mesh_folders import MeshFolders, inside, package_of, read_bytes
from .urdf_filter import MAX_BYTES, MAX_ELEMENTS, parse
from .urdf_filter import read_bytes as read_xml

MAX_DEPTH = 300  # bodies are nested in MJCF
MAX_COPIES = 10_000  # of a body, by <replicate>
MAX_MESH_BYTES = 500_000_000  # of the meshes that masses depend on
STAND_IN = 'stand_in.obj'
TETRAHEDRON = b'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n'

# sections that are read, and the elements in them; None: all
_SECTIONS: dict[str, frozenset[str] | None] = {
    'compiler': None,
    'option': frozenset({'flag'}),
    'default': frozenset(
        ['default', 'mesh', 'material', 'joint', 'geom', 'site', 'pair', 'equality', 'tendon']
    ),
    'asset': frozenset({'mesh', 'material'}),
    'worldbody': frozenset(
        ['body', 'frame', 'replicate', 'joint', 'freejoint', 'geom', 'site', 'inertial']
    ),
    'contact': frozenset({'pair', 'exclude'}),
    'equality': frozenset({'connect', 'weld', 'joint', 'tendon'}),
    'tendon': None,
}
# elements of bodies that make links or joints but are not read
_UNREAD = ('composite', 'flexcomp')
# attributes that name files, or belong to what is dropped
_DROPPED = {
    'compiler': ('meshdir', 'texturedir', 'assetdir', 'strippath', 'discardvisual'),
    'material': ('texture', 'texrepeat', 'texuniform'),
}
# attributes that are no numbers, of whatever element, so that a name may be 'nan'
_TEXTS = frozenset(
    {'name', 'class', 'childclass', 'joint', 'joint1', 'joint2', 'body', 'body1', 'body2', 'geom'}
    | {'geom1', 'geom2', 'site', 'site1', 'site2', 'tendon', 'tendon1', 'tendon2', 'mesh', 'file'}
    | {'material', 'objtype', 'sidesite', 'model'}
)


class MjcfText(NamedTuple):
    """A model in one text, and remarks on what is not read.

    name : the model's, '' if it has none
    paths : files of meshes by the names of the meshes, relative to the model's folder; in the text
        all files are STAND_IN
    folders : where these files may be
    """

    text: str
    name: str
    paths: dict[str, str]
    folders: MeshFolders
    remarks: list[str]

    def meshes(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the bytes of the files of meshes, by file. Raises UrdfError."""
        found: dict[str, bytes] = {}
        size = 0
        for path in dict.fromkeys(self.paths[name] for name in names):
            try:
                found[path] = read_bytes(self.folders.find(path))
            except MeshError as error:
                raise UrdfError(f'mesh {path[:80]!r}, on which a mass depends: {error}') from None
            size += len(found[path])
            if size > MAX_MESH_BYTES:
                text = f'the meshes are larger than {MAX_MESH_BYTES / 1e6:.0f} MB together'
                raise UrdfError(text)
        return found


def gather(file: Path) -> MjcfText:
    """Read a model and the files that it includes. Raises UrdfError."""
    reader = _Reader(file)
    root = reader.read(file, ())
    paths = _take_paths(root)
    remarks = _unread(root)
    _check_copies(root, 1)
    root[:] = [section for section in root if section.tag in _SECTIONS]
    for section in root:
        _keep(section, _SECTIONS[section.tag])
    for element in root.iter():
        for attribute in _DROPPED.get(element.tag, ()):
            element.attrib.pop(attribute, None)
    text = ElementTree.tostring(root, encoding='unicode')
    folders = MeshFolders(reader.folder, reader.roots)
    return MjcfText(text, root.get('model', ''), paths, folders, remarks)


class _Reader:
    """Reads files of a model into trees of elements, includes in their places."""

    def __init__(self, file: Path) -> None:
        self.folder = file.absolute().parent
        self.roots = (self.folder, *package_of(file))
        self._count = 0

    def read(self, file: Path, including: tuple[Path, ...]) -> ElementTree.Element:
        """Return the root element of a file. `including` are the files that include it."""
        data = read_xml(file)
        if len(data) > MAX_BYTES:
            raise UrdfError(f'{file.name} is larger than {MAX_BYTES / 1e6:.0f} MB')
        handler, xml = _Handler(self._count), expat.ParserCreate()
        xml.StartElementHandler = handler.start
        xml.EndElementHandler = handler.end
        xml.StartDoctypeDeclHandler = handler.doctype
        handler.line = lambda: xml.CurrentLineNumber
        try:
            parse(xml, data.lstrip())
            root = handler.root
            if not including and root.tag != 'mujoco':
                raise UrdfError(f'the outermost element is <{root.tag[:40]}>: MJCF has <mujoco>')
        except UrdfError as error:
            where = f'{file.name}: ' if including else ''
            raise UrdfError(f'{where}{error}') from None
        self._count = handler.count
        self._include(root, (*including, file))
        return root

    def _include(self, element: ElementTree.Element, files: tuple[Path, ...]) -> None:
        """Replace the includes below an element by what their files have."""
        children: list[ElementTree.Element] = []
        for child in element:
            if child.tag == 'include':
                children += self.read(self._found(child.get('file', ''), files), files)
                continue
            self._include(child, files)
            children.append(child)
        element[:] = children

    def _found(self, name: str, files: tuple[Path, ...]) -> Path:
        """Return the file that an include names. Raises UrdfError."""
        what = f'<include file={name[:80]!r}>'
        for folder in dict.fromkeys((self.folder, files[-1].parent)):
            found = inside(folder / name, self.roots) if _is_path(name) else None
            if found is not None:
                break
        else:
            raise UrdfError(
                f"{what}: there is no such file in the model's folder, and files elsewhere are "
                'not opened'
            )
        if found in [file.resolve() for file in files]:
            raise UrdfError(f'{what} in {files[-1].name}: the files include each other in a cycle')
        return found


class _Handler:
    """Handlers for expat that make elements, and refuse what is hostile."""

    def __init__(self, count: int) -> None:
        self.root = ElementTree.Element('')
        self.count = count
        self.line = lambda: 0
        self._open: list[ElementTree.Element] = []

    def doctype(self, *_: object) -> None:
        raise UrdfError('a DOCTYPE is not allowed in a robot description: remove it')

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS or len(self._open) >= MAX_DEPTH:
            raise UrdfError(
                f'the robot description is too large: at most {MAX_ELEMENTS} elements, nested at '
                f'most {MAX_DEPTH} deep'
            )
        if tag == 'attach':
            raise UrdfError(
                f'line {self.line()}: <attach> is not read: compile the model once, '
                'mujoco.mj_saveLastXML writes it without'
            )
        _check_finite(tag, attributes, self.line())
        if self._open:
            self._open.append(ElementTree.SubElement(self._open[-1], tag, attributes))
        else:
            self.root = ElementTree.Element(tag, attributes)
            self._open.append(self.root)

    def end(self, _: str) -> None:
        self._open.pop()


def _check_finite(tag: str, attributes: dict[str, str], line: int) -> None:
    for name, text in attributes.items():
        if name in _TEXTS:
            continue
        for word in text.split():
            try:
                number = float(word)
            except ValueError:
                break
            if not math.isfinite(number):
                raise UrdfError(f'line {line}: <{tag}> has {name}={text[:60]!r}: finite numbers')


def _check_copies(element: ElementTree.Element, copies: int) -> None:
    """Raise UrdfError if nested <replicate> elements make too many copies."""
    for child in element:
        count = copies
        if child.tag == 'replicate':
            text = child.get('count', '')
            count *= int(text) if text.isdecimal() and len(text) < 9 else 1
            if count > MAX_COPIES or len(text) > 8:
                raise UrdfError(
                    f'<replicate count="{text[:20]}"> makes more than {MAX_COPIES} copies'
                )
        _check_copies(child, count)


def _keep(element: ElementTree.Element, tags: frozenset[str] | None) -> None:
    """Drop the elements below one that are not among the tags."""
    if tags is None:
        return
    for child in [*element]:
        if child.tag not in tags or child.get('hfield') or child.get('type') == 'hfield':
            element.remove(child)
        else:
            _keep(child, tags)


def _take_paths(root: ElementTree.Element) -> dict[str, str]:
    """Replace the files of meshes by the stand-in; return them by the names of the meshes."""
    folder, strips = _mesh_folder(root)
    paths: dict[str, str] = {}
    for mesh in root.iterfind('asset/mesh'):
        name = mesh.attrib.pop('file', None)
        if name is None:
            continue
        path = PurePosixPath(name.replace('\\', '/'))
        mesh.attrib.setdefault('name', path.stem)
        mesh.attrib.pop('content_type', None)
        mesh.set('file', STAND_IN)
        paths[mesh.get('name', '')] = str(folder / (path.name if strips else path))
    return paths


def _mesh_folder(root: ElementTree.Element) -> tuple[PurePosixPath, bool]:
    """The folder of meshes, relative to the model's, and whether folders of file names count."""
    folder, strips = '', False
    for compiler in root.iterfind('compiler'):
        folder = compiler.get('meshdir', compiler.get('assetdir', folder))
        strips = compiler.get('strippath', str(strips).lower()) == 'true'
    return PurePosixPath(folder.replace('\\', '/')), strips


def _is_path(name: str) -> bool:
    return bool(name) and name.isprintable() and not Path(name).is_absolute()


def _unread(root: ElementTree.Element) -> list[str]:
    """A remark on elements of bodies that are not read."""
    found = dict.fromkeys(f'<{e.tag}>' for e in root.iter() if e.tag in _UNREAD)
    return [f'not read: {named(found)}'] if found else []
