/* SPDX-License-Identifier: Apache-2.0 */
/* Calls entries, `int entry(int64_t *table)`, from Python, with arrays and numbers.

   No header of Python's or numpy's: only functions of the stable ABI, so one library suits all
   versions. The address and the lengths of an array are read from numpy's struct if `ik_trial`
   has found them there, else through the buffer protocol. */
#include <stddef.h>
#include <stdint.h>

/* Of string.h, which not every cross compiler has. */
void *memcpy(void *, const void *, size_t);
char *strchr(const char *, int);
size_t strlen(const char *);

typedef struct object { intptr_t references; struct object *type; } Object;
typedef struct {
    void *address; Object *object; intptr_t bytes, item; int readonly, dimensions; char *format;
    intptr_t *shape, *strides, *suboffsets; void *internal;
} Buffer;
typedef struct {
    Object head; char *data; int dimensions; intptr_t *shape, *strides; Object *base, *dtype; int flags;
} Array;

/* Weak, so that programs without Python can load the library, too. */
#define PYTHON extern __attribute__((weak))
PYTHON Object *PyExc_TypeError, *PyExc_RuntimeError, _Py_NoneStruct;
PYTHON void *PyCapsule_GetPointer(Object *, const char *);
PYTHON Object *PyErr_Format(Object *, const char *, ...), *PyErr_Occurred(void);
PYTHON long long PyLong_AsLongLong(Object *);
PYTHON double PyFloat_AsDouble(Object *);
PYTHON int PyObject_IsTrue(Object *);
PYTHON Object *PyLong_FromLongLong(long long), *PyBool_FromLong(long), *PyFloat_FromDouble(double);
PYTHON Object *PyTuple_New(intptr_t), *PyTuple_GetItem(Object *, intptr_t);
PYTHON int PyTuple_SetItem(Object *, intptr_t, Object *);
PYTHON intptr_t PyTuple_Size(Object *);
PYTHON int PyObject_GetBuffer(Object *, Buffer *, int);
PYTHON void PyBuffer_Release(Buffer *), *PyEval_SaveThread(void), PyEval_RestoreThread(void *);
PYTHON void Py_IncRef(Object *);

typedef struct {
    int (*entry)(int64_t *);
    const char *name, *arguments, *results; /* letters: i, d, b; D2: an array (of d) of two dimensions; (tuple) */
    Object *array, *doubles, *integers, *bools; /* numpy's types; NULL: use buffers */
} Entry;

typedef struct { const Entry *entry; const char *letter; int64_t *slot; Buffer *buffer; } Call;

enum { SLOTS = 96, BUFFERS = 32, CARRAY = 0x101, C_ORDER = 0x3c };

static int read_array(Call *call, Object *value)
{
    char kind = *call->letter++;
    int dimensions = *call->letter++ - '0';
    const Entry *entry = call->entry;
    const Array *array = (const Array *)value;
    intptr_t *shape;
    Object *dtype = kind == 'D' ? entry->doubles : kind == 'I' ? entry->integers : entry->bools;
    if (entry->array && value->type == entry->array && array->dtype == dtype
        && array->dimensions == dimensions && (array->flags & CARRAY) == CARRAY) {
        *call->slot++ = (int64_t)array->data, shape = array->shape;
    } else { /* an array that was unpickled has a dtype of its own */
        Buffer *buffer = call->buffer;
        if (PyObject_GetBuffer(value, buffer, C_ORDER)) goto wrong;
        call->buffer++;
        char format = buffer->format ? buffer->format[0] : 'B';
        if (buffer->dimensions != dimensions || buffer->item != (kind == 'B' ? 1 : 8)
            || !strchr(kind == 'D' ? "d" : kind == 'I' ? "lq" : "?", format))
            goto wrong;
        *call->slot++ = (int64_t)buffer->address, shape = buffer->shape;
    }
    for (int k = 0; k < dimensions; k++) *call->slot++ = shape[k];
    return 1;
wrong:
    PyErr_Format(PyExc_TypeError, "%s: an array is not %c%d: of another type, dimension or order",
                 entry->name, kind, dimensions);
    return 0;
}

static int read_value(Call *call, Object *value)
{
    double number;
    intptr_t length, k;
    switch (*call->letter) {
    case 'd':
        number = PyFloat_AsDouble(value);
        if (number == -1.0 && PyErr_Occurred()) return 0;
        memcpy(call->slot++, &number, 8), call->letter++;
        return 1;
    case 'i':
        *call->slot = PyLong_AsLongLong(value), call->letter++;
        return *call->slot++ != -1 || !PyErr_Occurred();
    case 'b':
        *call->slot = PyObject_IsTrue(value), call->letter++;
        return *call->slot++ != -1;
    case '(':
        call->letter++;
        length = PyTuple_Size(value); /* -1: it is none */
        for (k = 0; k < length && *call->letter != ')'; k++)
            if (!read_value(call, PyTuple_GetItem(value, k))) return 0;
        if (k == length && *call->letter++ == ')') return 1;
        PyErr_Format(PyExc_TypeError, "%s: a tuple is not %s", call->entry->name,
                     call->entry->arguments);
        return 0;
    case 0:
        PyErr_Format(PyExc_TypeError, "%s: too many arguments", call->entry->name);
        return 0;
    default:
        return read_array(call, value);
    }
}

static Object *result(char letter, int64_t slot)
{
    double number;
    memcpy(&number, &slot, 8);
    return letter == 'd' ? PyFloat_FromDouble(number)
         : letter == 'b' ? PyBool_FromLong((long)slot) : PyLong_FromLongLong(slot);
}

/* The builtin of every entry: METH_FASTCALL, with the Entry in a capsule. */
Object *ik_call(Object *self, Object *const *arguments, intptr_t count)
{
    int64_t table[SLOTS];
    Buffer buffers[BUFFERS];
    const Entry *entry = PyCapsule_GetPointer(self, "ik");
    if (!entry) return NULL;
    Call call = {entry, entry->arguments, table, buffers};
    Object *answer = NULL;
    intptr_t i = 0;
    while (i < count && read_value(&call, arguments[i])) i++;
    if (i == count && *call.letter) {
        PyErr_Format(PyExc_TypeError, "%s: %zd arguments are too few", entry->name, count);
    } else if (i == count) {
        void *thread = PyEval_SaveThread();
        int status = entry->entry(table);
        PyEval_RestoreThread(thread);
        size_t results = strlen(entry->results);
        if (status)
            PyErr_Format(PyExc_RuntimeError, "%s failed: status %d", entry->name, status);
        else if (results == 1)
            answer = result(*entry->results, *call.slot);
        else if (results == 0)
            Py_IncRef(answer = &_Py_NoneStruct);
        else if ((answer = PyTuple_New((intptr_t)results)))
            for (size_t k = 0; k < results; k++)
                PyTuple_SetItem(answer, (intptr_t)k, result(entry->results[k], call.slot[k]));
    }
    while (call.buffer > buffers) PyBuffer_Release(--call.buffer);
    return answer;
}

/* Whether the struct of an array (2, 3) of that dtype is as this file describes it. */
int ik_trial(Object *value, void *data, Object *dtype)
{
    Array *array = (Array *)value;
    return array->data == data && array->dimensions == 2 && array->shape[0] == 2
        && array->shape[1] == 3 && array->dtype == dtype && (array->flags & CARRAY) == CARRAY;
}

/* Whether this processor has the instructions of this library; LEVEL: x86-64-v2 to v4, else 0. */
int ik_suits(void)
{
#if LEVEL
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")
        && (LEVEL < 3 || (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                          && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")))
        && (LEVEL < 4 || (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
                          && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
                          && __builtin_cpu_supports("avx512vl")));
#else
    return 1;
#endif
}

const int ik_lanes = LEVEL == 4 ? 8 : 4;
const char ik_sources[] = SOURCES; /* see sources.py, as for the seal */
#ifdef __APPLE__
#define SEAL_SECTION "__TEXT,__ik_seal"
#else
#define SEAL_SECTION ".ik_seal"
#endif
__attribute__((section(SEAL_SECTION), used)) const char ik_seal[] = "ik_core seal:" SEAL;

#ifdef __x86_64__ /* the version of every libc, so that the library runs with older ones */
__asm__(".symver older_fmod, fmod@GLIBC_2.2.5");
double older_fmod(double, double);
__attribute__((visibility("hidden"))) double ik_fmod(double x, double y) { return older_fmod(x, y); }
#else
double fmod(double, double);
__attribute__((visibility("hidden"))) double ik_fmod(double x, double y) { return fmod(x, y); }
#endif
