# SPDX-License-Identifier: Apache-2.0
"""Convert an MJCF model, as MuJoCo compiles it, to a URDF and an SRDF.

MuJoCo resolves defaults, classes, angles and inertias; what counts is its compiled model:

- A body is a link of its name in the body's frame, and a site with a name is a link fixed to it.
- A body's joints follow each other, each about its anchor. Positions are MuJoCo's: `ref` counts. A
  free joint is zero where the file has its body.
- Geoms that may touch others are collision shapes; those of the groups 0 to 2 are drawn.
- The SRDF disables the pairs of links that MuJoCo never lets touch: contact exclusions, parents
  and children, and geoms whose `contype` and `conaffinity` do not meet.
- An equality constraint that couples two joints by a line is a mimic. What a tree of joints can't
  have, other constraints and tendons, is named in the remarks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..display import named
from ..exceptions import UrdfError
from ..maths.rotations import Array, matrix_from_quaternion, quaternion_from_matrix
from .joints import Joint, Mimic, split_joints
from .mjcf_text import STAND_IN, TETRAHEDRON, MjcfText, gather
from .urdf import MAX_MULTIPLIER

VISIBLE_GROUPS = 3  # those that MuJoCo's viewer shows by default
# kinds of joints
_JOINTS = {'free': 'floating', 'ball': 'ball', 'slide': 'prismatic', 'hinge': 'revolute'}


def convert_mjcf(file: Path) -> tuple[str, str, list[str]]:
    """Return the URDF and the SRDF of an MJCF file, and remarks on what they lack.

    Raises UrdfError, also if mujoco is not installed.
    """
    source = gather(file)
    try:
        import mujoco
    except ImportError:
        text = 'this is MJCF, which the package mujoco compiles: pip install mujoco'
        raise UrdfError(text) from None
    try:
        model = _compiled(mujoco.MjSpec.from_string(source.text), source)
    except (ValueError, mujoco.FatalError) as error:
        reason = ' '.join(str(error).split())
        raise UrdfError(f'MuJoCo does not compile the model: {reason}') from None
    return _Converter(mujoco, model, source).converted(source.name or file.stem)


def _compiled(spec: Any, source: MjcfText) -> Any:
    """Compile a model, with those meshes that a mass or a primitive shape depends on."""
    needed = {
        geom.meshname
        for geom in spec.geoms
        if geom.meshname in source.paths and _needs_mesh(geom, spec.compiler.inertiafromgeom)
    }
    for mesh in spec.meshes:
        if mesh.name in needed:
            mesh.file = source.paths[mesh.name]
    spec.assets = {STAND_IN: TETRAHEDRON, **source.meshes(sorted(needed))}
    return spec.compile()


def _needs_mesh(geom: Any, from_geoms: Any) -> bool:
    if _kind_of(geom.type) != 'mesh':  # MuJoCo fits such a shape to the mesh
        return True
    from_geoms = from_geoms.name.endswith('TRUE')
    has_mass = geom.density > 0.0 if math.isnan(geom.mass) else geom.mass > 0.0
    return bool(has_mass and (from_geoms or not geom.parent.explicitinertial))


def _kind_of(value: Any) -> str:
    """MuJoCo's name of a kind, without its prefix: 'hinge' for mjJNT_HINGE."""
    return str(value.name).partition('_')[2].lower()


@dataclass
class _Converter:
    """Elements of a URDF and an SRDF, made of a compiled model."""

    mujoco: Any
    model: Any
    source: MjcfText
    robot: ElementTree.Element = field(default_factory=lambda: ElementTree.Element('robot'))
    remarks: list[str] = field(default_factory=list)

    def converted(self, name: str) -> tuple[str, str, list[str]]:
        """Return the texts and the remarks; `name` is that of a model without one."""
        model = self.model
        self.robot.attrib = {'name': name, 'version': '1.2'}
        self.bodies = _names(model.body, model.nbody, 'body')
        self.joints = _joint_names(model, self.bodies)
        self.mimics = self._mimics()
        self.links = {
            body: ElementTree.SubElement(self.robot, 'link', name=body) for body in self.bodies
        }
        self._add_inertials()
        self._add_geoms()
        for body in range(1, model.nbody):
            self._add_body(body)
        self._add_sites()
        self._remark_on_constraints()
        urdf, srdf = map(_text, (self.robot, self._srdf()))
        return urdf, srdf, [*self.source.remarks, *self.remarks]

    # --- links and joints ------------------------------------------------------------------------

    def _add_body(self, body: int) -> None:
        """Add the joints between a body and its parent."""
        model = self.model
        first = int(model.body_jntadr[body])
        moving = range(first, first + int(model.body_jntnum[body]))
        parent = self.bodies[model.body_parentid[body]]
        at = _transform(model.body_pos[body], model.body_quat[body])
        joints: list[Joint] = []
        for j in moving:
            anchor = _transform(model.jnt_pos[j])
            joints.append(self._joint(j, parent, at @ anchor @ self._reference(j)))
            parent, at = joints[-1].child, _transform(-model.jnt_pos[j])
        child = self.bodies[body]
        if joints and not at[:3, 3].any():
            joints[-1] = replace(joints[-1], child=child)
        else:
            joints.append(Joint(f'{child}_fixed', 'fixed', parent, child, at))
        is_free = joints[0].kind == 'floating'
        for joint in joints if is_free else split_joints(joints, ())[0]:
            self._add_joint(joint)

    def _joint(self, j: int, parent: str, origin: Array) -> Joint:
        """Joint j of the model; its child is a link of its own."""
        model, name = self.model, self.joints[j]
        kind = _JOINTS[self._kind('Joint', model.jnt_type[j])]
        lower, upper = -math.inf, math.inf
        if model.jnt_limited[j] and kind == 'ball':
            self.remarks.append(
                f'joint {name!r}: its limit of {model.jnt_range[j, 1]:.4g} rad about any axis is '
                'not kept'
            )
        elif model.jnt_limited[j]:
            lower, upper = model.jnt_range[j].tolist()
        if kind == 'revolute' and not model.jnt_limited[j]:
            kind = 'continuous'
        child, axis, mimic = f'{name}_link', np.array(model.jnt_axis[j]), self.mimics.get(name)
        return Joint(name, kind, parent, child, origin, axis, lower, upper, mimic=mimic)

    def _reference(self, j: int) -> Array:
        """The transform (4, 4) of a hinge or slide from its `ref` back to zero."""
        model = self.model
        kind, axis = self._kind('Joint', model.jnt_type[j]), model.jnt_axis[j]
        back = -float(model.qpos0[model.jnt_qposadr[j]])
        if kind == 'slide':
            return _transform(back * axis)
        if kind == 'hinge':
            turn = math.cos(0.5 * back), *(math.sin(0.5 * back) * axis)
            return _transform(np.zeros(3), np.array(turn))
        return np.eye(4)

    def _add_joint(self, joint: Joint) -> None:
        """Add a joint, and its child if that is no body."""
        if joint.child not in self.links:
            self.links[joint.child] = ElementTree.SubElement(self.robot, 'link', name=joint.child)
        element = ElementTree.SubElement(self.robot, 'joint', name=joint.name, type=joint.kind)
        ElementTree.SubElement(element, 'parent', link=joint.parent)
        ElementTree.SubElement(element, 'child', link=joint.child)
        _add_origin(element, joint.origin)
        if joint.kind in ('fixed', 'floating'):
            return
        ElementTree.SubElement(element, 'axis', xyz=_numbers(joint.axis))
        limits = {'lower': joint.lower, 'upper': joint.upper}
        if joint.kind != 'continuous' and math.isfinite(float(joint.lower)):
            ElementTree.SubElement(element, 'limit', {k: repr(v) for k, v in limits.items()})
        else:
            ElementTree.SubElement(element, 'limit')
        if joint.mimic is not None:
            given = {'joint': joint.mimic.joint, 'multiplier': repr(joint.mimic.multiplier)}
            ElementTree.SubElement(element, 'mimic', given, offset=repr(joint.mimic.offset))

    def _add_inertials(self) -> None:
        model = self.model
        for body, name in enumerate(self.bodies):
            if body and model.body_mass[body] > 0.0:
                element = ElementTree.SubElement(self.links[name], 'inertial')
                at = _transform(model.body_ipos[body], model.body_iquat[body])
                _add_origin(element, at)
                ElementTree.SubElement(element, 'mass', value=repr(float(model.body_mass[body])))
                moments = dict(zip(('ixx', 'iyy', 'izz'), model.body_inertia[body], strict=True))
                given = {name: repr(float(value)) for name, value in moments.items()}
                ElementTree.SubElement(element, 'inertia', given, ixy='0', ixz='0', iyz='0')

    def _add_sites(self) -> None:
        """Add a link for each site with a name, such as the point where a tool is attached."""
        model = self.model
        for site in range(model.nsite):
            name = model.site(site).name
            if not name:
                continue
            link = name if name not in self.links else f'{name}_site'
            if link not in self.links:
                parent = self.bodies[model.site_bodyid[site]]
                at = _transform(model.site_pos[site], model.site_quat[site])
                self._add_joint(Joint(f'{link}_fixed', 'fixed', parent, link, at))

    # --- geometry --------------------------------------------------------------------------------

    def _add_geoms(self) -> None:
        model = self.model
        in_pairs = {*model.pair_geom1.tolist(), *model.pair_geom2.tolist()}
        unread: dict[str, list[str]] = {}
        for geom in range(model.ngeom):
            body = self.bodies[model.geom_bodyid[geom]]
            touches = geom in in_pairs or model.geom_contype[geom] | model.geom_conaffinity[geom]
            is_drawn = model.geom_group[geom] < VISIBLE_GROUPS
            tags = [tag for tag, uses in (('collision', touches), ('visual', is_drawn)) if uses]
            shape, reason = self._shape(geom)
            if shape is None:
                if touches:
                    unread.setdefault(reason, []).append(body)
                continue
            for tag in tags:
                element = ElementTree.SubElement(self.links[body], tag)
                _add_origin(element, self._geom_frame(geom))
                ElementTree.SubElement(element, 'geometry').append(shape)
                if tag == 'visual':
                    material = ElementTree.SubElement(element, 'material', name=f'colour_{geom}')
                    ElementTree.SubElement(material, 'color', rgba=_numbers(self._colour(geom)))
        for reason, bodies in unread.items():
            links = named(dict.fromkeys(bodies))
            self.remarks.append(f'collision geometry of {links} is not read: {reason}')

    def _shape(self, geom: int) -> tuple[ElementTree.Element | None, str]:
        """The element of a geom's shape; None, and the reason, if a URDF has none."""
        model = self.model
        kind = self._kind('Geom', model.geom_type[geom])
        x, y, z = model.geom_size[geom].tolist()
        if kind == 'sphere':
            return ElementTree.Element('sphere', radius=repr(x)), ''
        if kind in ('capsule', 'cylinder'):
            return ElementTree.Element(kind, radius=repr(x), length=repr(2.0 * y)), ''
        if kind == 'box':
            return ElementTree.Element('box', size=_numbers((2.0 * x, 2.0 * y, 2.0 * z))), ''
        if kind != 'mesh':
            return None, f'a URDF has no {kind}'
        mesh = int(model.geom_dataid[geom])
        path = self.source.paths.get(model.mesh(mesh).name)
        if path is None:
            return None, 'its mesh has no file'
        return ElementTree.Element(
            'mesh', filename=path, scale=_numbers(model.mesh_scale[mesh])
        ), ''

    def _geom_frame(self, geom: int) -> Array:
        """The frame (4, 4) of a geom's shape; a mesh's is that of its file, not of its inertia."""
        model = self.model
        frame = _transform(model.geom_pos[geom], model.geom_quat[geom])
        if self._kind('Geom', model.geom_type[geom]) != 'mesh':
            return frame
        mesh = int(model.geom_dataid[geom])
        moved = _transform(model.mesh_pos[mesh], model.mesh_quat[mesh])
        return frame @ np.linalg.inv(moved)

    def _colour(self, geom: int) -> Array:
        material = int(self.model.geom_matid[geom])
        colour = self.model.geom_rgba[geom]
        return self.model.mat_rgba[material] if material >= 0 else colour

    # --- contacts --------------------------------------------------------------------------------

    def _srdf(self) -> ElementTree.Element:
        """The SRDF with the pairs of bodies that MuJoCo never lets touch."""
        model = self.model
        root = ElementTree.Element('robot', name=self.robot.get('name', ''))
        touching = [body for body in range(model.nbody) if self._touches(body)]
        excluded = set(model.exclude_signature.tolist())
        paired = {
            frozenset(model.geom_bodyid[[one, other]].tolist())
            for one, other in zip(model.pair_geom1, model.pair_geom2, strict=True)
        }
        for k, one in enumerate(touching):
            for other in touching[k + 1 :]:
                reason = self._filter(one, other, excluded)
                if reason and frozenset((one, other)) not in paired:
                    given = {'link1': self.bodies[one], 'link2': self.bodies[other]}
                    ElementTree.SubElement(root, 'disable_collisions', given, reason=reason)
        return root

    def _touches(self, body: int) -> bool:
        return self.links[self.bodies[body]].find('collision') is not None

    def _filter(self, one: int, other: int, excluded: set[int]) -> str:
        """Why MuJoCo never lets two bodies touch, '' if it may."""
        model = self.model
        if {(one << 16) + other, (other << 16) + one} & excluded:
            return 'contact exclude'
        types, affinities = model.body_contype, model.body_conaffinity
        if not (types[one] & affinities[other] or types[other] & affinities[one]):
            return 'contype and conaffinity'
        first, second = model.body_weldid[[one, other]].tolist()
        above = {first: self._carrier(first), second: self._carrier(second)}
        is_child = above[first] == second or above[second] == first
        filters = not model.opt.disableflags & self.mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
        return 'Adjacent' if first and second and is_child and filters else ''

    def _carrier(self, body: int) -> int:
        """The moving body that carries a moving body."""
        return int(self.model.body_weldid[self.model.body_parentid[body]])

    # --- constraints -----------------------------------------------------------------------------

    def _mimics(self) -> dict[str, Mimic]:
        """Joints that an active equality constraint couples to another one by a line."""
        model = self.model
        mimics: dict[str, Mimic] = {}
        self.kept: set[int] = set()
        for k in range(model.neq):
            joint, driver = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
            if (
                self._kind('Eq', model.eq_type[k]) != 'joint'
                or not model.eq_active0[k]
                or driver < 0
            ):
                continue
            c0, c1, *others = model.eq_data[k, :5].tolist()
            name, other = self.joints[joint], self.joints[driver]
            if any(others) or not 0.0 < abs(c1) <= MAX_MULTIPLIER or name in mimics:
                continue
            end = other
            while end in mimics:
                end = mimics[end].joint
            if end == name:
                continue
            at, other_at = (float(model.qpos0[model.jnt_qposadr[j]]) for j in (joint, driver))
            mimics[name] = Mimic(other, c1, at + c0 - c1 * other_at)
            self.kept.add(k)
        return mimics

    def _remark_on_constraints(self) -> None:
        """Say which equality constraints and tendons the robot does not have."""
        model = self.model
        lost = [
            f'{self._kind("Eq", model.eq_type[k])} {self._ends(k)}'
            for k in range(model.neq)
            if model.eq_active0[k] and k not in self.kept
        ]
        if lost:
            self.remarks.append(
                f'equality constraints are not kept ({named(lost)}): solutions may violate them'
            )
        tendons = _names(model.tendon, model.ntendon, 'tendon')
        if tendons:
            self.remarks.append(
                f'tendons are not kept ({named(tendons)}): the joints that they couple move '
                'independently'
            )

    def _ends(self, k: int) -> str:
        """The name of an equality constraint, or of what it connects."""
        model = self.model
        if model.eq(k).name:
            return repr(model.eq(k).name)
        ends = [int(end[k]) for end in (model.eq_obj1id, model.eq_obj2id)]
        objects = self._kind('Obj', model.eq_objtype[k])
        names = {'joint': self.joints, 'body': self.bodies}.get(objects)
        if names is None:
            return f'number {k}'
        return f'of {" and ".join(names[end] for end in ends if end >= 0)}'

    def _kind(self, enumeration: str, number: int) -> str:
        """The name of a kind, such as 'hinge'; the numbers differ between MuJoCo's versions."""
        return _kind_of(getattr(self.mujoco, f'mjt{enumeration}')(int(number)))


def _names(at: Any, count: int, kind: str) -> list[str]:
    """The names of a model's elements; those without one are numbered."""
    given = [at(k).name for k in range(count)]
    taken = {*given}
    names = []
    for k, name in enumerate(given):
        new = f'{kind}_{k}'
        while not name and new in taken:
            new += '_'
        names.append(name or new)
    return names


def _joint_names(model: Any, bodies: list[str]) -> list[str]:
    """The names of the joints; those without one are named after their bodies."""
    given = [model.joint(j).name for j in range(model.njnt)]
    taken = {*given}
    for j, name in enumerate(given):
        if not name:
            start = new = f'{bodies[model.jnt_bodyid[j]]}_joint'
            number = 1
            while new in taken:
                number += 1
                new = f'{start}{number}'
            given[j] = new
            taken.add(new)
    return given


def _transform(position: Array, quaternion: Array | None = None) -> Array:
    """The transform (4, 4) of a position and a quaternion (w, x, y, z)."""
    transform = np.eye(4)
    transform[:3, 3] = position
    if quaternion is not None:
        transform[:3, :3] = matrix_from_quaternion(np.roll(quaternion, -1))
    return transform


def _add_origin(element: ElementTree.Element, at: Array) -> None:
    turn = quaternion_from_matrix(at[:3, :3])
    given = {'xyz': _numbers(at[:3, 3]), 'quat_xyzw': _numbers(turn)}
    ElementTree.SubElement(element, 'origin', given)


def _text(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding='unicode')


def _numbers(values: Iterable[float]) -> str:
    return ' '.join(repr(float(value)) for value in values)
