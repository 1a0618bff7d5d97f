# SPDX-License-Identifier: Apache-2.0
"""Broken and hostile URDFs: a UrdfError that names the element, or a robot that makes sense."""

import copy
import random
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from support.places import URDF

from ik_core.exceptions import UrdfError
from ik_core.robot import load_robot

ROBOTS = sorted(URDF.glob('*.urdf'))
LIMIT = '<limit lower="-1" upper="2" velocity="3"/>'
LINKS = '<link name="a"/><link name="b"/><link name="c"/>'
TO_B = '<parent link="a"/><child link="b"/>'
TO_C = '<parent link="b"/><child link="c"/>'
J = f'<joint name="j" type="revolute">{TO_B}{LIMIT}</joint>'
K = f'<joint name="k" type="revolute">{TO_C}{LIMIT}</joint>'


def robot(*parts):
    return f'<robot name="r">{"".join(parts)}</robot>'


def with_j(inside, kind='revolute'):
    """A good robot but for what is inside its joint j."""
    return robot(LINKS, f'<joint name="j" type="{kind}">{TO_B}{inside}</joint>', K)


def with_limit(text):
    return with_j(f'<limit {text}/>')


def with_mimics(**of):
    joints = [
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'{LIMIT}<mimic joint="{of[name]}"/></joint>'
        for name, parent, child in (('j', 'a', 'b'), ('k', 'b', 'c'))
        if name in of
    ]
    return robot(LINKS, *joints, '' if 'k' in of else K)


BROKEN = {
    # the text as a whole
    'nothing': ('', 'the robot description is empty: give'),
    'blank': (' \n\t', 'the robot description is empty: give'),
    'no XML': ('hello', "no robot 'hello': give"),
    'not closed': ('<robot name="r">', 'not well-formed XML, line 1: no element found'),
    'two roots elements': (robot(LINKS, J, K) * 2, 'not well-formed XML, line 1'),
    'a repeated attribute': (
        '<robot name="r" name="s"/>',
        'not well-formed XML, line 1: duplicate attribute',
    ),
    'an undefined entity': (
        '<robot name="&boom;"/>',
        'not well-formed XML, line 1: undefined entity',
    ),
    'an unknown encoding': (
        b'<?xml version="1.0" encoding="klingon"?><robot/>',
        "the robot description can't be decoded: unknown",
    ),
    'bytes of another encoding': (b'<robot name="\xe4"/>', 'line 1 has bytes that are not UTF-8'),
    'a lone surrogate': (
        '<robot name="\ud800"/>',
        "the robot description can't be decoded: 'utf-8'",
    ),
    'a zero byte': ('<robot name="a\0b"/>', 'not well-formed'),
    'a path with a zero byte': ('a\0b', 'no robot'),
    'a very long path': ('a' * 5000, "no robot 'aaaa"),
    'another format': (
        '<sdf version="1.7"><model/></sdf>',
        'the outermost element is <sdf>: a URDF has <robot',
    ),
    'a lone joint': ('<joint><origin/></joint>', 'the outermost element is <joint>: a URDF has'),
    'an empty robot': ('<robot name="r"/>', 'the robot is empty: it needs'),
    'joints only': (robot(J), "joint 'j': parent link 'a' does not exist"),
    'no robot name': (f'<robot>{LINKS}{J}{K}</robot>', 'robot: the attribute name'),
    'a doctype': ('<!DOCTYPE robot><robot name="r"/>', 'a DOCTYPE is not allowed'),
    'a doctype, utf-16': (
        '<!DOCTYPE robot><robot name="r"/>'.encode('utf-16'),
        'a DOCTYPE is not allowed',
    ),
    'entities': (
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot/>',
        'a DOCTYPE is not allowed',
    ),
    'a xacro macro': (
        robot('<xacro:macro name="m"/>', LINKS),
        '<xacro:macro>: this is xacro.*end with .xacro',
    ),
    'a xacro expression': (with_limit('lower="${-pi}" upper="1"'), "joint 'j'.*end with .xacro"),
    'a xacro find': (robot('<link name="$(arg prefix)a"/>'), 'link .*end with .xacro'),
    # numbers
    'NaN limit': (
        with_limit('lower="nan" upper="1"'),
        "joint 'j', <limit>: lower='nan' should be one finite number",
    ),
    'infinite limit': (
        with_limit('lower="0" upper="-inf"'),
        "joint 'j': <limit> lower 0 is above upper -inf",
    ),
    'overflowing limit': (
        with_limit('lower="0" upper="1e999"'),
        "joint 'j', <limit>: upper='1e999' should be",
    ),
    'NaN velocity': (with_limit('velocity="nan"'), "joint 'j', <limit>: velocity='nan'"),
    'a limit that is no number': (
        with_limit('upper="ten"'),
        "joint 'j', <limit>: upper='ten' should be one finite number",
    ),
    'an empty limit': (
        with_limit('upper=""'),
        "joint 'j', <limit>: upper='' should be one finite number",
    ),
    'two numbers for a limit': (
        with_limit('upper="1 2"'),
        "joint 'j', <limit>: upper='1 2' should be one finite number",
    ),
    'underscores': (
        with_limit('upper="1_0"'),
        "joint 'j', <limit>: upper=.* should be one finite number",
    ),
    'digits of another script': (
        with_limit('upper="٣"'),
        "joint 'j', <limit>: upper=.* should be one finite number",
    ),
    'lower above upper': (
        with_limit('lower="1" upper="-1"'),
        "joint 'j'.*lower 1 is above upper -1",
    ),
    'lower out of reach': (with_limit('lower="1e10" upper="2e10"'), "joint 'j': lower limit 1e"),
    'upper out of reach': (
        with_limit('lower="-2e10" upper="-1e10"'),
        "joint 'j': upper limit -1e",
    ),
    'commas': (
        with_j(f'<origin xyz="0, 0, 1"/>{LIMIT}'),
        "joint 'j', <origin>: xyz='0, 0, 1' should be 3 finite numbers with blanks",
    ),
    'four for rpy': (
        with_j(f'<origin rpy="0 0 0 1"/>{LIMIT}'),
        "joint 'j', <origin>: rpy='0 0 0 1' should be 3 finite numbers",
    ),
    'two for xyz': (with_j(f'<origin xyz="0 0"/>{LIMIT}'), "joint 'j', <origin>: xyz='0 0'"),
    'NaN origin': (
        with_j(f'<origin xyz="0 nan 0"/>{LIMIT}'),
        "joint 'j', <origin>: xyz='0 nan 0' should be",
    ),
    'huge origin': (with_j(f'<origin xyz="0 1e200 0"/>{LIMIT}'), "joint 'j': origin 1e\\+200"),
    'a quaternion': (with_j(f'<origin quat_xyzw="0 0 0 1"/>{LIMIT}'), "joint 'j', <origin>: quat"),
    'a long number': (
        with_limit(f'upper="{"1" * 5000}"'),
        "joint 'j', <limit>: upper=.* should be one finite number",
    ),
    'zero axis': (with_j(f'<axis xyz="0 0 0"/>{LIMIT}'), "joint 'j': <axis>.*unit vector"),
    'tiny axis': (with_j(f'<axis xyz="0 0 1e-300"/>{LIMIT}'), "joint 'j': <axis>.*unit vector"),
    'huge axis': (with_j(f'<axis xyz="0 0 1e300"/>{LIMIT}'), "joint 'j': <axis>.*unit vector"),
    'NaN axis': (with_j(f'<axis xyz="0 0 nan"/>{LIMIT}'), "joint 'j', <axis>: xyz='0 0 nan'"),
    'two for an axis': (with_j(f'<axis xyz="0 1"/>{LIMIT}'), "joint 'j', <axis>: xyz='0 1'"),
    'an axis without xyz': (with_j(f'<axis/>{LIMIT}'), "joint 'j', <axis>: the attribute xyz"),
    'zero axis of a plane': (with_j('<axis xyz="0 0 0"/>', 'planar'), "joint 'j': <axis>"),
    # joints
    'revolute without limit': (with_j(''), "joint 'j': a revolute joint needs <limit.*continuous"),
    'prismatic without limit': (
        with_j('', 'prismatic'),
        "joint 'j': a prismatic joint needs <limit",
    ),
    'unknown type': (with_j(LIMIT, 'ball'), "joint 'j': unknown type 'ball'; known are revolute"),
    'no type': (with_j(LIMIT).replace(' type="revolute"', '', 1), "joint 'j': unknown type ''"),
    'no name': (with_j(LIMIT).replace('name="j" ', ''), "joint '': the attribute name"),
    'no parent': (with_j(LIMIT).replace('<parent link="a"/>', ''), "joint 'j': <parent link="),
    'no child': (with_j(LIMIT).replace('<child link="b"/>', ''), "joint 'j': <child link="),
    'a parent without link': (
        with_j(LIMIT).replace('<parent link="a"/>', '<parent/>'),
        "joint 'j', <parent>: the attribute link",
    ),
    'an empty parent': (
        with_j(LIMIT).replace('link="a"', 'link=""'),
        "joint 'j', <parent>: link='' should be a name",
    ),
    'a mimic without joint': (
        with_j(f'{LIMIT}<mimic/>'),
        "joint 'j', <mimic>: the attribute joint",
    ),
    'NaN multiplier': (
        with_j(f'{LIMIT}<mimic joint="k" multiplier="nan"/>'),
        "joint 'j', <mimic>: multiplier='nan'",
    ),
    # names
    'a link without name': (robot('<link/>'), "link '': the attribute name"),
    'an escape sequence': (robot('<link name="&#x85;[2J"/>'), r"link '\\x85\[2J': name="),
    'a line break in a name': (
        robot('<link name="a&#10;b"/>'),
        r"link 'a\\nb': name='a\\nb' should",
    ),
    'an empty link name': (robot('<link name=" "/>'), "link ' ': name=' ' should be a name"),
    'a very long name': (
        robot(f'<link name="{"n" * 5000}"/>'),
        "link 'nnn.* should be a name of 1 to 256 printable characters",
    ),
    'duplicate link': (robot(LINKS, '<link name="b"/>', J, K), "link 'b' is defined twice"),
    'duplicate joint': (robot(LINKS, J, K.replace('"k"', '"j"')), "joint 'j' is defined twice"),
    # the tree
    'unknown parent': (
        robot(LINKS.replace('"a"', '"alpha"'), J.replace('"a"', '"alhpa"'), K),
        "joint 'j': parent link 'alhpa' does not exist; did you mean 'alpha'",
    ),
    'unknown child': (
        robot(LINKS, J, K.replace('"c"', '"x"')),
        "joint 'k': child link 'x' does not",
    ),
    'two parents': (
        robot(LINKS, J, K, J.replace('"j"', '"i"').replace('"b"', '"c"')),
        "link 'c' is the child of two joints, 'k' and 'i'",
    ),
    'two roots': (robot(LINKS, J), "2 links have no parent \\('a', 'c'\\)"),
    'no joints': (robot(LINKS), '3 links have no parent'),
    'its own parent': (robot(LINKS, J, K.replace('"b"', '"c"')), "the links 'c' form a cycle"),
    'a cycle': (
        robot(LINKS, J, K, J.replace('"j"', '"i"').replace('"b"', '"a"').replace('"a"', '"c"', 1)),
        "the links 'a', 'c', 'b' form a cycle",
    ),
    'a cycle beside the tree': (
        robot(LINKS, '<link name="root"/>', J.replace('"a"', '"c"'), K).replace(
            '</robot>',
            '<joint name="f" type="fixed"><parent link="root"/><child link="a"/></joint></robot>',
        ),
        "the links 'b', 'c' form a cycle",
    ),
    # mimics
    'a mimic of itself': (with_mimics(j='j'), "joint 'j': its mimic leads back to joint 'j'"),
    'a cycle of mimics': (
        with_mimics(j='k', k='j'),
        "joint 'j': its mimic leads back to joint 'j'",
    ),
    'a huge multiplier': (
        with_j(f'{LIMIT}<mimic joint="k" multiplier="1e9"/>'),
        "joint 'j': multiplier 1e\\+09 is too large; at most 10000 is allowed",
    ),
    'a huge offset': (with_j(f'{LIMIT}<mimic joint="k" offset="1e10"/>'), "joint 'j': offset 1e"),
}


@pytest.mark.parametrize(('source', 'message'), BROKEN.values(), ids=BROKEN)
def test_refused_with_a_one_line_reason(source, message, capfd):
    with pytest.raises(UrdfError) as caught:
        load_robot(source)
    assert re.match(message, str(caught.value))
    assert '\n' not in str(caught.value)
    assert len(str(caught.value)) < 600
    assert caught.value.__cause__ is None
    assert capfd.readouterr() == ('', '')


@pytest.mark.parametrize('source', [None, 3, ['<robot/>']])
def test_no_description_at_all(source):
    with pytest.raises(UrdfError, match=type(source).__name__):
        load_robot(source)


# --- size ------------------------------------------------------------------------------------


@pytest.mark.parametrize('inside', [LINKS, ''])
def test_deep_nesting_is_refused(inside):
    depth = 100_000
    text = f'<robot name="r">{inside}{"<a>" * depth}{"</a>" * depth}</robot>'
    with pytest.raises(
        UrdfError, match=r'^the robot description is too large: at most 200000 elements, nested'
    ):
        load_robot(text)


def test_a_file_of_50_megabytes_is_refused(tmp_path):
    file = tmp_path / 'big.urdf'
    with file.open('wb') as stream:
        stream.write(b'<robot name="r"><link name="a"/>')
        stream.truncate(50_000_000)
    with pytest.raises(UrdfError, match='larger than 10 MB'):
        load_robot(file)


def test_a_text_of_50_megabytes_is_refused():
    text = robot(LINKS, J, K, ' ' * 50_000_000)
    for source in (text, text.encode()):
        with pytest.raises(UrdfError, match='larger than 10 MB'):
            load_robot(source)


def test_an_endless_file_is_refused():
    with pytest.raises(UrdfError, match='larger than 10 MB'):
        load_robot('/dev/zero')


def test_counts_are_capped():
    with pytest.raises(UrdfError, match='more than 5000 links'):
        load_robot(robot('<link name="a"/>' * 5001))
    with pytest.raises(UrdfError, match='more than 5000 joints'):
        load_robot(robot(LINKS, J * 5001))
    with pytest.raises(UrdfError, match='at most 200000 elements'):
        load_robot(robot('<a/>' * 200_001))


def test_a_long_chain_is_no_deep_recursion():
    count = 3000
    links = ''.join(f'<link name="l{i}"/>' for i in range(count + 1))
    joints = ''.join(
        f'<joint name="j{i}" type="prismatic"><parent link="l{i}"/><child link="l{i + 1}"/>'
        f'<limit lower="0" upper="1" velocity="1"/>'
        + (f'<mimic joint="j{i - 1}"/></joint>' if i else '</joint>')
        for i in range(count)
    )
    loaded = load_robot(robot(links, joints))
    assert loaded.n == 1
    assert loaded.forward_kinematics([0.5], f'l{count}')[0, 3] == pytest.approx(0.5 * count)


def test_a_joint_with_many_elements_is_read_in_linear_time():
    junk = '<axis xyz="0 0 1"/>' * 100_000
    loaded = load_robot(with_j(junk + LIMIT))
    assert "joint 'j': a second <axis> is ignored" in loaded.warnings
    assert len(loaded.warnings) < 10


# --- random damage ---------------------------------------------------------------------------

WORDS = [
    *(
        '',
        ' ',
        'nan',
        '-inf',
        '1e999',
        '1e308',
        '-1e308',
        '1e-320',
        '0',
        '-0',
        '-1',
        '0 0 0',
        '1 2',
    ),
    *('0 0 0 0', '1,2,3', '1e308 1e308 1e308', '1e9 1e9 1e9', 'revolute', 'continuous', 'fixed'),
    *('prismatic', 'planar', 'floating', 'x' * 300, '${x}', 'ä', '\u2028', '\t\n', '0x10', '1e9'),
]


def damage(text: str, chance: random.Random) -> str:
    """The URDF with a few elements dropped, repeated or moved, or their attributes spoiled."""
    root = ElementTree.fromstring(text)
    for _ in range(chance.randint(1, 4)):
        elements = [e for e in root.iter() if e.tag not in ('visual', 'geometry', 'material')]
        parent = chance.choice([e for e in elements if len(e)] or [root])
        action = chance.randrange(6)
        if action == 0 and len(parent):
            parent.remove(chance.choice(list(parent)))
        elif action == 1:
            parent.insert(chance.randint(0, len(parent)), copy.deepcopy(chance.choice(elements)))
        else:
            spoil(chance.choice(elements), elements, chance)
    return ElementTree.tostring(root, encoding='unicode')


def spoil(
    element: ElementTree.Element, elements: list[ElementTree.Element], chance: random.Random
) -> None:
    """Drop an attribute, or give it a word or what the attribute is elsewhere."""
    if not element.attrib:
        return
    name = chance.choice(sorted(element.attrib))
    if chance.random() < 0.15:
        del element.attrib[name]
    elif chance.random() < 0.5:
        element.set(name, chance.choice(WORDS))
    else:
        element.set(name, chance.choice([e.attrib[name] for e in elements if name in e.attrib]))


def damage_bytes(data: bytes, chance: random.Random) -> bytes:
    """The file with a few bytes overwritten, cut out or repeated."""
    for _ in range(chance.randint(1, 5)):
        i, size = chance.randrange(len(data)), chance.randint(0, 30)
        new = chance.choice(
            [b'', b'<', b'"', b'>', b'&', b'9', chance.randbytes(3), data[i : i + 60]]
        )
        data = data[:i] + new + data[i + size :]
    return data


def check(source: str | bytes, capfd: pytest.CaptureFixture) -> bool:
    """Load it: UrdfError, or a robot made of sensible numbers. Whether it loaded."""
    try:
        loaded = load_robot(source)
    except UrdfError as error:
        assert str(error)
        assert '\n' not in str(error)
        return False
    finally:
        assert capfd.readouterr() == ('', '')
    q = loaded.middle_configuration
    assert not np.isnan([loaded.lower, loaded.upper, loaded.velocity]).any()
    assert (loaded.lower <= q).all()
    assert (q <= loaded.upper).all()
    assert (loaded.velocity > 0).all()
    frames = loaded.frames(q)
    for link in loaded.link_names:
        transform = loaded.link_transform(frames, link)
        assert np.isfinite(transform).all()
        np.testing.assert_allclose(transform[:3, :3] @ transform[:3, :3].T, np.eye(3), atol=1e-9)
        assert np.isfinite(loaded.jacobian(q, link)).all()
    return True


@pytest.mark.parametrize('path', ROBOTS, ids=lambda path: path.stem)
def test_damaged_elements_give_an_error_or_a_sensible_robot(path, capfd):
    chance = random.Random(path.stem)
    text = path.read_text()
    loaded = sum(check(damage(text, chance), capfd) for _ in range(50))
    assert 0 < loaded < 50


@pytest.mark.parametrize('path', ROBOTS, ids=lambda path: path.stem)
def test_damaged_bytes_give_an_error_or_a_sensible_robot(path, capfd):
    chance = random.Random(path.stem)
    data = path.read_bytes()
    assert sum(check(damage_bytes(data, chance), capfd) for _ in range(50)) < 50
