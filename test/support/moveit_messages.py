# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for moveit_msgs' messages about planning scenes, for systems without them."""

from types import SimpleNamespace as Fields

from geometry_msgs.msg import Point, Pose
from std_msgs.msg import Header

ADD = b'\0'


def thing(name, *solids, at=(0.0, 0.0, 0.0), frame='', operation=ADD, meshes=(), planes=()):
    """Return a stand-in for a moveit_msgs/CollisionObject; its shapes are 0.1 m along its x."""
    offset = Pose(position=Point(x=0.1))
    return Fields(
        header=Header(frame_id=frame),
        pose=Pose(position=Point(**dict(zip('xyz', map(float, at), strict=True)))),
        id=name,
        primitives=[Fields(type=kind, dimensions=sizes) for kind, sizes in solids],
        primitive_poses=[offset for _ in solids],
        meshes=[Fields(vertices=[Point(x=x, y=y, z=z) for x, y, z in each]) for each in meshes],
        mesh_poses=[offset for _ in meshes],
        planes=list(planes),
        operation=operation,
    )


def carried(link, it, touching=()):
    return Fields(link_name=link, object=it, touch_links=list(touching))


def matrix(names=(), rows=(), defaults=None):
    defaults = defaults or {}
    return Fields(
        entry_names=list(names),
        entry_values=[Fields(enabled=list(row)) for row in rows],
        default_entry_names=list(defaults),
        default_entry_values=list(defaults.values()),
    )


def message(
    *things,
    attached=(),
    allowed=None,
    is_diff=True,
    octomap=(),
    octomap_id='',
    padding=(),
    scale=(),
):
    """Return a stand-in for a moveit_msgs/PlanningScene; padding and scale are of panda_hand."""
    return Fields(
        is_diff=is_diff,
        robot_state=Fields(attached_collision_objects=list(attached)),
        link_padding=[Fields(link_name='panda_hand', padding=metres) for metres in padding],
        link_scale=[Fields(link_name='panda_hand', scale=factor) for factor in scale],
        allowed_collision_matrix=allowed or matrix(),
        world=Fields(
            collision_objects=list(things),
            octomap=Fields(octomap=Fields(id=octomap_id, data=list(octomap))),
        ),
    )
