# SPDX-License-Identifier: Apache-2.0
"""The service ~/record: it records the tracker's instructions and commands for `ik replay`.

Ticks only store numbers in memory; background jobs write files. A recording holds the last
`record_minutes`, and ends by the service, or with the robot or the node. Its begin checks that a
file can be written. No recording overwrites another.

A file has the suffix `.part` until it is complete. A begin deletes abandoned parts of a node of
the same name in the same folder: those named as by `new_file` that are older than LEFT_BEHIND.
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

LONGEST_NAME = 60  # the name of a file has at most this many characters of the robot's name
# Pattern of the robot's name, and format of the begin, in names of files.
ROBOT, TIME = rf'[A-Za-z0-9._-]{{0,{LONGEST_NAME}}}', '%Y%m%d_%H%M%S'
WRITING_TIME = 60.0  # [s] longest wait of an ending node for each file
LEFT_BEHIND = 3600.0  # [s] a part that was not written to for longer is abandoned


def check_folder(folder: Path, node: str) -> None:
    """Raise OSError if no file can be written in a folder; delete the node's abandoned parts."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f'record_folder: no file can be written in {folder}: {error.strerror}'
        ) from None
    own = re.compile(rf'{re.escape(node)}_{ROBOT}_\d{{8}}_\d{{6}}(_\d+)?\.npz{re.escape(PART)}')
    for path in folder.iterdir():
        with suppress(OSError):  # the file is another user's, or deleted meanwhile
            found = path.lstat()
            is_old = time.time() - found.st_mtime > LEFT_BEHIND
            if own.fullmatch(path.name) and stat.S_ISREG(found.st_mode) and is_old:
                path.unlink()


def new_file(folder: Path, node: str, robot: str) -> Path:
    """Return the path of a new file, reserved by an empty part. Raises OSError."""
    robot = re.sub(r'[^A-Za-z0-9.-]', '_', robot)[:LONGEST_NAME]
    stem = f'{node}_{robot}_{time.strftime(TIME)}'
    for number in count(1):
        path = folder / (f'{stem}.npz' if number == 1 else f'{stem}_{number}.npz')
        part = part_of(path)
        try:
            part.touch(exist_ok=False)
        except FileExistsError:
            continue
        if not path.exists():  # checked last: its writer held the part until it existed
            return path
        part.unlink()
    raise AssertionError('there is always another number')


class RecordService:
    """The service ~/record. `model` returns the robot model that is moved, None without one."""

    def __init__(self, node: Node, model: Callable[[], Model | None]) -> None:
        self._node, self._model = node, model
        self._service: Any = None
        self._folder = Path()
        self._writing: list[Job[None]] = []

    def open(self) -> None:
        """Offer the service."""
        self._service = self._node.create_service(SetBool, '~/record', self._on_record)

    def close(self) -> None:
        """Withdraw the service, end the recording, and wait until it is written."""
        if self._service is not None:
            self._node.destroy_service(self._service)
            self._service = None
        self.finish()
        for job in self._writing:
            job.wait(WRITING_TIME)
        self._writing.clear()

    def begin(self, model: Model) -> None:
        """Start a recording if the parameter `record` is true; log an error if it fails."""
        if model.parameters.node.record and model.recorder is None:
            try:
                self.start(model)
            except Exception as error:  # a failed recording must not prevent motion
                why = sentence(error) if isinstance(error, OSError) else explanation(error)
                self._node.get_logger().error(f'nothing is recorded: {why}')

    def start(self, model: Model) -> None:
        """Start a recording of this model. Raises IkError or OSError."""
        node = model.parameters.node
        folder = Path(node.record_folder).expanduser().absolute()
        check_folder(folder, self._node.get_name())
        notes = {'node': self._node.get_fully_qualified_name(), 'began': time.time()}
        model.record(Recorder(model.robot.counted_urdf, minutes=node.record_minutes, notes=notes))
        self._folder = folder

    def finish(self) -> Path | None:
        """End the recording, begin to write it, and return its file; None without one."""
        model = self._model()
        if model is None or model.recorder is None:
            return None
        recorder = model.recorder
        model.record(None)
        try:
            path = self._new_file(self._folder, model)
        except OSError:  # the folder was deleted, or is full
            path = self._new_file(Path(tempfile.gettempdir()), model)
        self._writing = [job for job in self._writing if not job.done]
        self._writing.append(Job(lambda: self._write(recorder, path, model.robot.name)))
        return path

    def _new_file(self, folder: Path, model: Model) -> Path:
        return new_file(folder, self._node.get_name(), model.robot.name)

    def _write(self, recorder: Recorder, path: Path, robot: str) -> None:
        """Write the recording to `path`; on failure, to the folder for temporary files."""
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
