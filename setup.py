"""How ik_node is built and what it needs: read by colcon, by pip and by the Makefile.

On a robot the dependencies come from package.xml through rosdep. The extras below are for pip:
`ros` is ROS 2 Jazzy's own rclpy and messages as wheels, for machines without a ROS 2;
`ros-kilted` is Kilted's.

Building compiles the kernels (`ik_core/kernels/build.py`) for this processor, with the numba of
this Python or of an environment that it makes in build/. IK_KERNELS=all compiles them for all
processors of this architecture, IK_KERNELS=x86_64 or aarch64 for all of that one, IK_KERNELS=off
for none. If it can't, it builds without them and says so.
"""

import os
import platform
import runpy
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import ClassVar

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
WANTED = os.environ.get('IK_KERNELS')

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


def say(text: str) -> None:
    """Report what the build does, or can't do."""
    print(f'{NAME}: {text}', file=sys.stderr, flush=True)


class Kernels(build_ext):
    """Compile the kernels, in the place of C extensions: all ways to install run this command."""

    made: ClassVar[list[str]] = []

    def run(self) -> None:
        """Put the library where the package is built, or beside the sources."""
        here = HERE / KERNELS
        inplace = self.inplace or getattr(self, 'editable_mode', False)
        folder = here if inplace else Path(self.build_lib).resolve() / KERNELS
        is_of_these = runpy.run_path(str(here / 'sources.py'))['is_of_these']
        if WANTED == 'off':
            return
        if not WANTED:
            if folder != here:
                folder.mkdir(parents=True, exist_ok=True)
                for made in filter(is_of_these, here.glob('ik-*.so')):
                    shutil.copy2(made, folder)
                if (here / 'ik_core.h').exists():
                    shutil.copy2(here / 'ik_core.h', folder)
            type(self).made = [str(made) for made in folder.glob('ik-*.so') if is_of_these(made)]
        if not self.made:
            problem = self.compile(folder)
            type(self).made = sorted(map(str, folder.glob('ik-*.so')))
            if problem:
                say(
                    f'the kernels are not compiled: {problem}. All works, but the first solve '
                    'compiles for a minute or two if numba is installed, and every solve takes a '
                    f'hundred times as long if it is not. To mend it: install {MENDED_BY}'
                )

    def compile(self, folder: Path) -> str:
        """Compile into a folder; return what went wrong."""
        if sys.platform != 'linux' or platform.machine() not in ('x86_64', 'aarch64'):
            return f'there is no library for {platform.system()} on {platform.machine()}'
        if shutil.which('cc') is None:
            return 'there is no C compiler, cc'
        released = runpy.run_path(str(HERE / KERNELS / 'sources.py'))['assembly']()
        python, problem = (sys.executable, '') if released else python_with_numba()
        if python is None:
            return problem
        command = [python, str(HERE / KERNELS / 'build.py'), str(folder)]
        if subprocess.run(command, stdout=sys.stderr, check=False).returncode:
            return 'build.py failed'
        header, own = [python, '-m', 'ik_core.for_c.header'], {**os.environ, 'IK_KERNELS': 'off'}
        if subprocess.run([*header, str(folder)], cwd=HERE, env=own, check=False).returncode:
            say('ik_core.h, the header for programs in C, could not be made')
        return ''

    def get_outputs(self) -> list[str]:
        """Return what `setup.py install` records."""
        headers = {str(Path(made).with_name('ik_core.h')) for made in self.made}
        return [*self.made, *filter(os.path.exists, headers)]

    def get_output_mapping(self) -> dict[str, str]:
        """Return links of an editable install: none."""
        return {}


MENDED_BY = (
    'python3-venv and build-essential, and build again with a network.'
    if sys.platform == 'linux'
    else 'numba.'
)
NEEDED = ('numba>=0.61', 'numpy', 'scipy', 'urdf_parser_py')
CHECK = 'import numba, scipy, urdf_parser_py, sys; sys.exit(numba.version_info.short < (0, 61))'


def python_with_numba() -> tuple[str | None, str]:
    """Return a Python that can compile the kernels, or None and why there is none."""
    if not subprocess.run([sys.executable, '-c', CHECK], stderr=subprocess.DEVNULL).returncode:
        return sys.executable, ''
    venv = HERE / 'build' / 'kernels-venv'
    python, own = venv / 'bin' / 'python', {**os.environ}
    own.pop('PYTHONPATH', None)
    quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL, 'env': own}
    if not python.exists() or subprocess.run([python, '-c', CHECK], **quiet).returncode:
        say(f'no numba 0.61 or newer here: putting one from pip into {venv}, to compile kernels')
        for command in (
            [sys.executable, '-m', 'venv', '--clear', str(venv)],
            [str(python), '-m', 'pip', 'install', '--quiet', *NEEDED],
        ):
            if subprocess.run(command, **quiet).returncode:
                return None, f'no numba 0.61 or newer, and `{" ".join(command)}` failed'
    return str(python), ''


class Source(sdist):
    """The source package: with the kernels as assembly, where `build.py --assembly` made it."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Put the files into a folder."""
        assembly = map(str, (KERNELS / 'assembly').glob('*'))
        super().make_release_tree(base_dir, [*files, *assembly])


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
            if WANTED in ('x86_64', 'aarch64'):
                platforms = f'manylinux_2_28_{WANTED}'
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
    license='Apache-2.0',
    classifiers=[
        'Development Status :: 4 - Beta',
        'Intended Audience :: Science/Research',
        'Operating System :: MacOS',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3',
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
        files('examples', '*.py', '*.c'),
    ],
    zip_safe=False,
    python_requires='>=3.10',
    install_requires=['numpy', 'scipy', 'urdf_parser_py', 'pyyaml'],
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
            'markdown-it-py',
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
            'ik = ik_core.__main__:main',
            'ik_node = ik_node.main:main',
            'ik_demo = ik_node.tools.demo:main',
            'ik_viewer = ik_viewer.main:main',
        ],
    },
)
