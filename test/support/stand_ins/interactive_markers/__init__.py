# SPDX-License-Identifier: Apache-2.0
"""The part of the package interactive_markers that the node uses, where it is not installed.

`.ci/distribution` puts it on the path: a distribution of ROS has the real one. Changes are
published by `applyChanges`; feedback moves its marker, in the marker's own frame, before the
callback sees it.
"""

import copy

from visualization_msgs.msg import (
    InteractiveMarkerFeedback,
    InteractiveMarkerPose,
    InteractiveMarkerUpdate,
)
from visualization_msgs.srv import GetInteractiveMarkers


class InteractiveMarkerServer:
    def __init__(self, node, namespace, *, feedback_sub_qos):
        self._node, self._markers, self._callbacks = node, {}, {}
        self._inserted, self._moved, self._number = {}, {}, 0
        self._publisher = node.create_publisher(InteractiveMarkerUpdate, f'{namespace}/update', 10)
        self._service = node.create_service(
            GetInteractiveMarkers, f'{namespace}/get_interactive_markers', self._answer
        )
        self._subscription = node.create_subscription(
            InteractiveMarkerFeedback, f'{namespace}/feedback', self._take, feedback_sub_qos
        )

    def insert(self, marker, *, feedback_callback):
        self._inserted[marker.name] = copy.deepcopy(marker)
        self._callbacks[marker.name] = feedback_callback

    def setPose(self, name, pose):  # noqa: N802 (the name in interactive_markers)
        self._moved[name] = pose

    def applyChanges(self):  # noqa: N802
        if not self._inserted and not self._moved:
            return
        self._number += 1
        update = InteractiveMarkerUpdate(type=InteractiveMarkerUpdate.UPDATE)
        update.seq_num, update.markers = self._number, list(self._inserted.values())
        self._markers.update(self._inserted)
        for name, pose in self._moved.items():
            self._markers[name].pose = pose
            header = self._markers[name].header
            update.poses.append(InteractiveMarkerPose(header=header, name=name, pose=pose))
        self._inserted, self._moved = {}, {}
        self._publisher.publish(update)

    def shutdown(self):
        self._node.destroy_subscription(self._subscription)
        self._node.destroy_service(self._service)
        self._node.destroy_publisher(self._publisher)

    def _answer(self, _, response):
        response.sequence_number, response.markers = self._number, list(self._markers.values())
        return response

    def _take(self, feedback):
        if feedback.marker_name not in self._markers:
            return
        if feedback.event_type == InteractiveMarkerFeedback.POSE_UPDATE:
            self.setPose(feedback.marker_name, feedback.pose)
        self._callbacks[feedback.marker_name](feedback)
