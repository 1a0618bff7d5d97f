# SPDX-License-Identifier: Apache-2.0
"""Recordings: the instructions and commands of a tracker, in a file, and their replay.

A `Recorder` observes a tracker without changing it: a snapshot of its state, the instructions that
it applies, each at its tick, its commands, and every reading of its clock. Time budgets end
solves, so with the same readings in the same order a run is the same to the last bit. The result
of a background search for another configuration is an instruction, too, `OfferConfiguration`: a
replay does not search. A recording consists of segments, each with a snapshot of its own, and the
oldest are dropped, so that a node can record for days and keep the last minutes.

A file is a numpy archive (.npz, read without pickle): `header`, JSON as UTF-8, and for segment i
the arrays `i.now`, `i.q`, `i.status`, `i.iterations` (a row per tick), `i.clock` (readings) and
`i.numbers`, to which all arrays of the header refer by offset and shape.
"""

from .reading import InvalidRecording, Recording, read_recording
from .recorder import PART, Recorder, part_of, versions
from .replays import Replay, draw_replay, replay

__all__ = [
    'PART',
    'InvalidRecording',
    'Recorder',
    'Recording',
    'Replay',
    'draw_replay',
    'part_of',
    'read_recording',
    'replay',
    'versions',
]
