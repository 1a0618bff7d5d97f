# SPDX-License-Identifier: Apache-2.0
"""The service ~/record: instructions and commands of the tracker, in a file for `ik replay`.

The tick only notes numbers in memory; files are written beside it. A recording holds the last
`record_minutes`, and ends with the service, with the model, or with the node. That it can be
written is checked when it begins, and no recording takes the place of another.

A file has the ending `.part` until it is whole. What a killed process of a node of the same name
has left behind is deleted when a recording begins in the same folder, once it is older than
LEFT_BEHIND: only files whose names are as `new_file` makes them.
"""

from __future__ import annotations

import re
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool

from ik_core import IkError
from ik_core.jobs import Job
from ik_core.tracking.recording import PART, Recorder, part_of

from ..robot_model import Model
from ..texts import explanation, sentence

LONGEST_NAME = 60  # characters of the robot's name that stand in the name of a file
# How names of files have the robot's name, and when they were begun.
ROBOT, TIME = rf'[A-Za-z0-9._-]{{0,{LONGEST_NAME}}}', '%Y%m%d_%H%M%S'
WRITING_TIME = 60.0  # [s] how long an ending node waits for each file to be written
LEFT_BEHIND = 3600.0  # [s] a file that was not written to for this long is abandoned


def check_folder(folder: Path, node: str) -> None:
    """Delete what a node left behind in a folder; OSError where no file can be written there."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f'record_folder: no file can be written in {folder}: {error.strerror}'
        ) from None
    own = re.compile(rf'{re.escape(node)}_{ROBOT}_\d{{8}}_\d{{6}}(_\d+)?\.npz{re.escape(PART)}')
    for path in folder.iterdir():
        with suppress(OSError):  # it is another user's, or gone
            found = path.lstat()
            is_old = time.time() - found.st_mtime > LEFT_BEHIND
            if own.fullmatch(path.name) and stat.S_ISREG(found.st_mode) and is_old:
                path.unlink()


def new_file(folder: Path, node: str, robot: str) -> Path:
    """The path of a file that no other one has; taken by an empty part. Raises OSError."""
    robot = re.sub(r'[^A-Za-z0-9.-]', '_', robot)[:LONGEST_NAME]
    stem = f'{node}_{robot}_{time.strftime(TIME)}'
    for number in count(1):
        path = folder / (f'{stem}.npz' if number == 1 else f'{stem}_{number}.npz')
        part = part_of(path)
        try:
            part.touch(exist_ok=False)
        except FileExistsError:
            continue
        if not path.exists():  # looked for last: who made it had the part
            return path
        part.unlink()
    raise AssertionError('there is always another number')


class RecordService:
    """Serves ~/record while open.

    `model` gives what is moved, None without a robot.
    """

    def __init__(self, node: Node, model: Callable[[], Model | None]) -> None:
        self._node, self._model = node, model
        self._service: Any = None
        self._folder = Path()
        self._writing: list[Job[None]] = []

    def open(self) -> None:
        """Offer the service."""
        self._service = self._node.create_service(SetBool, '~/record', self._on_record)

    def close(self) -> None:
        """Withdraw it; what was recorded is written when this returns."""
        if self._service is not None:
            self._node.destroy_service(self._service)
            self._service = None
        self.finish()
        for job in self._writing:
            job.wait(WRITING_TIME)
        self._writing.clear()

    def begin(self, model: Model) -> None:
        """Start where the parameter `record` asks for it; where that fails the node goes on."""
        if model.parameters.node.record and model.recorder is None:
            try:
                self.start(model)
            except Exception as error:  # of a recording, which keeps no joint from moving
                why = sentence(error) if isinstance(error, OSError) else explanation(error)
                self._node.get_logger().error(f'nothing is recorded: {why}')

    def start(self, model: Model) -> None:
        """Record this model from now on. Raises IkError or OSError where that can't be."""
        node = model.parameters.node
        folder = Path(node.record_folder).expanduser().absolute()
        check_folder(folder, self._node.get_name())
        notes = {'node': self._node.get_fully_qualified_name(), 'began': time.time()}
        model.record(Recorder(model.robot.counted_urdf, minutes=node.record_minutes, notes=notes))
        self._folder = folder

    def finish(self) -> Path | None:
        """End the recording and begin to write it; the file, or None where nothing was."""
        model = self._model()
        if model is None or model.recorder is None:
            return None
        recorder = model.recorder
        model.record(None)
        try:
            path = self._new_file(self._folder, model)
        except OSError:  # the folder is gone, or full
            path = self._new_file(Path(tempfile.gettempdir()), model)
        self._writing = [job for job in self._writing if not job.done]
        self._writing.append(Job(lambda: self._write(recorder, path, model.robot.name)))
        return path

    def _new_file(self, folder: Path, model: Model) -> Path:
        return new_file(folder, self._node.get_name(), model.robot.name)

    def _write(self, recorder: Recorder, path: Path, robot: str) -> None:
        """Write to the path; where that can't be, to the folder for temporary files."""
        if self._is_written(recorder, path):
            return
        with suppress(OSError):
            elsewhere = new_file(Path(tempfile.gettempdir()), self._node.get_name(), robot)
            if self._is_written(recorder, elsewhere):
                return
        self._node.get_logger().error('the recording is lost')

    def _is_written(self, recorder: Recorder, path: Path) -> bool:
        log = self._node.get_logger()
        try:
            recorder.save(path)
        except Exception as error:
            log.error(f'no recording in {path}: {sentence(error)}')
            return False
        log.info(f'the recording is in {path}; see `ik replay --help`')
        return True

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
            answer.message = sentence(error)
            return
        minutes = model.parameters.node.record_minutes
        answer.success, answer.message = True, f'recording; the last {minutes:g} min are kept'
