# SPDX-License-Identifier: Apache-2.0
"""Write the meshes that the shipped panda, ur5e and iiwa14 are drawn with.

    python scripts/robot_meshes                  # into urdf/meshes
    python scripts/robot_meshes --out FOLDER

One OBJ [mm] for each colour of a link. They are made from dimensions of data sheets and the
kinematics of the URDFs; the colours are materials of the URDFs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import iiwa14
import panda
import ur5e
from solids import obj

FOLDER = Path(__file__).resolve().parents[2] / 'urdf' / 'meshes'
ROBOTS = {'panda': panda.links, 'ur5e': ur5e.links, 'iiwa14': iiwa14.links}


def main() -> None:
    """Write all files, and print the size of each robot's."""
    parser = argparse.ArgumentParser(description='meshes of the shipped robots')
    parser.add_argument('--out', type=Path, default=FOLDER, metavar='FOLDER')
    folder = parser.parse_args().out
    for robot, links in ROBOTS.items():
        (folder / robot).mkdir(parents=True, exist_ok=True)
        size = 0
        for link, colours in links().items():
            for colour, solids in colours.items():
                size += (folder / robot / f'{link}_{colour}.obj').write_bytes(obj(solids).encode())
        print(f'{robot}: {size / 1e3:.0f} kB')


if __name__ == '__main__':
    main()
