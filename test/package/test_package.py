# SPDX-License-Identifier: Apache-2.0
"""Contents of the package: package.xml, setup.py, installed files, make's scripts."""

import ast
import configparser
import hashlib
import platform
import re
import runpy
import shutil
import struct
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml
from support.installed_tree import ROOT, copy_tree, install_like_colcon, run, site_packages

import ik_core as ik
from ik_core.kernels import sources

pytestmark = pytest.mark.long
PACKAGE = ElementTree.parse(ROOT / 'package.xml').getroot()
COMMANDS = {'ik', 'ik_node', 'ik_demo', 'ik_viewer'}
SHARED = sorted(
    str(path.relative_to(ROOT))
    for folder, pattern in (
        ('launch', '*.py'),
        ('config', '*'),
        ('motions', '*'),
        ('urdf', '*.urdf'),
        ('urdf', 'meshes/*/*'),
        ('examples', '*.py'),
        ('examples', '*.c'),
    )
    for path in (ROOT / folder).glob(pattern)
)

# The key of package.xml that brings a module, where it is not the module's own name.
KEYS = {
    'numpy': 'python3-numpy',
    'scipy': 'python3-scipy',
    'yaml': 'python3-yaml',
    'urdf_parser_py': 'urdfdom_py',
    'tf2_ros': 'tf2_ros_py',
}
UNDECLARED = {
    'argcomplete',
    'typing_extensions',  # for type checkers, which know it
    'matplotlib',
    'mujoco',
    'distributed',
    'pinocchio',
    'numba',
    'llvmlite',  # comes with numba
    'rerun',
    'robot_descriptions',
    'viser',
    'coal',  # optional, for `ik check`
    'trimesh',  # comes with viser
}  # used where installed


def depends(*tags: str) -> set[str]:
    return {element.text or '' for tag in tags for element in PACKAGE.iterfind(tag)}


def imported_modules() -> set[str]:
    """Top-level modules that the installed code imports, wherever in a file."""
    modules: set[str] = set()
    for folder in ('ik_core', 'ik_node', 'ik_viewer', 'launch'):
        for path in (ROOT / folder).rglob('*.py'):
            for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
                if isinstance(node, ast.Import):
                    modules |= {alias.name.partition('.')[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    modules.add((node.module or '').partition('.')[0])
    return modules - sys.stdlib_module_names - {'ik_core', 'ik_node', 'ik_viewer'}


def setup_arguments(tree: Path) -> dict:
    """Return the arguments that setup.py passes to setup(), without the classes of commands."""
    code = (
        'import setuptools, runpy, pprint\n'
        'setuptools.setup = lambda cmdclass, ext_modules, **others: pprint.pprint(others)\n'
        "runpy.run_path('setup.py')"
    )
    done = run(sys.executable, '-c', code, cwd=tree)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


@pytest.fixture(scope='module')
def setup(tmp_path_factory):
    return setup_arguments(copy_tree(tmp_path_factory.mktemp('setup') / 'source'))


@pytest.fixture(scope='module')
def prefix(tmp_path_factory):
    return install_like_colcon(tmp_path_factory.mktemp('colcon'))


def test_package_xml_is_format_3_of_an_ament_python_package():
    assert PACKAGE.get('format') == '3'
    assert PACKAGE.findtext('export/build_type') == 'ament_python'


@pytest.mark.parametrize('field', ['name', 'version', 'license'])
def test_package_xml_and_setup_py_agree(setup, field):
    names = [field, 'license_expression'] if field == 'license' else [field]
    assert [setup[name] for name in names if name in setup] == [PACKAGE.findtext(field)]


def test_package_xml_and_setup_py_have_the_same_addresses(setup):
    urls = {element.get('type'): element.text for element in PACKAGE.iterfind('url')}
    assert urls['website'] == setup['url']
    assert urls['repository'] == setup['project_urls']['Source']
    assert urls['bugtracker'] == setup['project_urls']['Issues']


def test_the_version_that_the_library_tells_is_the_package_s():
    assert ik.__version__ == PACKAGE.findtext('version')


def test_citations_have_the_package_s_version_and_license():
    cited = yaml.safe_load((ROOT / 'CITATION.cff').read_text('utf-8'))
    assert {'cff-version', 'message', 'title', 'authors'} <= cited.keys()
    for field in ('version', 'license'):
        assert str(cited[field]) == PACKAGE.findtext(field)
    readme = (ROOT / 'README.md').read_text('utf-8')
    assert re.findall(r'version += \{(.*)\}', readme) == [PACKAGE.findtext('version')]


def test_every_module_that_is_imported_is_declared():
    declared = depends('exec_depend', 'depend')
    needed = {KEYS.get(module, module) for module in imported_modules() - UNDECLARED}
    assert needed <= declared, f'package.xml lacks {sorted(needed - declared)}'


def test_a_robot_without_a_screen_gets_no_rviz_and_the_error_names_what_is_missing():
    run_by = {}
    for path in (ROOT / 'launch').glob('*.py'):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.List) and len(node.elts) > 1:
                first, second = node.elts[:2]
                if isinstance(first, ast.Constant) and first.value == 'ros2':
                    run_by[f'ros2{ast.literal_eval(second)}'] = path.name
    assert 'ros2topic' in run_by, 'the demo sends goals as from a shell'
    run_by['rviz2'] = 'ik.launch.py'
    assert not run_by.keys() & depends('exec_depend', 'depend')
    for package, name in run_by.items():
        source = (ROOT / 'launch' / name).read_text('utf-8')
        assert f"get_package_prefix('{package}')" in source
        assert f'-{package}' in source, 'the line of apt'


def test_package_xml_never_names_the_wheels():
    assert not [key for key in depends('depend', 'exec_depend', 'test_depend') if 'ros-' in key]


def test_only_extras_name_the_wheels(setup):
    assert not [name for name in setup['install_requires'] if name.startswith('ros-')]
    naming = {
        extra
        for extra, names in setup['extras_require'].items()
        if any(name.startswith('ros-') for name in names)
    }
    assert naming == {'ros', 'ros-kilted'}


def test_colcon_finds_the_tests_through_an_extra(setup):
    assert 'pytest' in setup['extras_require']['test']
    assert 'tests_require' not in setup


def test_colcon_puts_commands_where_ros2_run_looks(prefix):
    folder = prefix / 'lib' / 'ik_node'
    assert {path.name for path in folder.iterdir()} == COMMANDS
    assert all(path.stat().st_mode & 0o111 for path in folder.iterdir())


def test_colcon_installs_every_shared_file(prefix):
    share = prefix / 'share' / 'ik_node'
    found = {str(path.relative_to(share)) for path in share.rglob('*') if path.is_file()}
    assert found == {*SHARED, 'package.xml', 'CHANGELOG.rst'}
    assert (prefix / 'share/ament_index/resource_index/packages/ik_node').is_file()


def test_every_module_is_installed(prefix):
    modules = site_packages(prefix)
    for name in ('ik_core', 'ik_node', 'ik_viewer'):
        sources = {path.relative_to(ROOT) for path in (ROOT / name).rglob('*.py')}
        assert sources == {path.relative_to(modules) for path in (modules / name).rglob('*.py')}


def test_pip_puts_commands_on_the_path_and_files_into_share(tmp_path):
    pytest.importorskip('pip')
    tree = copy_tree(tmp_path / 'source')
    done = run(
        sys.executable, '-m', 'pip', 'wheel', '--no-deps', '--no-build-isolation', '.',
        '--wheel-dir', tmp_path, cwd=tree, IK_KERNELS='off',
    )  # fmt: skip
    if 'bdist_wheel' in done.stderr:
        pytest.skip('setuptools older than 70.1 needs the package wheel')
    assert done.returncode == 0, done.stderr
    wheel = zipfile.ZipFile(next(tmp_path.glob('ik_node-*.whl')))
    assert not [name for name in wheel.namelist() if name.startswith(('benchmark', 'test'))]
    assert 'ik_core/py.typed' in wheel.namelist()  # without it all types of users are Any
    entries = configparser.ConfigParser()
    name = next(name for name in wheel.namelist() if name.endswith('entry_points.txt'))
    entries.read_string(wheel.read(name).decode())
    assert set(entries['console_scripts']) == COMMANDS
    data = 'ik_node-{}.data/data/share/ik_node/'.format(PACKAGE.findtext('version'))
    shared = {name.removeprefix(data) for name in wheel.namelist() if name.startswith(data)}
    assert shared == {*SHARED, 'package.xml', 'CHANGELOG.rst'}


# The scripts behind make


def scripts_only(folder: Path) -> Path:
    """A tree with nothing but the scripts: what they make stays in it."""
    shutil.copytree(ROOT / 'scripts', folder / 'scripts')
    return folder


def fake_python(folder: Path, body: str) -> str:
    """An executable in place of python3."""
    path = folder / 'fake_python'
    path.write_text(f'#!/bin/sh\n{body}\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ('ros_distro', 'body', 'complaint'),
    [
        ('', 'echo 3.9', '3.10 or newer is needed'),
        ('', 'echo 3.14', 'there are no rclpy wheels for Python 3.14'),
        ('', 'case "$*" in *ensurepip*) exit 1;; *) echo 3.11;; esac', 'install python3.11-venv'),
        ('jazzy', 'case "$*" in *rclpy*) exit 1;; *) echo 3.12;; esac', 'cannot import its rclpy'),
        ('', 'exit 127', 'apt install python3'),
    ],
)  # fmt: skip
def test_environment_says_what_is_missing(tmp_path, ros_distro, body, complaint):
    tree = scripts_only(tmp_path)
    python = fake_python(tmp_path, body)
    environment = {'PYTHON': python, 'ROS_DISTRO': ros_distro, 'ROS_WHEELS': ''}
    done = run('scripts/environment', 'test', cwd=tree, **environment)
    assert done.returncode != 0
    assert done.stdout == ''
    assert complaint in done.stderr
    assert not list(tree.glob('.venv*'))


def test_wheels_of_an_unknown_ros_are_refused_with_the_known_ones(tmp_path):
    tree = scripts_only(tmp_path)
    python = fake_python(tmp_path, 'echo 3.12')
    environment = {'PYTHON': python, 'ROS_DISTRO': '', 'ROS_WHEELS': 'foxy'}
    done = run('scripts/environment', 'test', cwd=tree, **environment)
    assert done.returncode != 0
    assert 'ROS_WHEELS=foxy: there are wheels of jazzy and of kilted' in done.stderr
    assert not list(tree.glob('.venv*'))


def test_a_complete_ros_is_used_as_it_is(tmp_path):
    tree = scripts_only(tmp_path)
    python = fake_python(tmp_path, 'case "$*" in *version_info*) echo 3.12;; esac')
    done = run('scripts/environment', 'demo', cwd=tree, PYTHON=python, ROS_DISTRO='jazzy')
    assert (done.returncode, done.stdout.strip()) == (0, python)
    assert not list(tree.glob('.venv*'))


# --- the library ---------------------------------------------------------------------------------


def build_kernels(tmp_path, **environment):
    """Build a copy of the tree, which has to end without a library; return its error output."""
    tree = copy_tree(tmp_path / 'source')
    for library in tree.rglob('ik-*.so'):
        library.unlink()
    build = 'setup.py', '-q', 'build_ext', '--build-lib', tmp_path / 'built'
    done = run(sys.executable, *build, cwd=tree, **{'IK_KERNELS': '', **environment})
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob('ik-*.so'))
    return done.stderr


def test_without_a_c_compiler_the_build_says_what_to_install(tmp_path):
    said = build_kernels(tmp_path, PATH=str(tmp_path))
    assert 'the kernels are not compiled: there is no C compiler' in said
    assert 'install python3-venv and build-essential' in said


@pytest.mark.thorough
def test_without_numba_and_a_network_the_build_says_what_to_install(tmp_path):
    (tmp_path / 'numba.py').write_text('raise ImportError')
    (tmp_path / 'cc').write_text('')
    (tmp_path / 'cc').chmod(0o755)
    offline = {'PIP_NO_INDEX': '1', 'PIP_FIND_LINKS': '', 'PIP_CONFIG_FILE': '/dev/null'}
    said = build_kernels(tmp_path, PATH=str(tmp_path), PYTHONPATH=str(tmp_path), **offline)
    assert 'putting one from pip into' in said
    assert 'the kernels are not compiled: no numba>=0.61,' in said
    assert 'install python3-venv and build-essential' in said


def test_ik_kernels_off_builds_no_library_and_says_nothing(tmp_path):
    assert build_kernels(tmp_path, IK_KERNELS='off') == ''


@pytest.mark.parametrize(
    'wanted',
    [{'IK_KERNELS_REQUIRED': '1'}, {'DEB_BUILD_ARCH': 'amd64'}, {'RPM_PACKAGE_NAME': 'x'}],
)
def test_a_build_that_must_have_kernels_fails_without(tmp_path, wanted):
    tree = source_without_library(tmp_path)
    build = sys.executable, 'setup.py', '-q', 'build_ext', '--build-lib', tmp_path / 'built'
    done = run(*build, cwd=tree, **{'IK_KERNELS': '', 'PATH': str(tmp_path)} | wanted)
    assert done.returncode != 0
    assert 'not compiled, but required: there is no C compiler' in done.stderr
    off = run(*build, cwd=tree, **{'IK_KERNELS': 'off'} | wanted)
    assert off.returncode != 0
    assert 'IK_KERNELS=off, but the kernels are required' in off.stderr


def source_without_library(folder):
    """A copy of the tree without compiled libraries and their header."""
    tree = copy_tree(folder / 'source')
    for made in (*tree.rglob('ik-*.so'), *tree.rglob('ik_core.h')):
        made.unlink()
    return tree


BUILD = runpy.run_path(str(ROOT / 'ik_core' / 'kernels' / 'build.py'))
OWN_SETS = {'x86_64': {'ik-x86-64-v3.so', 'ik-x86-64-v2.so'}, 'aarch64': {'ik-aarch64.so'}}


@pytest.fixture
def release(tmp_path):
    """A source package with assembly, without code, and its index."""
    tree = source_without_library(tmp_path)
    assembly = tree / 'ik_core' / 'kernels' / 'assembly'
    assembly.mkdir()
    for name in ('x86-64-v3.0.s', 'x86-64-v2.0.s', 'aarch64.0.s', 'macos-arm64.0.s'):
        (assembly / name).write_text('')
    (assembly / 'ik_core.h').write_text('/* a header */')
    BUILD['write_index'](assembly)
    return tree


def build_release(release, **environment):
    """Build a release, as colcon does, without all that packages bring, and without a network."""
    folder = release.parent
    alone = folder / 'alone'
    alone.mkdir(exist_ok=True)
    for name in ('numba', 'numpy', 'scipy', 'yaml', 'urdf_parser_py'):
        (alone / f'{name}.py').write_text('raise ImportError')
    base = folder / 'base'
    base.mkdir(exist_ok=True)
    return run(
        sys.executable, 'setup.py', '-q', 'egg_info', '--egg-base', base, 'build', '--build-base',
        base, cwd=release, PYTHONPATH=str(alone), PIP_NO_INDEX='1', PYTHONDONTWRITEBYTECODE='1',
        **{'IK_KERNELS': '', 'IK_KERNELS_REQUIRED': '1'} | environment,
    )  # fmt: skip


def state_of(tree):
    """The files of a tree, and when each was written."""
    return {path: path.stat().st_mtime_ns for path in tree.rglob('*')}


@pytest.mark.skipif(not shutil.which('cc'), reason='no C compiler')
def test_a_release_is_compiled_by_cc_alone_and_its_source_is_only_read(release):
    before = state_of(release)
    done = build_release(release)
    assert done.returncode == 0, done.stderr
    assert state_of(release) == before
    built = release.parent / 'base'
    assert {path.name for path in built.rglob('ik-*.so')} == OWN_SETS[platform.machine()]
    (header,) = built.rglob('ik_core.h')
    assert header.read_text() == '/* a header */'
    assert 'from pip' not in done.stderr


def test_a_release_with_a_damaged_file_is_not_built(release):
    name = 'x86-64-v2.0.s' if platform.machine() == 'x86_64' else 'aarch64.0.s'
    (release / 'ik_core' / 'kernels' / 'assembly' / name).write_text('nop')
    done = build_release(release)
    assert done.returncode != 0
    assert f'{name} is missing or damaged' in done.stderr


def test_the_assembly_of_a_release_is_not_used_once_its_sources_are_edited(release):
    core = release / 'ik_core'
    assert sources.assembly(core) is not None
    with (core / 'rules.py').open('a') as file:
        file.write('# edited\n')
    assert sources.assembly(core) is None


def test_what_is_downloaded_lies_below_the_build_base(release):
    (release / 'ik_core' / 'kernels' / 'assembly' / 'index').unlink()
    before = state_of(release)
    done = build_release(release, IK_KERNELS_REQUIRED='', PIP_FIND_LINKS='')
    assert f'putting one from pip into {release.parent}/base/kernels-venv' in done.stderr
    assert state_of(release) == before


def test_the_header_for_c_is_made_without_what_only_programs_need():
    """A build has numba and numpy, but neither urdf_parser_py nor yaml."""
    code = (
        'import sys\n'
        "for name in ('urdf_parser_py', 'yaml', 'scipy'): sys.modules[name] = None\n"
        'from ik_core.for_c.header import header\n'
        'sys.stdout.write(header())\n'
    )
    done = run(sys.executable, '-c', code, cwd=ROOT, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    for name in ('ik_solve', 'ik_run_sqp_free', 'ik_governor_advance'):
        assert f'int {name}(struct {name}_call *);' in done.stdout


def test_a_report_of_progress_is_one_write():
    """Two processes report on one stream, which colcon does not buffer."""
    writes = []
    stream = SimpleNamespace(write=writes.append, flush=lambda: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, 'stderr', stream)
        BUILD['say']('a line')
    assert writes == ['ik_node: a line\n']


def mach_o(*contents):
    """A library of macOS with these sections, the last one of zeros that it does not contain."""
    at = 32 + 72 + 80 * len(contents)
    sections, code = b'', b''
    for content in contents:
        where = at + len(code) if content.strip(b'\0') else 0
        sections += bytes(40) + struct.pack('<QI', len(content), where) + bytes(28)
        code += content if where else b''
    segment = struct.pack('<II', 0x19, 72 + len(sections)) + bytes(56)
    segment += struct.pack('<II', len(contents), 0) + sections
    head = b'\xcf\xfa\xed\xfe' + bytes(12) + struct.pack('<I', 1) + bytes(12)
    return head + segment + code


def test_the_seal_of_a_library_of_macos_is_the_hash_of_its_code():
    zeros = bytes(100)
    plain = mach_o(b'code' * 9, sources.SEAL + sources.UNSEALED.encode(), b'data', zeros)
    assert not sources.is_sealed(plain)
    seal = sources.SEAL + sources.hash_of(plain).encode()
    expected = hashlib.sha256(b'code' * 9 + b'data').hexdigest()[: sources.DIGITS]
    assert seal == sources.SEAL + expected.encode()
    sealed = mach_o(b'code' * 9, seal, b'data', zeros)
    assert sources.is_sealed(sealed)
    assert sources.is_sealed(sealed + b'a signature')
    assert not sources.is_sealed(sealed.replace(b'data', b'date'))


@pytest.mark.thorough
def test_a_wheel_needs_no_numba_no_compiler_and_no_home(tmp_path):
    """The wheel is alone in a read-only environment, with the library of this checkout."""
    tree = copy_tree(tmp_path / 'source')
    if not list(tree.rglob('ik-*.so')):
        pytest.skip('there is no library here')
    pip = sys.executable, '-m', 'pip', '--quiet'
    built = run(
        *pip, 'wheel', '--no-deps', '--no-build-isolation', '--wheel-dir', tmp_path, tree, cwd=tree
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob('*.whl')
    assert '-py3-none-linux_' in wheel.name
    python = tmp_path / 'venv' / 'bin' / 'python'
    assert run(sys.executable, '-m', 'venv', tmp_path / 'venv', cwd=tmp_path).returncode == 0
    # colcon's PYTHONPATH has the package, so pip would think that it is there
    if run(python, '-m', 'pip', 'install', wheel, cwd=tmp_path, PYTHONPATH='').returncode:
        pytest.skip('pip can not install numpy, scipy and urdf_parser_py')
    alone = {'PATH': '', 'HOME': '/nonexistent', 'PYTHONPATH': '', 'IK_KERNELS': ''}
    assert run(python, '-c', 'import numba', cwd=tmp_path, **alone).returncode == 1
    places = [path for path in (tmp_path / 'venv').rglob('ik_core/**/*') if path.is_dir()]
    for place in places:
        place.chmod(0o555)
    command = python, '-m', 'ik_core'
    about = run(*command, 'info', '--kernels', cwd=tmp_path, **alone)
    goal = '--xyz', '0.4', '0.2', '0.5', '--rpy', '3.1416', '0', '0'
    solved = run(*command, 'solve', 'panda', *goal, cwd=tmp_path, **alone)
    for place in places:
        place.chmod(0o755)
    assert about.stdout.startswith('kernels were compiled ahead: ik-'), about
    assert solved.returncode == 0, solved.stderr


SIDE_BY_SIDE, ONE_BY_ONE = True, False
WARNS = 'import warnings\ndef test(): warnings.warn("on stderr")'


@pytest.mark.thorough
@pytest.mark.parametrize(
    ('test', 'extra', 'passes', 'closing_line', 'workers'),
    [
        (WARNS, 'test', True, '1 passed', SIDE_BY_SIDE),
        ('def test(): assert False', 'test', False, '1 failed', SIDE_BY_SIDE),
        ('import pytest; pytest.importorskip("absent")', 'test', False, 'no test ran', ONE_BY_ONE),
        ('', 'test', False, 'no test ran', ONE_BY_ONE),
        ('def test(): assert True', 'unknown', False, 'no test ran', ONE_BY_ONE),
    ],
)  # fmt: skip
def test_make_test_fails_unless_tests_ran_and_passed(
    tmp_path, test, extra, passes, closing_line, workers
):
    """Without pytest-xdist, too, whose workers take longer to start than all else."""
    pytest.importorskip('colcon_core')
    tree = scripts_only(tmp_path)
    shutil.copy(ROOT / 'package.xml', tree)
    (tree / 'setup.py').write_text(
        'from setuptools import setup\n'
        f"setup(name='ik_node', version='0.1.0', py_modules=[],"
        f" extras_require={{{extra!r}: ['pytest']}})\n"
    )
    (tree / 'test').mkdir()
    (tree / 'test' / 'test_one.py').write_text(test)
    not_here = '' if workers else '[ "$2" != "import xdist" ] || exit 1\n'
    compiles_nothing = f'[ "$2" = ik_core ] || exec {sys.executable} "$@"'
    python = fake_python(tmp_path, not_here + compiles_nothing)
    done = run('sh', '-c', 'exec scripts/test "$0" 2>&1', python, cwd=tree)
    assert (done.returncode == 0) == passes, done.stdout
    assert closing_line in done.stdout.splitlines()[-1]
