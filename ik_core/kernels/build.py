# SPDX-License-Identifier: Apache-2.0
"""Compile the kernels ahead of time: python ik_core/kernels/build.py FOLDER.

Two processes, as machines have two cores at least, take half of the entries each:

    lower       numba types every kernel that an entry calls and translates it to LLVM's code
    link        all into one module, of which only the entries can be seen from outside
    optimise    by LLVM, which decides what goes into its callers, but for `@inline_kernel`s
    emit        assembly, for this processor, or for all sets of instructions

`cc` then makes both and call.c into one library for each set. Nothing of numba is left in it, so
the library needs neither numba nor a certain version of Python.

A release has the assembly of all sets, the header ik_core.h, and an index of these files
(build.py --assembly FOLDER): there `cc` alone does it, with nothing but Python's own modules.
IK_KERNELS chooses the sets: all those of this machine's architecture (all), of x86_64, aarch64 or
macos_arm64. Those of another machine are compiled by its cross compiler: aarch64-linux-gnu-gcc,
and ziglang's for macOS.
"""

from __future__ import annotations

import gc
import hashlib
import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCES = runpy.run_path(str(HERE / 'sources.py'))
MACOS = 'macos-arm64'
FLAGS = ('-shared', '-fPIC', '-O2', '-s', '-Wl,-z,relro,-z,now,-z,text')
MACOS_FLAGS = (
    '-shared',
    '-O2',
    f'-Wl,-install_name,@rpath/ik-{MACOS}.so',
    '-undefined',
    'dynamic_lookup',
)
# Modules whose entries make the first part; they share most of their kernels
HEAVY = 'ik_core.solvers.damped_search', 'ik_core.closed_form', 'ik_core.batch'
# The features of a processor that a set of instructions needs, beyond those of the next one
LEVELS = {
    'x86-64-v4': {'avx512f', 'avx512bw', 'avx512cd', 'avx512dq', 'avx512vl'},
    'x86-64-v3': {'avx2', 'fma', 'bmi', 'bmi2', 'lzcnt', 'movbe', 'f16c'},
    'x86-64-v2': set(),
}
# LLVM's triple and processor of other sets than those of x86-64
TARGETS = {
    'aarch64': ('aarch64-unknown-linux-gnu', 'generic'),
    MACOS: ('arm64-apple-macosx11.0.0', 'apple-m1'),
}
# Functions of libm that newer libcs have another version of, with the same results
OLDER = {'fmod': 'GLIBC_2.2.5'}
RESHAPE = Path(__file__).with_name('reshape.ll')


def main(folder: Path) -> None:
    """Write the libraries and their header to a folder."""
    began = time.monotonic()
    released = SOURCES['assembly']()
    wanted = os.environ.get('IK_KERNELS') or 'host'
    if wanted == 'all' or (wanted == 'host' and released):
        wanted = machine_here()
    with tempfile.TemporaryDirectory() as made:
        assembly = released or compiled(Path(made, 'assembly'), wanted)
        check_index(assembly)
        sets = {path.name.partition('.')[0] for path in assembly.glob('*.s')}
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob('ik-*.so'):
            old.unlink()
        for cpu in sorted(sets):
            if wanted == 'host' or wanted in cpu.replace('-', '_'):
                link(cpu, sorted(assembly.glob(f'{cpu}.*.s')), Path(made), folder)
        shutil.copy2(assembly / 'ik_core.h', folder)
    say(f'kernels compiled in {time.monotonic() - began:.0f} s')


def machine_here() -> str:
    """Return the name of this machine's architecture, as in IK_KERNELS."""
    return ('macos_' if sys.platform == 'darwin' else '') + platform.machine()


def compiled(folder: Path, wanted: str) -> Path:
    """Write assembly of all entries, for the sets of instructions wanted; return its folder."""
    own = {'IK_KERNELS': 'off', 'NUMBA_CPU_NAME': 'generic', 'NUMBA_CPU_FEATURES': ''}
    folder.mkdir(parents=True, exist_ok=True)
    say('compiling the kernels, once: 130 to 220 s of CPU time, in two processes')
    parts = [
        subprocess.Popen(
            [sys.executable, __file__, folder, str(part), wanted], env={**os.environ, **own}
        )
        for part in range(SOURCES['PARTS'])
    ]
    header = [sys.executable, '-m', 'ik_core.for_c.header', str(folder.resolve())]
    parts.append(subprocess.Popen(header, env={**os.environ, **own}, cwd=HERE.parents[1]))
    failed = [part.wait() for part in parts]
    if any(failed):
        sys.exit('the kernels or their header could not be made')
    write_index(folder)
    return folder


def write_index(folder: Path) -> None:
    """Write the index: the sources that the files were made of, and the hash of each file."""
    rows = [f'{file_hash(path)}  {path.name}' for path in sorted(folder.iterdir())]
    (folder / 'index').write_text('\n'.join([SOURCES['description'](), *rows, '']))


def check_index(folder: Path) -> None:
    """Exit if a file in the index is missing or damaged: a library needs all of them."""
    for row in (folder / 'index').read_text().splitlines()[1:]:
        digest, name = row.split()
        if not (folder / name).is_file() or file_hash(folder / name) != digest:
            sys.exit(f'{folder / name} is missing or damaged')


def file_hash(path: Path) -> str:
    """Return the hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def link(cpu: str, assembly: list[Path], scratch: Path, folder: Path) -> None:
    """Link a library for a set of instructions, in two passes: the second one seals it with the
    hash of the first one's code."""
    flags = MACOS_FLAGS if cpu == MACOS else FLAGS
    made_of = (assembly[0].parent / 'index').read_text().partition('\n')[0]
    defined = [f'-DLEVEL={cpu[-1] if cpu.startswith("x86") else 0}', f'-DSOURCES="{made_of}"']
    objects = [scratch / f'{path.name}.o' for path in assembly]
    for source, made in zip(assembly, objects, strict=True):
        subprocess.run([*compiler(cpu), '-c', source, '-o', made], check=True)
    library, seal = folder / f'.ik-{cpu}.so', SOURCES['UNSEALED']
    for _ in range(2):
        sealed = f'-DSEAL="{seal}"'
        inputs = [str(HERE / 'call.c'), *map(str, objects), '-lm']
        subprocess.run(
            [*compiler(cpu), *flags, *defined, sealed, '-o', library, *inputs], check=True
        )
        seal = SOURCES['hash_of'](library.read_bytes())
    if not SOURCES['is_sealed'](library.read_bytes()):
        sys.exit(f'{library.name} is not the same when it is linked again')
    library.replace(folder / f'ik-{cpu}.so')  # at once: a process may be loading the last one


def compiler(cpu: str) -> list[str]:
    """Return the command of the C compiler for a set of instructions."""
    if machine_here() in cpu.replace('-', '_'):
        return ['cc']
    if cpu == MACOS:
        return [sys.executable, '-m', 'ziglang', 'cc', '-target', 'aarch64-macos.11.0']
    return [f'{cpu}-linux-gnu-gcc']


def say(text: str) -> None:
    """Report progress in one write: lines of two processes do not mix."""
    sys.stderr.write(f'ik_node: {text}\n')
    sys.stderr.flush()


# --- one part ------------------------------------------------------------------------------------


def compile_part(folder: Path, part: int, wanted: str) -> None:
    """Write the assembly of a part of the entries for each set of instructions."""
    import llvmlite.binding as llvm

    from ik_core.kernels.signatures import entries

    began = time.process_time()
    gc.set_threshold(50_000, 50, 50)  # numba makes many objects and keeps most: looking costs 10 %
    cpus = list(sets_of_instructions(wanted))
    lanes = {8 if cpu == 'x86-64-v4' else 4 for cpu in cpus}
    own = [
        entry
        for entry in entries()
        if entry.kernel.__module__.startswith(HEAVY) == (part == 0)
        and (not entry.lanes or entry.lanes in lanes)
    ]
    module = linked(own, f'ik_entries_{part}')
    lowered = time.process_time()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    optimise(module, machine_of(cpus[0], module))
    code = module.as_bitcode()
    optimised = time.process_time()
    for cpu in cpus:
        module = llvm.parse_bitcode(code)
        target = machine_of(cpu, module)
        (folder / f'{cpu}.{part}.s').write_text(target.emit_assembly(module))
    say(
        f'{len(own)} kernels for {", ".join(cpus)} ({part + 1}/{SOURCES["PARTS"]}), CPU time: '
        f'{lowered - began:.0f} s of numba, {optimised - lowered:.0f} s to optimise, '
        f'{time.process_time() - optimised:.0f} s for assembly'
    )


def sets_of_instructions(wanted: str) -> Iterator[str]:
    """Yield the sets of instructions to compile for, the best one first."""
    import llvmlite.binding as llvm

    machine = machine_here() if wanted == 'host' else wanted
    features = {name for name, there in llvm.get_host_cpu_features().items() if there}
    for i, level in enumerate(LEVELS):
        if wanted in ('x86_64', 'release'):
            yield level
        elif machine == 'x86_64' and set.union(*list(LEVELS.values())[i:]) <= features:
            yield level
            return
    yield from (cpu for cpu in TARGETS if machine in (cpu.replace('-', '_'), 'release'))


def linked(entries: list[Any], table: str) -> Any:
    """Return a module of LLVM with these entries and all that they call, not optimised.

    table : name of the text in it that lists the entries
    """
    import llvmlite.binding as llvm
    from numba.core import codegen

    from ik_core.kernels import numba_backend, signatures

    codegen.JITCPUCodegen._library_class = waiting_library()
    codegen.JITCPUCodegen.set_env = lambda self, name, env: None
    numba_backend.PART.pop('pipeline_class')
    libraries: dict[int, Any] = {}

    def collect(library: Any) -> None:
        if id(library) not in libraries:
            libraries[id(library)] = library
            for other in library._linking_libraries:
                collect(other)

    modules, names, lines = [], {table}, []
    for entry in entries:
        kernel = entry.kernel
        arguments, result = signatures.signature_of(kernel)
        kinds = tuple(map(numba_type, arguments.values()))
        dispatcher = kernel.for_numba()
        dispatcher.compile(kinds)
        compiled = dispatcher.overloads[kinds]
        collect(compiled.library)
        modules.append(entry_module(entry, compiled, numba_type(result)))
        names.add(entry.symbol)
        lines.append(' '.join((entry.symbol, *signatures.letters(kernel), kernel.path)))
    text = ''.join(f'{line}\n' for line in lines) + '\0'
    content = ''.join(f'\\{byte:02x}' for byte in text.encode())
    whole = llvm.parse_assembly(f'@{table} = constant [{len(text)} x i8] c"{content}"')
    for library in libraries.values():
        part = library._final_module
        for function in part.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = 'weak_odr'  # a linkonce_odr function that nobody calls yet goes
        whole.link_in(part)
    for module in modules:
        whole.link_in(module)
    if any(each.name == 'numba_attempt_nocopy_reshape' for each in whole.functions):
        whole.link_in(reshape())
    whole.verify()
    for each in (*whole.functions, *whole.global_variables):
        if not each.is_declaration and each.name not in names:
            each.linkage = 'internal'
        elif each.name in OLDER:
            each.name = f'ik_{each.name}'
    return whole


def waiting_library() -> type:
    """Return a class of numba's libraries that neither optimises, links nor emits code."""
    from numba.core import codegen

    class Waiting(codegen.JITCodeLibrary):
        def _optimize_functions(self, module: Any) -> None:
            module.data_layout = self._codegen._data_layout

        def add_linking_library(self, library: Any) -> None:
            library._ensure_finalized()
            if library not in self._linking_libraries:
                self._linking_libraries.append(library)

        def finalize(self) -> None:
            self._raise_if_finalized()
            self._finalize_dynamic_globals()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            return 0

    return Waiting


def reshape() -> Any:
    """Return numba's reshape function as a module; kernels call no other of its functions."""
    import llvmlite.binding as llvm

    text = RESHAPE.read_text()
    try:
        return llvm.parse_assembly(text)
    except RuntimeError:  # LLVM below 17, whose pointers have types
        return llvm.parse_assembly(re.sub(r'\bptr\b', 'i64*', text))


def optimise(module: Any, machine: Any) -> None:
    """Optimise a module, without vectorisation by LLVM."""
    import llvmlite.binding as llvm

    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def machine_of(cpu: str, module: Any) -> Any:
    """Return LLVM's machine for a set of instructions, and make it the module's target."""
    import llvmlite.binding as llvm

    triple, processor = TARGETS.get(cpu, ('x86_64-unknown-linux-gnu', cpu))
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=processor, opt=2, reloc='pic', codemodel='small')
    module.triple, module.data_layout = triple, str(machine.target_data)
    return machine


# --- an entry ------------------------------------------------------------------------------------


def numba_type(kind: Any) -> Any:
    """Return numba's type of an argument or a result of an entry."""
    from numba.core import types

    from ik_core.kernels import signatures

    numbers = {'i': types.int64, 'd': types.float64, 'b': types.boolean, '': types.none}
    members, array = signatures.members_of(kind), signatures.array_of(kind)
    if members is not None:
        parts = tuple(map(numba_type, members))
        return types.NamedTuple(parts, kind) if isinstance(kind, type) else types.Tuple(parts)
    if array is not None:
        letter, dimensions = array
        return types.Array(numbers[letter.lower()], dimensions, 'C')
    return numbers[signatures.letters_of(kind)]


def entry_module(entry: Any, compiled: Any, result: Any) -> Any:
    """Return a module with `int SYMBOL(int64_t *table)`, which calls the compiled kernel.

    result : numba's type of the result that the entry declares
    """
    import llvmlite.binding as llvm
    from llvmlite import ir
    from numba.core import cgutils

    context, about = compiled.target_context, compiled.fndesc
    if about.restype != result:
        raise TypeError(f'{entry.kernel.path} returns {about.restype}, not {result}')
    module = context.create_module(entry.symbol)
    kind = context.call_conv.get_function_type(about.restype, about.argtypes)
    kernel = ir.Function(module, kind, about.llvm_func_name)
    word = ir.IntType(64)
    about_entry = ir.FunctionType(ir.IntType(32), [word.as_pointer()])
    function = ir.Function(module, about_entry, entry.symbol)
    builder = ir.IRBuilder(function.append_basic_block('entry'))
    table = Table(context, builder, function.args[0])
    arguments = [table.read(one) for one in about.argtypes]
    status, answer = context.call_conv.call_function(
        builder, kernel, about.restype, about.argtypes, arguments
    )
    table.write(about.restype, answer)
    builder.ret(status.code)
    return llvm.parse_assembly(cgutils.normalize_ir_text(str(module)))


class Table:
    """The argument of an entry: the values to read from it, then those to write to it."""

    def __init__(self, context: Any, builder: Any, pointer: Any) -> None:
        self.context, self.builder, self.pointer, self.place = context, builder, pointer, 0

    def _next(self, kind: Any) -> Any:
        from llvmlite import ir

        place = self.builder.gep(self.pointer, [ir.IntType(64)(self.place)])
        self.place += 1
        return self.builder.bitcast(place, kind.as_pointer())

    def read(self, kind: Any) -> Any:
        """Return the next value."""
        from llvmlite import ir
        from numba.core import types

        if isinstance(kind, types.Array):
            return self._read_array(kind)
        if isinstance(kind, types.BaseTuple):
            return self.context.make_tuple(self.builder, kind, [self.read(one) for one in kind])
        if isinstance(kind, types.Float):
            return self.builder.load(self._next(ir.DoubleType()))
        value = self.builder.load(self._next(ir.IntType(64)))
        is_bool = isinstance(kind, types.Boolean)
        return self.builder.icmp_signed('!=', value, value.type(0)) if is_bool else value

    def _read_array(self, kind: Any) -> Any:
        from llvmlite import ir
        from numba.core import cgutils

        builder, word = self.builder, ir.IntType(64)
        made = self.context.make_array(kind)(self.context, builder)
        made.data = builder.inttoptr(builder.load(self._next(word)), made.data.type)
        shape = [builder.load(self._next(word)) for _ in range(kind.ndim)]
        size = word(self.context.get_abi_sizeof(self.context.get_data_type(kind.dtype)))
        strides: list[Any] = []
        whole, count = size, word(1)
        for length in reversed(shape):
            strides.insert(0, whole)
            whole, count = builder.mul(whole, length), builder.mul(count, length)
        made.shape, made.strides = (cgutils.pack_array(builder, a) for a in (shape, strides))
        made.itemsize, made.nitems = size, count
        made.meminfo, made.parent = (
            cgutils.get_null_value(one.type) for one in (made.meminfo, made.parent)
        )
        return made._getvalue()

    def write(self, kind: Any, value: Any) -> None:
        """Write the next result."""
        from llvmlite import ir
        from numba.core import types

        if isinstance(kind, types.BaseTuple):
            for i, one in enumerate(kind):
                self.write(one, self.builder.extract_value(value, i))
        elif isinstance(kind, types.Float):
            self.builder.store(value, self._next(ir.DoubleType()))
        elif kind != types.none:
            whole = self.context.cast(self.builder, value, kind, types.int64)
            self.builder.store(whole, self._next(ir.IntType(64)))


if __name__ == '__main__':
    sys.path[0] = str(HERE.parents[1])
    if len(sys.argv) == 2:
        main(Path(sys.argv[1]))
    elif sys.argv[1] == '--assembly':
        compiled(Path(sys.argv[2]), 'release')
    else:
        compile_part(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
