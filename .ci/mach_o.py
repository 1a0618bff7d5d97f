# SPDX-License-Identifier: Apache-2.0
"""Check the library of macOS in a wheel by LLVM's tools: .ci/mach_o.py WHEEL.

It is whole, for arm64 and macOS 11, has a signature, which macOS demands, exports the entries and
nothing else, and needs nothing but Python's stable functions and those of libSystem.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NAME = 'ik_core/kernels/ik-macos-arm64.so'
OWN = {
    'ik_call', 'ik_entries_0', 'ik_entries_1', 'ik_lanes', 'ik_seal', 'ik_sources', 'ik_suits',
    'ik_trial',
}  # fmt: skip
# A line of the tables in the library, for each of its entries
ROW = re.compile(rb'(ik_\w+) [\w()]* \w* ik_core\.[\w.:]+\n')
# Functions of libSystem that every macOS since 11 has
LIBSYSTEM = {
    'acos', 'asin', 'atan', 'atan2', 'bzero', 'cos', 'exp', 'fmod', 'hypot', 'log', 'memcpy',
    'memmove', 'memset', 'pow', 'sin', 'strchr', 'strlen', 'tan', '__sincos_stret',
    'dyld_stub_binder',
}  # fmt: skip


def said(*command: str | Path) -> str:
    """Return the output of a command that succeeds."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(library: Path, kind: str) -> set[str]:
    """Return the names of symbols without the underscore of C."""
    lines = said('llvm-nm', '--extern-only', kind, '--format=just-symbols', library).split()
    return {name.removeprefix('_') for name in lines}


def main(wheel: str) -> None:
    """Exit with a message if something is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        archive = zipfile.ZipFile(wheel)
        archive.extractall(folder, [name for name in archive.namelist() if 'ik_core/' in name])
        library = Path(folder, NAME)
        headers = said('llvm-objdump', '--macho', '--private-headers', library)
        used = said('llvm-objdump', '--macho', '--dylibs-used', library).split('\n\t')[1:]
        defined, needed = symbols(library, '--defined-only'), symbols(library, '--undefined-only')
        sys.path[:0] = [folder]
        from ik_core.kernels.sources import is_of_these

        is_whole = is_of_these(library)
        expected = OWN | {name.decode() for name in ROW.findall(library.read_bytes())}
    exported = {name for name in defined if not name.endswith(('dso_handle', 'dylib_header'))}
    foreign = sorted(name for name in needed if not allowed(name))
    checks = {
        'it is not sealed, or of other sources': is_whole,
        'it is not for arm64': re.search(r'\bARM64\b', headers) is not None,
        'it is not for macOS 11': re.search(r'minos 11\.0', headers) is not None,
        'it is not signed': 'LC_CODE_SIGNATURE' in headers,
        f'it uses {used}': all('libSystem' in each or Path(NAME).name in each for each in used),
        f'it lacks {sorted(expected - exported)}': exported >= expected,
        f'it exports {sorted(exported - expected)}': exported <= expected,
        'it has no entries': expected > OWN,
        f'it needs {foreign}': not foreign,
    }
    wrong = [text for text, is_right in checks.items() if not is_right]
    if wrong:
        sys.exit(f'{NAME}: ' + '; '.join(wrong))
    print(f'{NAME}: {len(exported)} symbols, needs {len(needed)} of Python and libSystem')


def allowed(name: str) -> bool:
    """Return whether a library may need a symbol: of Python's stable ABI or of libSystem."""
    return name in LIBSYSTEM or name.startswith(('Py', '_Py'))


if __name__ == '__main__':
    main(sys.argv[1])
