# SPDX-License-Identifier: Apache-2.0
"""How ik_node is built and what it needs: read by colcon, by pip and by the Makefile.

On a robot the dependencies come from package.xml through rosdep. The extras below are for pip:
`ros` is ROS 2 Jazzy's own rclpy and messages as wheels, for machines without a ROS 2;
`ros-kilted` is Kilted's.

Building compiles the kernels (`ik_core/kernels/build.py`) for this processor, with the numba of
this Python or of an environment that it makes below the build base. IK_KERNELS=all compiles them
for all processors of this architecture, IK_KERNELS=x86_64, aarch64 or macos_arm64 for all of that
one, IK_KERNELS=off for none. If it can't, it builds without them and says so; with
IK_KERNELS_REQUIRED=1, and where a package of Debian or RPM is built, it fails.
"""

import os
import platform
import runpy
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, ClassVar

import setuptools
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools below 70.1, as distributions have
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', FutureWarning)
            from wheel.bdist_wheel import bdist_wheel
    except ImportError:  # no wheel is made where colcon builds
        bdist_wheel = None

HERE = Path(__file__).resolve().parent
KERNELS = Path('ik_core', 'kernels')
HEADER = 'ik_core.h'
WANTED = os.environ.get('IK_KERNELS')
MACHINE = ('macos_' if sys.platform == 'darwin' else '') + platform.machine()
# The platforms of wheels with libraries for all processors of an architecture
PLATFORMS = {
    'x86_64': 'manylinux_2_28_x86_64',
    'aarch64': 'manylinux_2_28_aarch64',
    'macos_arm64': 'macosx_11_0_arm64',
}
# Whether a build without kernels fails: packages of Debian and RPM must have them, too
REQUIRED = any(map(os.environ.get, ('IK_KERNELS_REQUIRED', 'DEB_BUILD_ARCH', 'RPM_PACKAGE_NAME')))
# Requirement of the compiler of kernels: up to the newest that the workflows have built with
NUMBA = 'numba>=0.61,<0.69'

NAME = 'ik_node'
SHARE = f'share/{NAME}'

# A placeholder, as the maintainer's address: docs/develop/releasing.md
URL = 'https://ik-node.example'
NAMES_EXPRESSION = tuple(map(int, setuptools.__version__.split('.')[:2])) >= (77, 0)
# PEP 639's field, and the one before it for the setuptools of distributions
LICENSE = {'license_expression' if NAMES_EXPRESSION else 'license': 'Apache-2.0'}

MESSAGES = ['std', 'geometry', 'sensor', 'trajectory', 'visualization', 'diagnostic']


def ros_wheels(rclpy: str, messages: str) -> list[str]:
    """Return the wheels of one ROS 2: rclpy and the messages, at compatible versions."""
    names = [*(f'ros-{name}-msgs' for name in MESSAGES), 'ros-std-srvs']
    return [f'ros-rclpy[fastrtps]~={rclpy}', *(f'{name}~={messages}' for name in names)]


def files(folder: str, *patterns: str) -> tuple[str, list[str]]:
    """Return the entry of data_files that installs a folder of the tree under share/."""
    found = (path for pattern in patterns for path in Path(folder).glob(pattern))
    return f'{SHARE}/{folder}', sorted(map(str, found))


def say(text: str) -> None:
    """Report what the build does, or can't do."""
    print(f'{NAME}: {text}', file=sys.stderr, flush=True)


class Kernels(build_ext):
    """Compile the kernels, in the place of C extensions: all ways to install run this command."""

    made: ClassVar[list[str]] = []

    def run(self) -> None:
        """Put the libraries and their header where the package is built, or beside the sources."""
        here = HERE / KERNELS
        inplace = self.inplace or getattr(self, 'editable_mode', False)
        folder = here if inplace else Path(self.build_lib).resolve() / KERNELS
        if WANTED == 'off':
            if REQUIRED:
                sys.exit(f'{NAME}: IK_KERNELS=off, but the kernels are required')
            return
        is_of_these = runpy.run_path(str(here / 'sources.py'))['is_of_these']
        if not WANTED:
            if folder != here:
                folder.mkdir(parents=True, exist_ok=True)
                for made in filter(is_of_these, here.glob('ik-*.so')):
                    shutil.copy2(made, folder)
                if (here / HEADER).exists():
                    shutil.copy2(here / HEADER, folder)
            if (folder / HEADER).exists():
                type(self).made = [*map(str, filter(is_of_these, folder.glob('ik-*.so')))]
        if self.made:
            return
        problem = self.compile(folder)
        type(self).made = sorted(map(str, filter(is_of_these, folder.glob('ik-*.so'))))
        if REQUIRED and not self.made:
            problem = problem or f'there is none for {WANTED}'
        if problem and REQUIRED:
            sys.exit(f'{NAME}: the kernels are not compiled, but required: {problem}')
        if problem:
            say(
                f'the kernels are not compiled: {problem}. All works, but the first solve '
                'compiles for a minute or two if numba is installed, and every solve takes a '
                f'hundred times as long if it is not. To mend it: install {MENDED_BY}'
            )

    def compile(self, folder: Path) -> str:
        """Compile into a folder; return what went wrong."""
        if MACHINE not in PLATFORMS:
            return f'there is no library for {platform.system()} on {platform.machine()}'
        if shutil.which('cc') is None:
            return 'there is no C compiler, cc'
        build = [str(HERE / KERNELS / 'build.py'), str(folder)]
        released = runpy.run_path(str(HERE / KERNELS / 'sources.py'))['assembly']()
        if released or succeeds(sys.executable, '-c', CHECK, stderr=DEVNULL):
            return run_build(sys.executable, build)
        base = Path(self.get_finalized_command('build').build_base).resolve()
        with tempfile.TemporaryDirectory() as place:  # as pip builds in the folder of the sources
            own = Path(place) if base == HERE / 'build' else base
            python, problem = python_with_numba(own / 'kernels-venv')
            return problem or run_build(python, build)

    def get_outputs(self) -> list[str]:
        """Return what `setup.py install` records."""
        return [*self.made, *{str(Path(made).with_name(HEADER)) for made in self.made}]

    def get_output_mapping(self) -> dict[str, str]:
        """Return links of an editable install: none."""
        return {}


MENDED_BY = {
    'linux': 'python3-venv and build-essential, and build again with a network.',
    'darwin': 'the command line tools of Xcode, and build again with a network.',
}.get(sys.platform, 'numba.')
NEEDED = (NUMBA, 'numpy', 'scipy')
CHECK = 'import numba, scipy, sys; sys.exit(not (0, 61) <= numba.version_info.short < (0, 69))'


def succeeds(*command: str, **streams: Any) -> bool:
    """Return whether a command succeeds; other Pythons than this one get no PYTHONPATH."""
    is_this = command[0] == sys.executable
    own = {name: value for name, value in os.environ.items() if is_this or name != 'PYTHONPATH'}
    return not subprocess.run(command, env=own, check=False, **streams).returncode


def run_build(python: str, build: list[str]) -> str:
    """Build with a Python; return what went wrong."""
    return '' if succeeds(python, *build, stdout=sys.stderr) else 'build.py failed'


def python_with_numba(venv: Path) -> tuple[str, str]:
    """Make an environment with pip's numba, unless it is there; return its Python, and what went
    wrong."""
    python, quiet = str(venv / 'bin' / 'python'), {'stdout': DEVNULL, 'stderr': DEVNULL}
    if Path(python).exists() and succeeds(python, '-c', CHECK, **quiet):
        return python, ''
    say(f'no {NUMBA} here: putting one from pip into {venv}, to compile kernels')
    for command in (
        (sys.executable, '-m', 'venv', '--clear', str(venv)),
        (python, '-m', 'pip', 'install', '--quiet', *NEEDED),
    ):
        if not succeeds(*command, **quiet):
            return python, f'no {NUMBA}, and `{" ".join(command)}` failed'
    return python, ''


TEST_FILES = '.py', '.txt', '.xml', '.csv', '.json'


class Source(sdist):
    """The source package: with tests, and the kernels as assembly where `build.py --assembly` made
    it."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Put the files into a folder."""
        more = [*(KERNELS / 'assembly').glob('*'), Path('pytest.ini')]
        more += (path for path in Path('test').rglob('*') if path.suffix in TEST_FILES)
        super().make_release_tree(base_dir, [*files, *map(str, more)])


commands = {'build_ext': Kernels, 'sdist': Source}
if bdist_wheel is not None:

    class Wheel(bdist_wheel):
        """A wheel for all Pythons: py3-none-PLATFORM with the library, py3-none-any without."""

        def finalize_options(self) -> None:
            """Mark the wheel as one with compiled files."""
            super().finalize_options()
            self.root_is_pure = False

        def get_tag(self) -> tuple[str, str, str]:
            """Return the tag."""
            platforms = super().get_tag()[2]
            platforms = PLATFORMS.get(WANTED or '', platforms)
            return 'py3', 'none', platforms if Kernels.made else 'any'

    commands['bdist_wheel'] = Wheel


setup(
    name=NAME,
    version='0.1.0',
    description='Inverse kinematics for any URDF: a solver library and a ROS 2 node',
    long_description=(HERE / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    author='ik_node maintainers',
    author_email='maintainers@ik-node.example',
    maintainer='ik_node maintainers',
    maintainer_email='maintainers@ik-node.example',
    url=URL,
    project_urls={
        'Source': f'{URL}/source',
        'Issues': f'{URL}/issues',
        'Documentation': f'{URL}/docs',
    },
    **LICENSE,
    license_files=['LICENSE'],
    classifiers=[
        'Development Status :: 4 - Beta',
        'Intended Audience :: Developers',
        'Intended Audience :: Science/Research',
        'Operating System :: MacOS',
        'Operating System :: POSIX :: Linux',
        *(f'Programming Language :: Python :: 3.{minor}' for minor in range(10, 15)),
        'Topic :: Scientific/Engineering',
        'Typing :: Typed',
    ],
    packages=find_packages(include=['ik_core*', 'ik_node*', 'ik_viewer*']),
    package_data={'ik_core': ['py.typed', 'kernels/call.c', 'kernels/reshape.ll']},
    ext_modules=[Extension('ik_core.kernels.library', [])],  # so that build_ext is run
    cmdclass=commands,
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (SHARE, ['package.xml', 'CHANGELOG.rst']),
        files('launch', '*.py'),
        files('config', '*.yaml', '*.rviz', '*.xml', '*.csv'),
        files('motions', '*.csv'),
        files('urdf', '*.urdf', '*.xacro'),
        *(files(str(folder), '*.obj') for folder in sorted(Path('urdf/meshes').glob('*'))),
        files('examples', '*.py', '*.c'),
    ],
    zip_safe=False,
    python_requires='>=3.10',
    install_requires=['numpy', 'scipy', 'urdf_parser_py', 'pyyaml'],
    extras_require={
        'fast': [NUMBA],
        'ros': ros_wheels('7.1.6', '5.3.0'),
        'ros-kilted': ros_wheels('9.1.2', '5.5.0'),
        'test': ['pytest'],  # colcon looks for it here; pyproject.toml has what tests use
        'complete': ['argcomplete'],
        'figures': ['matplotlib'],
        'viewer': ['viser~=1.1', 'pycollada'],  # pycollada: meshes in DAE files
        'rerun': ['rerun-sdk>=0.23', 'trimesh'],
        'dask': ['distributed'],
        'pybullet': ['pybullet'],
        'ruckig': ['ruckig'],  # what jerk-limited moves are compared with
    },
    entry_points={
        'console_scripts': [
            'ik = ik_core.__main__:main',
            'ik_node = ik_node.main:main',
            'ik_demo = ik_node.tools.demo:main',
            'ik_viewer = ik_viewer.main:main',
        ],
    },
)
