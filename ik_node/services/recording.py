"""The service ~/record: instructions and commands of the tracker, in a file for `ik replay`.

The tick only notes numbers in memory; files are written beside it. A recording holds the last
`record_minutes`, and ends with the service, with the model, or with the node.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool

from ik_core import IkError
from ik_core.tracking.recording import Recorder

from ..jobs import Job
from ..model import Model


class Recording:
    """Serves ~/record while open.

    `model` gives what is moved, None without a robot; `description` the URDF that it came from.
    """

    def __init__(
        self,
        node: Node,
        model: Callable[[], Model | None],
        description: Callable[[], str | Path],
    ) -> None:
        self._node, self._model, self._description = node, model, description
        self._service: Any = None
        self._writing: Job[None] | None = None

    def open(self) -> None:
        """Offer the service."""
        self._service = self._node.create_service(SetBool, '~/record', self._on_record)

    def close(self) -> None:
        """Withdraw it; what was recorded is written when this returns."""
        if self._service is not None:
            self._node.destroy_service(self._service)
            self._service = None
        self.finish()
        if self._writing is not None:
            self._writing.wait(60.0)

    def begin(self, model: Model) -> None:
        """Start where the parameter `record` asks for it; where that fails the node goes on."""
        if model.parameters.node.record and model.recorder is None:
            try:
                self.start(model)
            except (IkError, OSError) as error:
                self._node.get_logger().error(f'nothing is recorded: {error}')

    def start(self, model: Model) -> None:
        """Record this model from now on. Raises IkError or OSError where that can't be."""
        source = self._description()
        text = source if isinstance(source, str) else source.expanduser().read_text('utf-8')
        node = model.parameters.node
        notes = {'node': self._node.get_fully_qualified_name(), 'began': time.time()}
        model.record(Recorder(text, minutes=node.record_minutes, notes=notes))

    def finish(self) -> Path | None:
        """End the recording and begin to write it; the file, or None where nothing was."""
        model = self._model()
        if model is None or model.recorder is None:
            return None
        recorder = model.recorder
        model.record(None)
        stamp = time.strftime('%Y%m%d_%H%M%S')
        folder = Path(model.parameters.node.record_folder).expanduser()
        path = (folder / f'{self._node.get_name()}_{model.robot.name}_{stamp}.npz').absolute()
        self._writing = Job(lambda: self._write(recorder, path))
        return path

    def begin_due_segment(self, model: Model) -> None:
        """After each tick: let a recording go on in another segment where that is due."""
        if model.recorder is not None and model.recorder.segment_is_full:
            model.record(model.recorder)

    def _write(self, recorder: Recorder, path: Path) -> None:
        try:
            recorder.save(path)
            self._node.get_logger().info(f'the recording is in {path}; see `ik replay --help`')
        except OSError as error:
            self._node.get_logger().error(f'the recording is lost: {error}')

    def _on_record(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        model = self._model()
        if model is None:
            answer.message = 'there is no robot yet'
            return answer
        if not request.data:
            path = self.finish()
            answer.success = path is not None
            answer.message = f'writing {path}' if path else 'nothing is being recorded'
        elif model.recorder is not None:
            answer.message = 'a recording is under way'
        else:
            self._start_for(model, answer)
        return answer

    def _start_for(self, model: Model, answer: SetBool.Response) -> None:
        try:
            self.start(model)
        except (IkError, OSError) as error:
            answer.message = str(error)
            return
        minutes = model.parameters.node.record_minutes
        answer.success, answer.message = True, f'recording; the last {minutes:g} min are kept'
