# SPDX-License-Identifier: Apache-2.0
"""Robots of example-robot-data and robot_descriptions, by their names."""

import json
import re
import sys

import numpy as np
import pytest
from support.example_robot_data import URDFS

import ik_core as ik
from ik_core.cli import completion
from ik_core.cli.main import main
from ik_core.meshes import MeshFolders, package_of
from ik_core.robot.installed_robots import example_robots
from ik_core.robot.shipped import robot_path, shipped_robots

URDF = """<robot name="{name}">
<link name="base"><visual><geometry><mesh filename="{mesh}"/></geometry></visual>
<collision><geometry><mesh filename="{mesh}"/></geometry></collision></link>
<link name="tip"/><joint name="turn" type="revolute"><parent link="base"/><child link="tip"/>
<origin xyz="0 0 1"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/>
</joint>
</robot>"""

DESCRIPTIONS = """
from types import SimpleNamespace as Entry
DESCRIPTIONS = {
    name + '_description': Entry(has_urdf=has_urdf, repository=repository)
    for name, has_urdf, repository in [
        ('welder', True, 'welders'), ('painter', True, 'painters'),
        ('welder_mj', False, 'welders'), ('panda', True, 'welders'), ('leaky', True, 'welders'),
    ]
}
"""
REPOSITORIES = """
from types import SimpleNamespace as Repository
REPOSITORIES = {name: Repository(cache_path=name + '_repo') for name in ('welders', 'painters')}
"""
XACRO = """
def get_urdf_path(module):
    return module.URDF_PATH
"""


def stl_bytes():
    """A binary STL of a tetrahedron."""
    corners = np.vstack([np.zeros(3), np.eye(3)])
    faces = corners[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]
    records = np.zeros(4, [('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('', '<u2')])
    records['corners'] = faces
    return bytes(80) + np.uint32(4).tobytes() + records.tobytes()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A folder that is not the project's, where robot_descriptions is not installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('AMENT_PREFIX_PATH', '')
    monkeypatch.setitem(sys.modules, 'robot_descriptions', None)
    return tmp_path


@pytest.fixture(params=['pip', 'ROS', 'conda'])
def example_robot_data(request, tmp_path, monkeypatch):
    """The folder of a package example-robot-data with a few robots."""
    prefix = tmp_path / 'prefix'
    if request.param == 'pip':
        monkeypatch.syspath_prepend(prefix)
        prefix /= 'cmeel.prefix'
    elif request.param == 'ROS':
        monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
    else:
        monkeypatch.setattr(sys, 'prefix', str(prefix))
    package = prefix / 'share' / 'example-robot-data'
    for path in (
        'mower_description/urdf/mower.urdf',
        'dog_b_description/robots/dog.urdf',
        'dog_c_description/urdf/dog.urdf',
        'panda_description/urdf/panda.urdf',
        'v1_description/urdf/v1.legs.urdf',
    ):
        file = package / 'robots' / path
        file.parent.mkdir(parents=True)
        mesh = 'package://example-robot-data/robots/base.stl'
        file.write_text(URDF.format(name=path.split('/')[0], mesh=mesh))
    (package / 'package.xml').write_text('<package/>')
    (package / 'robots' / 'base.stl').write_bytes(stl_bytes())
    return package


@pytest.fixture
def robot_descriptions(tmp_path, monkeypatch):
    """The cache of a package robot_descriptions, with the repository of the welder."""
    package = tmp_path / 'installed' / 'robot_descriptions'
    package.mkdir(parents=True)
    cache = tmp_path / 'cache'
    monkeypatch.setenv('ROBOT_DESCRIPTIONS_CACHE', str(cache))
    file = cache / 'welders_repo' / 'robots' / 'welder_description' / 'urdf' / 'welder.urdf'
    file.parent.mkdir(parents=True)
    (cache / 'welders_repo' / '.git').mkdir()
    file.write_text(URDF.format(name='welder', mesh='package://welder_description/base.stl'))
    (file.parents[1] / 'base.stl').write_bytes(stl_bytes())
    (package / '__init__.py').write_text(DESCRIPTIONS)
    (package / '_repositories.py').write_text(REPOSITORIES)
    (package / '_xacro.py').write_text(XACRO)
    for module in ('welder', 'panda'):
        (package / f'{module}_description.py').write_text(f'URDF_PATH = {str(file)!r}\n')
    (package / 'painter_description.py').write_text('raise AssertionError("downloads")\n')
    (package / 'leaky_description.py').write_text('raise OSError("no git")\n')
    _forget_package(monkeypatch)
    monkeypatch.syspath_prepend(package.parent)
    yield cache
    _forget_package(monkeypatch)


def _forget_package(monkeypatch):
    for module in [name for name in sys.modules if name.split('.')[0] == 'robot_descriptions']:
        monkeypatch.delitem(sys.modules, module)


def test_a_robot_of_example_robot_data_is_loaded_by_the_name_of_its_file(example_robot_data):
    robot = ik.load_robot('mower')
    assert robot.name == 'mower_description'
    assert robot.file == example_robot_data / 'robots/mower_description/urdf/mower.urdf'
    assert ik.load_robot('v1.legs').name == 'v1_description'


def test_the_second_robot_of_a_name_has_that_of_its_folder(example_robot_data):
    assert ik.load_robot('dog').name == 'dog_b_description'
    assert ik.load_robot('dog_c').name == 'dog_c_description'


def test_files_and_shipped_robots_come_before_installed_ones(example_robot_data, elsewhere):
    assert robot_path('panda') == shipped_robots()['panda']
    assert robot_path('mower').is_file()
    (elsewhere / 'mower').write_text('<robot name="mine"><link name="a"/></robot>')
    assert ik.load_robot('mower').name == 'mine'


def test_example_robot_data_comes_before_robot_descriptions(
    example_robot_data, robot_descriptions
):
    file = example_robot_data / 'robots' / 'welder_description' / 'urdf' / 'welder.urdf'
    assert ik.load_robot('welder').name == 'welder'
    file.parent.mkdir(parents=True)
    file.write_text(URDF.format(name='other', mesh='base.stl'))
    assert ik.load_robot('welder').name == 'other'
    assert ik.load_robot('welder_description').name == 'welder'


def test_the_name_of_a_module_is_of_robot_descriptions(robot_descriptions):
    assert ik.load_robot('panda').name == 'panda'
    assert ik.load_robot('panda_description').name == 'welder'


def test_meshes_of_installed_robots_are_found(example_robot_data, robot_descriptions):
    for name, mesh in (
        ('mower', 'package://example-robot-data/robots/base.stl'),
        ('welder', 'package://welder_description/base.stl'),
    ):
        file = robot_path(name)
        assert MeshFolders(file.parent, package_of(file)).find(mesh).name == 'base.stl'


def test_nothing_is_downloaded_and_the_error_names_the_command(robot_descriptions):
    expected = 'painter_description of robot_descriptions is not downloaded yet: run `robot_desc'
    with pytest.raises(ik.UrdfError, match=f'{re.escape(expected)}riptions pull painter_desc'):
        ik.load_robot('painter')


def test_a_failure_of_robot_descriptions_is_an_error_of_the_robot(robot_descriptions):
    with pytest.raises(ik.UrdfError, match='failed to load leaky_description: no git'):
        ik.load_robot('leaky')


def test_a_robot_without_a_urdf_has_no_name(robot_descriptions):
    with pytest.raises(ik.UrdfError, match="no robot 'welder_mj'"):
        ik.load_robot('welder_mj')


@pytest.mark.parametrize('name', ['mowr', 'absent'])
def test_an_unknown_name_is_refused_with_the_names_of_the_packages(example_robot_data, name):
    hint = " (did you mean 'mower'?)" if name == 'mowr' else ''
    with pytest.raises(ik.UrdfError) as refusal:
        ik.load_robot(name)
    assert f'no robot {name!r}{hint}: give a URDF file' in str(refusal.value)
    assert 'example-robot-data and robot_descriptions can be named, too' in str(refusal.value)


def test_names_are_completed(example_robot_data, robot_descriptions):
    pytest.importorskip('argcomplete')
    names = completion.robots('')
    assert {'panda', 'mower', 'dog_c', 'welder', 'painter'} <= set(names)
    assert 'welder_mj' not in names


def test_check_takes_the_name_of_an_installed_robot(example_robot_data, capsys):
    main(['check', 'mower', '--goals', '3', '--json'])
    report = json.loads(capsys.readouterr().out)
    assert report['name'] == 'mower_description'
    assert [link['link'] for link in report['collisions']['links']] == ['base']


@pytest.mark.skipif(not URDFS, reason='example-robot-data is not installed')
def test_every_robot_of_the_real_example_robot_data_has_a_name():
    found = example_robots()
    assert sorted(path.resolve() for path in found.values()) == URDFS
    assert ik.load_robot('ur10_robot').n == 6
