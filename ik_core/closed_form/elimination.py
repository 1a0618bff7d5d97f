"""Six joints of any geometry: all solutions as eigenvalues of a matrix.

A loop of six joints E1 ... E6 and a constant motion E can be cut so that

    E3 E4 E5 x6 = E2^-1 E1^-1 x6,   x6: a point on axis 6, and the direction of that axis

with E somewhere on the right hand side. In the numbers of `lines` these are 14 equations; the
right hand side is linear in the 8 products of (cos q1, sin q1, 1) and (cos q2, sin q2, 1) but 1,
which leave 6 combinations without q1 and q2. With x = tan(q/2 + some angle) of the other three
joints they have degree two in each. Multiplied by x4 they are 12 equations in the 12 products of
1, x4, x4^2, x4^3 and 1, x5, x5^2, with coefficients of degree two in x3: the solutions are
eigenvalues x3 of a matrix (24, 24), 16 of them at most, and x4 and x5 stand in the eigenvectors.
That is the method of [Raghavan1993], by eigenvalues as in [Manocha1994].

Where axes meet or are parallel, some cuts have nothing but singular matrices: six joints can be
cut in six ways (`CUTS`), and the best one has to be found out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array, IntArray
from .lines import inverse_joint, inverse_shift, joint_matrices, line_numbers, motion_matrix

CUTS = tuple((mirrored, place) for place in (1, 0, 2) for mirrored in (False, True))
"""Ways to cut the loop: whether it is read backwards, and how many of its joints stand behind E.
The first joint that is read after E is the first, second or third of the cut."""
REAL = 0.05
"""Imaginary parts of angles [rad] that may be rounding, or nearly a double solution."""
SINGULAR = 1e-11
"""Matrices of smaller reciprocal condition have no eigenvalues worth the name."""
TOGETHER = 1e-5
"""Angles [rad] of eigenvalues no further apart are solutions that share one, or a double one."""
NULL = 1e-6
"""Singular values of zero, as a share of the largest."""
MIXED = 0.6180339887
"""Of x5 beside x4, so that solutions that share one of the two are told apart by the other."""
HOPELESS = 1e-16
"""Such matrices are not inverted."""
TURNED = 0.3, 1.1, -0.7
"""Angles [rad] that joints 3, 4, 5 are turned by, so that tan(q/2) is finite at right angles."""
_HALF = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, -1.0], [0.0, 2.0, 0.0]])
"""1, cos q, sin q times 1 + x^2: their coefficients of 1, x, x^2."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """What may be solutions: `values` (k, 6) of the joints, and how far their angle 3 is from
    being real, `imaginary` (k,). `is_regular`: whether the matrices were."""

    values: Array
    imaginary: Array
    is_regular: bool


class Elimination:
    """A loop that is cut in one way.

    rows (6, 6): axis and point [m] of each joint, all at zero; slides (6,): which are prismatic
    """

    def __init__(self, rows: Array, slides: NDArray[np.bool_], cut: tuple[bool, int]) -> None:
        self._mirrored, self._place = cut
        self._centre = rows[:, 3:].mean(axis=0)
        gaps = np.linalg.norm(rows[:, 3:] - self._centre, axis=1)
        self._length = float(max(gaps.max(), 1e-3))
        self._order = (np.arange(6) - self._place) % 6
        scaled = rows.copy()
        scaled[:, 3:] = (rows[:, 3:] - self._centre) / self._length
        if self._mirrored:
            self._order = 5 - self._order
            scaled[:, :3] *= -1.0
        self._rows, self._slides = scaled[self._order], slides[self._order]
        self._prepare()

    def _prepare(self) -> None:
        """All that does not depend on the target."""
        joints = [joint_matrices(r, s) for r, s in zip(self._rows, self._slides, strict=True)]
        back = [
            inverse_shift(joint) if slides else inverse_joint(joint)
            for joint, slides in zip(joints[:2], self._slides, strict=False)
        ]
        last = line_numbers(self._rows[5, 3:], self._rows[5, :3])
        self._left = np.einsum('aij,bjk,ck->iabc', joints[2], joints[3], joints[4] @ last)[1:]
        self._first, self._second, self._last = back[0], back[1], last
        self._bases = [
            _turned_basis(angle, slides)
            for angle, slides in zip(TURNED, self._slides[2:5], strict=True)
        ]
        self._powers = np.einsum('nabc,ai,bj,ck->nijk', self._left, *self._bases).reshape(14, 27)
        a, b, c = (basis[0] for basis in self._bases)
        self._one = np.einsum('i,j,k->ijk', a, b, c).ravel()

    @property
    def last(self) -> int:
        """The joint whose value candidates leave open, at 0: it follows from all others."""
        return int(self._order[5])

    def candidates(self, target: Array) -> Candidates:
        """The candidates for E1 ... E6 = target (4, 4)."""
        right = self._right(target)
        free = np.linalg.svd(right[:, 1:])[0][:, 8:].T
        polynomials = free @ self._powers - np.outer(free @ right[:, 0], self._one)
        pencil = _pencil(polynomials.reshape(6, 3, 3, 3))
        x3, vectors, condition = _eigenvalues(pencil)
        found, imaginary = self._angles(pencil, x3, vectors)
        placed = self._first_two(right, found)
        q = np.empty((len(found), 6))
        q[:, self._order] = np.column_stack([placed, found, np.zeros(len(found))])
        return Candidates(q, imaginary, condition > SINGULAR)

    def _right(self, target: Array) -> Array:
        """The right hand side (14, 9): coefficients of the products of joints 1 and 2."""
        motion: Array = np.linalg.inv(target).astype(float) if self._mirrored else target.copy()
        motion[:3, 3] += motion[:3, :3] @ self._centre - self._centre
        motion[:3, 3] /= self._length
        matrix = motion_matrix(motion)
        one, two, last = self._first, self._second, self._last
        if self._place == 0:
            right = two @ (one @ (matrix @ last)).T
        elif self._place == 1:
            right = two @ (matrix @ (one @ last).T)
        else:
            right = matrix @ (two @ (one @ last).T)
        return right[:, 1:].transpose(1, 2, 0).reshape(14, 9)

    def _angles(self, pencil: Array, x3: Array, vectors: Array) -> tuple[Array, Array]:
        """The values (k, 3) of joints 3, 4, 5 of eigenvalues that may be real, and how far these
        are from that (k,)."""
        with np.errstate(divide='ignore', invalid='ignore'):
            turn = (1.0 + 1j * x3) / (1.0 - 1j * x3)
            imaginary = np.abs(np.log(np.abs(turn)))
        kept = np.flatnonzero((imaginary < REAL) & (x3.imag >= 0.0))
        found, far = [], []
        for group in _groups(kept, np.angle(turn)):
            x = float(x3[group].real.mean())
            several = len(group) > 1 or x3[group[0]].imag > 0.0  # with its conjugate, say
            halves = _separated(pencil, x) if several else _halves(x3, vectors, group[0])
            for half in halves:
                four, five = _ratio(half[1:], half[:3]), _ratio(half[:, 1:], half[:, :2])
                found.append(
                    [self._value(0, x, 1.0), self._value(1, *four), self._value(2, *five)]
                )
                far.append(imaginary[group].min())
        return np.reshape(found, (-1, 3)), np.array(far)

    def _value(self, i: int, over: float, under: float) -> float:
        """The value of joint 3 + i for x = over / under."""
        angle = 2.0 * np.arctan2(over, under) + TURNED[i]
        if self._slides[2 + i]:
            return float(np.tan(0.5 * angle)) * self._length
        return float(angle)

    def _first_two(self, right: Array, found: Array) -> Array:
        """The values (k, 2) of joints 1 and 2 for those (k, 3) of joints 3, 4, 5."""
        products = np.ones((1, len(found)))
        for i in range(3):
            q = found[:, i]
            if self._slides[2 + i]:
                d = q / self._length
                basis = np.array([np.ones_like(d), d, d * d])
            else:
                basis = np.array([np.ones_like(q), np.cos(q), np.sin(q)])
            products = (products[:, None] * basis).reshape(3 ** (i + 1), len(found))
        sides = self._left.reshape(14, 27) @ products - right[:, :1]
        rest = np.linalg.lstsq(right[:, 1:], sides, rcond=1e-9)[0]
        pairs = rest[[2, 5]], rest[[0, 1]]  # of joint 1 alone, of joint 2 alone
        columns = [
            a * self._length if slides else np.arctan2(b, a)
            for (a, b), slides in zip(pairs, self._slides, strict=False)
        ]
        return np.column_stack(columns)


def _turned_basis(angle: float, slides: bool) -> Array:
    """1, cos q, sin q (or 1, d, d^2) of q = angle + 2 atan x (or d = tan of its half), times
    1 + x^2 (or a square): their coefficients of 1, x, x^2."""
    if slides:
        c, s = np.cos(0.5 * angle), np.sin(0.5 * angle)  # d = (s + c x) / (c - s x)
        one = [c * c, -2.0 * c * s, s * s]
        return np.array([one, [c * s, c * c - s * s, -c * s], [s * s, 2.0 * c * s, c * c]])
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]) @ _HALF


def _pencil(polynomials: Array) -> Array:
    """The 12 equations in 12 products, (3, 12, 12): coefficients of 1, x3, x3^2.

    polynomials (6, 3, 3, 3): the powers of x3, x4, x5
    """
    powers = polynomials.transpose(1, 0, 2, 3)
    shifted = np.zeros((3, 12, 4, 3))
    shifted[:, :6, :3] = powers
    shifted[:, 6:, 1:] = powers
    return shifted.reshape(3, 12, 12)


def _eigenvalues(matrices: Array) -> tuple[Array, Array, float]:
    """The eigenvalues x3 (24,), their vectors, and the reciprocal condition of a matrix that is
    inverted."""
    values = np.linalg.svd(matrices[2], compute_uv=False)
    condition = float(values[-1] / values[0]) if values[0] > 0.0 else 0.0
    if condition <= HOPELESS:
        return np.empty(0, complex), np.empty((24, 0), complex), 0.0
    companion = np.zeros((24, 24))
    companion[:12, 12:] = np.eye(12)
    companion[12:] = -np.linalg.solve(matrices[2], np.hstack([matrices[0], matrices[1]]))
    x3, vectors = np.linalg.eig(companion)
    return x3.astype(complex), vectors.astype(complex), condition


def _groups(kept: IntArray, angles: Array) -> Iterator[IntArray]:
    """Those kept, in groups of (nearly) the same angle [rad]."""
    kept = kept[np.argsort(angles[kept])]
    ends = np.flatnonzero(np.diff(angles[kept]) > TOGETHER) + 1
    for group in np.split(kept, ends):
        if len(group):
            yield group


def _halves(x3: Array, vectors: Array, i: int) -> list[Array]:
    """The products (4, 3) of powers of x4 and x5 in an eigenvector of its own."""
    half = vectors[:12, i] if abs(x3[i]) < 1.0 else vectors[12:, i]
    return [(half / half[np.abs(half).argmax()]).real.reshape(4, 3)]


def _separated(pencil: Array, x: float) -> list[Array]:
    """Several such products for one eigenvalue: the eigenvectors of multiplying by a combination
    of x4 and x5, in the space that the matrix takes to zero."""
    _, values, rows = np.linalg.svd(pencil[0] + x * (pencil[1] + x * pencil[2]))
    count = max(1, int((values <= NULL * values[0]).sum()))
    space = rows[-count:].T.reshape(4, 3, count)
    by4 = np.linalg.lstsq(space[:3].reshape(9, count), space[1:].reshape(9, count), rcond=None)[0]
    low, high = space[:, :2].reshape(8, count), space[:, 1:].reshape(8, count)
    by5 = np.linalg.lstsq(low, high, rcond=None)[0]
    vectors = np.linalg.eig(by4 + MIXED * by5)[1]
    products = space.reshape(12, count) @ vectors
    products = products / products[np.abs(products).argmax(axis=0), np.arange(count)]
    return list(products.real.T.reshape(count, 4, 3))


def _ratio(above: Array, below: Array) -> tuple[float, float]:
    """x, as over / under, for above = x below."""
    a, b, both = float((above**2).sum()), float((below**2).sum()), float((above * below).sum())
    return (both, b) if b >= a else (a, both)
