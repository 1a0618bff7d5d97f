"""How ik_node is built and what it needs: read by colcon, by pip and by the Makefile.

On a robot the dependencies come from package.xml through rosdep. The extras below are for pip:
`ros` is ROS 2 Jazzy's own rclpy and messages as wheels, for machines without a ROS 2;
`ros-kilted` is Kilted's.
"""

from pathlib import Path

from setuptools import find_packages, setup

NAME = 'ik_node'
SHARE = f'share/{NAME}'

MESSAGES = ['std', 'geometry', 'sensor', 'trajectory', 'visualization', 'diagnostic']


def ros_wheels(rclpy: str, messages: str) -> list[str]:
    """Return the wheels of one ROS 2: rclpy and the messages, at compatible versions."""
    names = [*(f'ros-{name}-msgs' for name in MESSAGES), 'ros-std-srvs']
    return [f'ros-rclpy[fastrtps]~={rclpy}', *(f'{name}~={messages}' for name in names)]


def files(folder: str, *patterns: str) -> tuple[str, list[str]]:
    """Return the entry of data_files that installs a folder of the tree under share/."""
    found = (path for pattern in patterns for path in Path(folder).glob(pattern))
    return f'{SHARE}/{folder}', sorted(map(str, found))


setup(
    name=NAME,
    version='0.1.0',
    description='Inverse kinematics for any URDF: a solver library and a ROS 2 node',
    long_description=Path('README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    author='ik_node maintainers',
    author_email='maintainers@ik-node.example',
    maintainer='ik_node maintainers',
    maintainer_email='maintainers@ik-node.example',
    license='Apache-2.0',
    packages=find_packages(include=['ik_core*', 'ik_node*', 'ik_viewer*']),
    package_data={'ik_core': ['py.typed']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (SHARE, ['package.xml']),
        files('launch', '*.py'),
        files('config', '*.yaml', '*.rviz', '*.xml', '*.csv'),
        files('urdf', '*.urdf', '*.xacro'),
        files('examples', '*.py'),
    ],
    zip_safe=False,
    python_requires='>=3.10',
    install_requires=['numpy', 'scipy', 'urdf_parser_py'],
    extras_require={
        'fast': ['numba'],
        'ros': ros_wheels('7.1.6', '5.3.0'),
        'ros-kilted': ros_wheels('9.1.2', '5.5.0'),
        'test': [
            'pytest',
            'pytest-xdist',
            'hypothesis',
            'wheel',
            'pin',
            'example-robot-data',
            'argcomplete',
        ],
        'bench': ['matplotlib'],
        'complete': ['argcomplete'],
        'colcon': ['colcon-common-extensions'],
        'figures': ['matplotlib'],
        'viewer': ['viser~=1.1', 'pycollada'],  # pycollada: meshes in DAE files
        'browser': ['playwright', 'pillow'],  # drives the Chromium that is installed
        'dask': ['distributed'],
        'peers': ['EAIK', 'ik-geo', 'ssik[urdf]; python_version >= "3.10"'],  # closed forms
        'pybullet': ['pybullet'],
        'ruckig': ['ruckig'],  # what jerk-limited moves are compared with
        'docs': ['sphinx', 'myst-parser', 'furo'],
        'lint': ['ruff~=0.17.5', 'mypy~=2.4.1'],
    },
    entry_points={
        'console_scripts': [
            'ik = ik_node.tools.ik:main',
            'ik_node = ik_node.main:main',
            'ik_demo = ik_node.tools.demo:main',
            'ik_viewer = ik_viewer.main:main',
        ],
    },
)
