"""Files that are shipped beside the code: robots, configuration."""

from pathlib import Path


def shared_file(name: str) -> Path:
    """The path of a shipped file such as 'urdf/panda.urdf', in the source tree or installed.

    colcon, pip and setup.py all install to <prefix>/share/ik_node, with the code somewhere below
    the same prefix. Raises FileNotFoundError.
    """
    here = Path(__file__).resolve()
    tree = here.parents[1]
    candidates = [tree / name, *(p / 'share' / 'ik_node' / name for p in here.parents)]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f'{name} is not in {tree}, nor in share/ik_node of any folder above')
