"""Compile the kernels ahead of time: python ik_core/kernels/build.py FOLDER.

Two processes, as machines have two cores at least, take half of the entries each:

    lower       numba types every kernel that an entry calls and translates it to LLVM's code
    link        all into one module, of which only the entries can be seen from outside
    optimise    by LLVM, which decides what goes into its callers, but for what is `@inlined`
    emit        assembly, for this processor, or for all sets of instructions

`cc` then makes both and call.c into one library for each set. Nothing of numba is left in it, so
the library needs neither numba nor a certain version of Python.

A release has the assembly of all sets (build.py --assembly FOLDER): there `cc` alone does it.
IK_KERNELS chooses the sets: all those of this machine's architecture (all), of x86_64 or aarch64.
"""

from __future__ import annotations

import gc
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
PARTS = 2
FLAGS = ('-shared', '-fPIC', '-O2', '-s', '-Wl,-z,relro,-z,now,-z,text')
HEAVY = ('solvers.damped_search', 'closed_form', 'batch')
"""Modules whose entries make the first part; they share most of their kernels."""
LEVELS = {
    'x86-64-v4': {'avx512f', 'avx512bw', 'avx512cd', 'avx512dq', 'avx512vl'},
    'x86-64-v3': {'avx2', 'fma', 'bmi', 'bmi2', 'lzcnt', 'movbe', 'f16c'},
    'x86-64-v2': set(),
}
"""The features of a processor that a set of instructions needs, beyond those of the next one."""
OLDER = {'fmod': 'GLIBC_2.2.5'}
"""Functions of libm that newer libcs have another version of, with the same results."""
RESHAPE = Path(__file__).with_name('reshape.ll')


def main(folder: Path) -> None:
    """Write the libraries to a folder."""
    if shutil.which('cc') is None:
        sys.exit('there is no C compiler (cc)')
    began = time.monotonic()
    released = runpy.run_path(str(HERE / 'sources.py'))['assembly']()
    wanted = os.environ.get('IK_KERNELS') or 'host'
    if wanted == 'all' or (wanted == 'host' and released):
        wanted = platform.machine()
    with tempfile.TemporaryDirectory() as made:
        assembly = released or compiled(Path(made), wanted)
        sets = {path.name.partition('.')[0] for path in assembly.glob('*.s')}
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob('ik-*.so'):
            old.unlink()
        for cpu in sorted(sets):
            if wanted == 'host' or wanted in cpu.replace('-', '_'):
                link(cpu, sorted(assembly.glob(f'{cpu}.*.s')), folder)
    say(f'kernels compiled in {time.monotonic() - began:.0f} s')


def compiled(folder: Path, wanted: str) -> Path:
    """Write assembly of all entries, for the sets of instructions wanted; return its folder."""
    own = {'IK_KERNELS': 'off', 'NUMBA_CPU_NAME': 'generic', 'NUMBA_CPU_FEATURES': ''}
    folder.mkdir(parents=True, exist_ok=True)
    parts = [
        subprocess.Popen(
            [sys.executable, __file__, folder, str(part), wanted], env={**os.environ, **own}
        )
        for part in range(PARTS)
    ]
    failed = [part.wait() for part in parts]
    if any(failed):
        sys.exit('numba did not compile them')
    return folder


def link(cpu: str, assembly: list[Path], folder: Path) -> None:
    """Link a library for a set of instructions."""
    from_here = platform.machine() in cpu.replace('-', '_')
    compiler = 'cc' if from_here else f'{cpu}-linux-gnu-gcc'
    made_of = (assembly[0].parent / 'sources').read_text()
    defined = [f'-DLEVEL={cpu[-1] if cpu.startswith("x86") else 0}', f'-DSOURCES="{made_of}"']
    library = folder / f'.ik-{cpu}.so'
    source = HERE / 'call.c'
    subprocess.run(
        [compiler, *FLAGS, *defined, '-o', library, source, *assembly, '-lm'], check=True
    )
    runpy.run_path(str(HERE / 'sources.py'))['seal'](library)
    library.replace(folder / f'ik-{cpu}.so')  # at once: a process may be loading the last one


def say(text: str) -> None:
    """Report progress."""
    print(f'ik_node: {text}', file=sys.stderr, flush=True)


# --- one part ------------------------------------------------------------------------------------


def compile_part(folder: Path, part: int, wanted: str) -> None:
    """Write the assembly of a part of the entries for each set of instructions."""
    import llvmlite.binding as llvm

    from ik_core.kernels.entries import ENTRIES
    from ik_core.kernels.sources import description

    began = time.process_time()
    gc.set_threshold(50_000, 50, 50)  # numba makes many objects and keeps most: looking costs 10 %
    (folder / 'sources').write_text(description())
    cpus = list(sets_of_instructions(wanted))
    lanes = {8 if cpu == 'x86-64-v4' else 4 for cpu in cpus}
    rows = [
        row
        for row in ENTRIES.values()
        if row.path.startswith(HEAVY) == (part == 0) and (not row.lanes or row.lanes in lanes)
    ]
    say(f'compiling {len(rows)} kernels for {", ".join(cpus)} ({part + 1}/{PARTS})')
    module = linked(rows)
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
        f'part {part + 1}/{PARTS}: {lowered - began:.0f} s of numba, {optimised - lowered:.0f} s '
        f'to optimise, {time.process_time() - optimised:.0f} s for assembly'
    )


def sets_of_instructions(wanted: str) -> Iterator[str]:
    """Yield those to compile for; the best one first."""
    import llvmlite.binding as llvm

    machine = platform.machine() if wanted == 'host' else wanted
    features = {name for name, there in llvm.get_host_cpu_features().items() if there}
    for i, level in enumerate(LEVELS):
        if wanted in ('x86_64', 'release'):
            yield level
        elif machine == 'x86_64' and set.union(*list(LEVELS.values())[i:]) <= features:
            yield level
            return
    if machine in ('aarch64', 'release'):
        yield 'aarch64'


def linked(rows: list[Any]) -> Any:
    """Return a module of LLVM with these entries and all that they call, not optimised."""
    import llvmlite.binding as llvm
    from numba.core import codegen

    from ik_core.kernels import numba_way

    codegen.JITCPUCodegen._library_class = waiting_library()
    codegen.JITCPUCodegen.set_env = lambda self, name, env: None
    numba_way.PART.pop('pipeline_class')
    libraries: dict[int, Any] = {}

    def collect(library: Any) -> None:
        if id(library) not in libraries:
            libraries[id(library)] = library
            for other in library._linking_libraries:
                collect(other)

    modules, names = [], set()
    for row in rows:
        kernel = row.kernel()
        kinds = kinds_of(row.arguments)
        dispatcher = kernel.for_numba()
        dispatcher.compile(kinds)
        compiled = dispatcher.overloads[kinds]
        collect(compiled.library)
        modules.append(entry_module(row, compiled))
        names.add(row.name)
    whole = llvm.parse_assembly('')
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
    """Return a class of numba's libraries that wait: nothing is optimised, linked or emitted."""
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
    """Return the one function of numba's own library that kernels call, as a module."""
    import llvmlite.binding as llvm

    text = RESHAPE.read_text()
    try:
        return llvm.parse_assembly(text)
    except RuntimeError:  # LLVM below 17, whose pointers have types
        return llvm.parse_assembly(re.sub(r'\bptr\b', 'i64*', text))


def optimise(module: Any, machine: Any) -> None:
    """Optimise a module; no vectors other than ours."""
    import llvmlite.binding as llvm

    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def machine_of(cpu: str, module: Any) -> Any:
    """Return LLVM's machine for a set of instructions, and make it the module's target."""
    import llvmlite.binding as llvm

    arm = cpu == 'aarch64'
    triple = 'aarch64-unknown-linux-gnu' if arm else 'x86_64-unknown-linux-gnu'
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(
        cpu='generic' if arm else cpu, opt=2, reloc='pic', codemodel='small'
    )
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    return machine


# --- an entry ------------------------------------------------------------------------------------


def kinds_of(letters: str) -> tuple[Any, ...]:
    """Return numba's types of an entry's arguments."""
    from numba.core import types

    from ik_core.kernels.entries import GOALS, at

    numbers = {'i': types.int64, 'd': types.float64, 'b': types.boolean}

    def kinds(text: str) -> list[Any]:
        found: list[Any] = []
        for one in re.findall(r'\([^)]*\)|[DIB]\d|[idb]', text):
            if one[0] == '(':
                inside = tuple(kinds(one[1:-1]))
                named = one == GOALS
                found.append(
                    types.NamedTuple(inside, at('tasks.kernels:Packed'))
                    if named
                    else types.Tuple(inside)
                )
            elif len(one) == 2:
                found.append(types.Array(numbers[one[0].lower()], int(one[1]), 'C'))
            else:
                found.append(numbers[one])
        return found

    return tuple(kinds(letters))


def entry_module(row: Any, compiled: Any) -> Any:
    """Return a module with `int NAME(int64_t *table)`, which calls the compiled kernel."""
    import llvmlite.binding as llvm
    from llvmlite import ir
    from numba.core import cgutils

    context, about = compiled.target_context, compiled.fndesc
    module = context.create_module(row.name)
    kind = context.call_conv.get_function_type(about.restype, about.argtypes)
    kernel = ir.Function(module, kind, about.llvm_func_name)
    word = ir.IntType(64)
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), [word.as_pointer()]), row.name)
    builder = ir.IRBuilder(function.append_basic_block('entry'))
    table = Table(context, builder, function.args[0])
    arguments = [table.read(one) for one in about.argtypes]
    status, answer = context.call_conv.call_function(
        builder, kernel, about.restype, about.argtypes, arguments
    )
    before = table.place
    table.write(about.restype, answer)
    if table.place - before != len(row.results):
        raise TypeError(f'{row.path} returns {about.restype}, not {row.results!r}')
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
