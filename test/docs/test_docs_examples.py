# SPDX-License-Identifier: Apache-2.0
"""Every program in examples/ is short, says how it is run, and does what it says."""

import re
import sys

import numpy as np
import pytest
from support.installed_tree import run
from support.pages import blocks, links
from support.places import ROOT, URDF
from support.robots import python_path

pytestmark = pytest.mark.long
EXAMPLES = sorted((ROOT / 'examples').glob('*.py'))
# What each prints; the last one speaks to a node
SAYS = {
    'all_solutions': r'8 solutions, complete: True\n(\[.*\]\n){8}most manipulable: \[',
    'clear_of_obstacle': r'without REACHED, 2\d mm from .*\nwith    REACHED, (49|50) mm from',
    'closest_pose': r'CLOSEST(.|\n)*mm and',
    'few_joints': r'pose: not .*few.* mm, .*\nposition first: not .*few.* nm, .*\naxis: all goals',
    'follow_stream': r'REACHED 0\.\d+ mm behind',
    'free_roll': r'pen REACHED .*\ntray REACHED .*\nheight REACHED .* 0\.3 *\]',
    'one_pose': r'all goals are reached(.|\n)*panda_finger_joint2(.|\n)*REACHED',
    'own_task': r'REACHED -?0\.000 mm',
    'path_of_poses': r'can be done.*\n2\.\d\d s, branch: .*, up, .*\nposes .* out of reach by',
    'poses_to_csv': r'200 of 200 reached\nlargest step of a joint: 0\.0',
    'reach_map': r'15 x 15 x 1 voxels(.|\n)*\. # # # # # # \. # # # # # # \.',
    'rest_posture': r'without  REACHED, 1\.\d+ .*\nwith     REACHED, 0\.\d+ ',
    'retarget_motion': r'^\d\.\d\d mm from the path at most, 60 frames',
    'teleop': r'following>\nthe tip rose and sank by (99|100|101) mm',
    'teleop_two_arms': r'left_\w+: following, y = 0\.14\d m\nright_\w+: released, y = -0\.[12]',
    'two_arms': r'REACHED (.|\n)*CLOSEST \[0\.\d+ 0\.\d+\]',
    'corners_ros': r'(\(.*\) reached\n){4}',
}


def start(path, folder, *arguments, **environment):
    """Run an example in a folder of its own; return what it prints."""
    here = {'PYTHONPATH': python_path(ROOT), **environment}
    done = run(sys.executable, path, *arguments, cwd=folder, **here)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tested():
    assert {path.stem for path in EXAMPLES} == set(SAYS)


def test_the_page_of_examples_has_them_as_they_are():
    page = ROOT / 'docs' / 'examples.md'
    shown = [ROOT / 'docs' / link for link in links(page)]
    assert sorted(path.resolve() for path in shown) == EXAMPLES
    for path, block in zip(shown, blocks(page), strict=True):
        own = path.read_text('utf-8').partition('\n')[2]  # below the licence
        assert (block.kind, block.text) == ('python', own)


@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.stem)
def test_it_is_short_and_begins_with_how_to_run_it(path):
    lines = path.read_text('utf-8').splitlines()
    assert len(lines) <= 40
    comment = ' '.join(line for line in lines[:3] if line.startswith('#'))
    assert comment.endswith(f'python {path.name}')


@pytest.mark.parametrize(
    'path', [path for path in EXAMPLES if 'ros' not in path.stem], ids=lambda path: path.stem
)
def test_it_says_what_it_should(path, tmp_path):
    printed = start(path, tmp_path)
    assert re.search(SAYS[path.stem], printed), printed
    for file in tmp_path.glob('*.csv'):
        assert np.isfinite(np.loadtxt(file, delimiter=',', skiprows=1)).all()


def test_a_node_goes_to_the_corners(tmp_path):
    pytest.importorskip('rclpy')
    from support.node_harness import DOMAIN, world

    path = ROOT / 'examples' / 'corners_ros.py'
    robot = {'urdf_path': str(URDF / 'panda.urdf'), 'tip_links': 'panda_hand_tcp'}
    with world(**robot, move='linear', joint_limits__default__acceleration=10.0) as it:
        here = ('--ros-args', '-r', f'__ns:={it.namespace}')
        printed = start(path, tmp_path, *here, ROS_DOMAIN_ID=str(DOMAIN))
    assert re.search(SAYS['corners_ros'], printed), printed
