"""The cache of kernels runs nobody else's code, and survives damage."""

import os
import pickle
import random
import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.fresh_python import needs_numba, run

from ik_core import _cache
from ik_core.robot.limits import hash32

KEY = 16 * 'f'
OTHER = 12345
"""A user who is neither this one nor root."""

CALL = 'from ik_core.robot.limits import hash32\nprint(hash32(7))\n'


@pytest.fixture
def cache_of(monkeypatch):
    """The cache folder for some environment, where some paths are another user's."""

    def found(*foreign, **environment):
        for name in ('HOME', 'XDG_CACHE_HOME', 'NUMBA_CACHE_DIR'):
            monkeypatch.delenv(name, raising=False)
        for name, path in environment.items():
            monkeypatch.setenv(name, str(path))
        monkeypatch.setattr(tempfile, 'tempdir', str(environment['TMPDIR']))
        give_away(monkeypatch, foreign)
        return _cache.cache_directory(KEY)

    return found


def give_away(monkeypatch, paths):
    """Make paths another user's; only root can, so others just see it so."""
    if os.getuid() == 0:
        for path in paths:
            os.chown(path, OTHER, OTHER, follow_symlinks=False)
        return
    own, foreign = os.lstat, set(map(str, paths))

    def lstat(path, **options):
        found = own(path, **options)
        return os.stat_result((*found[:4], OTHER, *found[5:])) if str(path) in foreign else found

    monkeypatch.setattr(os, 'lstat', lstat)


@pytest.fixture
def places(tmp_path):
    """The environment of a process whose only place is the one of last resort: the temporary
    folder, which others can write to, too."""
    (tmp_path / 'file').write_text('')
    (tmp_path / 'tmp').mkdir()
    (tmp_path / 'tmp').chmod(0o1777)
    return {'HOME': tmp_path / 'file' / 'x', 'TMPDIR': tmp_path / 'tmp'}


def last_resort(places):
    return places['TMPDIR'] / f'ik_core-cache-{os.getuid()}'


def test_the_folder_of_last_resort_is_for_its_owner_alone(cache_of, places):
    before = os.umask(0)
    try:
        found = Path(cache_of(**places))
    finally:
        os.umask(before)
    assert found.parent == last_resort(places)
    for path in (found, found.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert path.stat().st_uid == os.getuid()


def test_a_folder_that_another_user_made_first_is_not_used(cache_of, places):
    planted = last_resort(places)
    planted.mkdir(0o755)
    assert cache_of(planted, **places) is None
    assert list(planted.iterdir()) == []


@pytest.mark.parametrize('mode', [0o770, 0o720, 0o707, 0o702, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(cache_of, places, mode):
    kernels = Path(cache_of(**places))
    kernels.chmod(mode)
    assert cache_of(**places) is None
    kernels.chmod(0o755)
    assert cache_of(**places) == str(kernels)
    kernels.parent.chmod(mode)
    sticky = bool(mode & stat.S_ISVTX)  # what is in it can be neither renamed nor replaced
    assert (cache_of(**places) is not None) is sticky


def test_a_link_that_another_user_planted_is_not_followed(cache_of, places, tmp_path):
    target, planted = tmp_path / 'target', last_resort(places)
    target.mkdir(0o700)
    planted.symlink_to(target)
    assert cache_of(planted, **places) is None
    assert list(target.iterdir()) == []


def test_a_link_of_ones_own_is_followed_to_a_safe_folder_only(cache_of, places, tmp_path):
    own, target = tmp_path / 'link', tmp_path / 'target'
    target.mkdir(0o700)
    own.symlink_to('target')
    found = cache_of(**places, XDG_CACHE_HOME=own)
    assert found.startswith(str(own))
    assert list(target.iterdir()) == [target / 'ik_core']
    target.chmod(0o777)
    assert cache_of(**places, XDG_CACHE_HOME=own).startswith(str(last_resort(places)))


def test_links_in_a_circle_are_not_followed(cache_of, places, tmp_path):
    (tmp_path / 'a').symlink_to('b')
    (tmp_path / 'b').symlink_to('a')
    assert cache_of(**places, XDG_CACHE_HOME=tmp_path / 'a').startswith(str(last_resort(places)))


@pytest.mark.parametrize('variable', ['XDG_CACHE_HOME', 'NUMBA_CACHE_DIR', 'HOME'])
@pytest.mark.parametrize('how', ['owner', 'mode', 'parent'])
def test_every_place_is_checked(cache_of, places, tmp_path, variable, how):
    given = tmp_path / 'parent' / 'given'
    given.mkdir(0o700, parents=True)
    places = {**places, variable: given}
    assert cache_of(**places).startswith(str(given))
    if how != 'owner':
        {'mode': given, 'parent': given.parent}[how].chmod(0o777)
    found = cache_of(*([given] if how == 'owner' else []), **places)
    assert found is None or found.startswith(str(last_resort(places)))


class Evil:
    """Runs code when it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@needs_numba
@pytest.mark.skipif(os.getuid() != 0, reason='only root can give files away')
def test_what_another_user_planted_is_not_executed(places, tmp_path):
    environment = {name: str(path) for name, path in places.items()}
    assert run(CALL, **environment) == str(hash32(7))
    planted, marker = last_resort(places), tmp_path / 'executed'
    indices = list(planted.rglob('*.nbi'))
    assert indices
    for path in indices:
        path.write_bytes(pickle.dumps(Evil(marker)))
    os.chown(planted, OTHER, OTHER)
    assert run(CALL, **environment) == str(hash32(7))
    assert not marker.exists()


# --- Places and versions -------------------------------------------------------------------------


def test_places_are_tried_in_order(tmp_path, monkeypatch):
    below_a_file = tmp_path / 'file'
    below_a_file.write_text('')
    kernels = f'kernels-{KEY}'
    for name in ('NUMBA_CACHE_DIR', 'XDG_CACHE_HOME', 'HOME'):
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / 'temporary').mkdir()
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path / 'temporary'))
    for name, place in [
        ('NUMBA_CACHE_DIR', ''),
        ('XDG_CACHE_HOME', 'ik_core'),
        ('HOME', '.cache/ik_core'),
    ]:
        assert _cache.cache_directory(KEY) == str(tmp_path / name / place / kernels)
        monkeypatch.setenv(name, str(below_a_file / 'x'))
    found = Path(_cache.cache_directory(KEY))
    assert found.parents[1] == tmp_path / 'temporary'
    assert found.name == kernels
    assert str(os.getuid()) in found.parent.name  # others' files are not to be trusted
    monkeypatch.setattr(tempfile, 'tempdir', str(below_a_file / 'x'))
    assert _cache.cache_directory(KEY) is None
    for name in ('NUMBA_CACHE_DIR', 'XDG_CACHE_HOME'):
        monkeypatch.delenv(name)
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    assert _cache.cache_directory(KEY) == str(tmp_path / 'home' / '.cache' / 'ik_core' / kernels)


def old_versions(place, count):
    """Directories of other versions, the last one used last, with something in each."""
    made = [place / f'kernels-{number:016x}' for number in range(count)]
    for age, path in enumerate(reversed(made)):
        (path / 'deep').mkdir(parents=True)
        (path / 'deep' / 'kernel.nbc').write_text('')
        os.utime(path, (0, 1e9 - age))
    return made


def test_of_other_versions_those_used_last_stay(tmp_path, monkeypatch):
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path))
    used, *old = old_versions(tmp_path, 30)
    used = used.rename(tmp_path / f'kernels-{KEY}')  # the oldest, until now
    others = [tmp_path / name for name in ('kernels-of-mine', 'peers', 'kernels-12')]
    for path in others:
        path.mkdir()
        os.utime(path, (0, 0))
    assert _cache.cache_directory(KEY) == str(used)
    assert used.stat().st_mtime > 1e9
    assert [path for path in old if path.exists()] == old[-(_cache.VERSIONS_KEPT - 1) :]
    assert (used / 'deep' / 'kernel.nbc').exists()
    assert all(path.exists() for path in others)


def test_versions_that_are_in_use_stay_however_many(tmp_path, monkeypatch):
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path))
    used = old_versions(tmp_path, 30)
    for path in used:
        os.utime(path)
    _cache.cache_directory(KEY)
    assert all(path.exists() for path in used)


def test_processes_that_start_together_may_delete_together(tmp_path, monkeypatch):
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path / 'cache'))
    old = old_versions(tmp_path / 'cache', 30)
    elsewhere = old[0].rename(tmp_path / 'elsewhere')
    old[0].symlink_to(elsewhere)  # links are not followed
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: _cache.cache_directory(KEY), range(32)))
    assert found == {str(tmp_path / 'cache' / f'kernels-{KEY}')}
    assert not any(path.exists() for path in old[1:23])
    assert (elsewhere / 'deep' / 'kernel.nbc').exists()


# --- Damage --------------------------------------------------------------------------------------

USE = """
import numpy as np
from ik_core.robot.limits import hash32, random_configuration
q = np.empty(2)
random_configuration(1, 2, np.zeros(2), np.ones(2), q)
print(hash32(7), *q, sum(random_configuration.stats.cache_hits.values()))
"""


def flip_a_bit(data, rng):
    at = rng.randrange(8 * len(data))
    data[at // 8] ^= 1 << at % 8


def cut(data, rng):
    del data[rng.randrange(1, len(data)) :]


def empty(data, rng):
    data.clear()


def be_another_pickle(data, rng):
    data[:] = pickle.dumps({'no': 'index'})


@pytest.mark.thorough
@needs_numba
def test_damaged_files_are_compiled_again(tmp_path):
    """Indices, and machine code, whose flipped bits no reader of it would notice."""
    home, rng = {'XDG_CACHE_HOME': str(tmp_path)}, random.Random(0)
    expected, hits = run(USE, **home).rsplit(' ', 1)
    assert hits == '0'
    whole = {path: path.read_bytes() for path in tmp_path.rglob('*.nb?')}
    assert {path.suffix for path in whole} == {'.nbi', '.nbc'}
    for damage in (flip_a_bit, cut, empty, be_another_pickle):
        for path, data in whole.items():
            damaged = bytearray(data)
            damage(damaged, rng)
            path.write_bytes(damaged)
        assert run(USE, **home) == f'{expected} 0', damage
    assert run(USE, **home) == f'{expected} 1'  # they were replaced
