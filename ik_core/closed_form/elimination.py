# SPDX-License-Identifier: Apache-2.0
"""All solutions for six joints of any geometry, as eigenvalues of a matrix.

They are candidates until `kernel.check_candidates` has checked them. A loop of six joints
E1 ... E6 and a constant motion E can be cut so that

    E3 E4 E5 x6 = E2^-1 E1^-1 x6,   x6: a point on axis 6, and the direction of that axis

with E before E2^-1, before E1^-1 or before x6 on the right hand side. This is the method of
[Raghavan1993], by eigenvalues as in [Manocha1994]:

1. Written in the numbers of a line (`NUMBERS`), of which the first is always 1, these are 14
   equations. The right hand side is linear in the products of (cos q1, sin q1, 1) with
   (cos q2, sin q2, 1), of which 8 are not constant.
2. Eliminating these 8 products leaves 6 equations in q3, q4 and q5. They have degree two in each
   x = tan((q - a) / 2), with a constant angle a for each joint (`TURNED`).
3. The 6 equations, and the same ones multiplied by x4, are 12 equations in the 12 products of
   (1, x4, x4^2, x4^3) with (1, x5, x5^2). Their coefficients have degree two in x3.
4. So each x3 is an eigenvalue of a matrix (24, 24), and its eigenvector gives x4 and x5. At most
   16 eigenvalues are solutions.
5. Newton's method refines all candidates at the same time (`Six`).

If axes meet or are parallel, the matrices of some cuts are always singular. Six joints can be cut
in six ways (`CUTS`): `EliminationWorkspace` uses the one that is most accurate in trials.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array, IntArray, transform_of
from ..robot.limits import FULL_TURN, JointLimits
from . import records as rec
from .chain import Chain, motion_of
from .families import Strategy
from .kernel import BY_START, SAME, check_candidates
from .workspace import Workspace

# Ways to cut the loop: whether it is read backwards, and how many of its joints are behind E. The
# first joint that is read after E is the first, second or third of the cut.
CUTS = tuple((mirrored, place) for place in (1, 0, 2) for mirrored in (False, True))
# Imaginary parts of angles [rad] up to this may be rounding, or come from nearly double solutions.
REAL = 0.05
# The eigenvalues of matrices with a smaller reciprocal condition are useless
WORST_CONDITION = 1e-11
# Solutions whose eigenvalues are angles no further apart than this [rad] share one angle, or are
# double.
SAME_EIGENVALUE = 1e-5
NULL = 1e-6  # Singular values below this, relative to the largest, count as zero
MIXED = 0.6180339887  # Weight of x5 relative to x4: separates solutions that share one of the two
HOPELESS = 1e-16  # Matrices with a smaller reciprocal condition are not inverted
# Angles [rad] by which joints 3, 4 and 5 are turned, so that tan(q/2) is finite at right angles.
TURNED = 0.3, 1.1, -0.7
# (1, cos q, sin q) (1 + x^2): their coefficients of 1, x, x^2.
_HALF = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, -1.0], [0.0, 2.0, 0.0]])


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates for solutions.

    `values` (k, 6): of the joints. `imaginary` (k,): imaginary part of their angle 3.
    `is_regular`: whether the matrices were regular.
    """

    values: Array
    imaginary: Array
    is_regular: bool


class Elimination:
    """A loop, cut in one way.

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
        """Compute everything that does not depend on the target."""
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
        """The joint that candidates leave unsolved, at 0: its value follows from the others."""
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
        return Candidates(q, imaginary, condition > WORST_CONDITION)

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
        """Return the values (k, 3) of joints 3, 4, 5 for eigenvalues that may be real, and their
        imaginary parts (k,)."""
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
        """Return the values (k, 2) of joints 1 and 2, given those (k, 3) of joints 3, 4, 5."""
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
    """Return coefficients (3, 3) of 1, x, x^2 in the numerators of 1, cos q, sin q for q = angle +
    2 atan x.

    The common denominator is 1 + x^2. Prismatic joints: of 1, d, d^2.
    """
    if slides:
        c, s = np.cos(0.5 * angle), np.sin(0.5 * angle)  # d = (s + c x) / (c - s x)
        one = [c * c, -2.0 * c * s, s * s]
        return np.array([one, [c * s, c * c - s * s, -c * s], [s * s, 2.0 * c * s, c * c]])
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]) @ _HALF


def _pencil(polynomials: Array) -> Array:
    """Return the 12 equations in 12 products, (3, 12, 12): coefficients of 1, x3, x3^2.

    polynomials (6, 3, 3, 3): the powers of x3, x4, x5
    """
    powers = polynomials.transpose(1, 0, 2, 3)
    shifted = np.zeros((3, 12, 4, 3))
    shifted[:, :6, :3] = powers
    shifted[:, 6:, 1:] = powers
    return shifted.reshape(3, 12, 12)


def _eigenvalues(matrices: Array) -> tuple[Array, Array, float]:
    """Return the eigenvalues x3 (24,), their vectors, and a matrix's reciprocal condition."""
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
    """Group the candidates that are kept by (nearly) equal angles [rad]."""
    kept = kept[np.argsort(angles[kept])]
    ends = np.flatnonzero(np.diff(angles[kept]) > SAME_EIGENVALUE) + 1
    for group in np.split(kept, ends):
        if len(group):
            yield group


def _halves(x3: Array, vectors: Array, i: int) -> list[Array]:
    """Return the products (4, 3) of powers of x4 and x5 in an eigenvector."""
    half = vectors[:12, i] if abs(x3[i]) < 1.0 else vectors[12:, i]
    return [(half / half[np.abs(half).argmax()]).real.reshape(4, 3)]


def _separated(pencil: Array, x: float) -> list[Array]:
    """Return the products (k, 4, 3) of powers of x4 and x5 for k solutions that share an
    eigenvalue.

    They are eigenvectors of the multiplication by a combination of x4 and x5, in the null space of
    the matrix.
    """
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
    """Return over and under of x = over / under, the least-squares solution of above = x below."""
    a, b, both = float((above**2).sum()), float((below**2).sum()), float((above * below).sum())
    return (both, b) if b >= a else (a, both)


# --- a point on a line, moved --------------------------------------------------------------------

# A point p on a line of direction l has fifteen numbers,
#
#     1, p, p.p,  l, p.l, p x l, (p.p) l - 2 (p.l) p
#
# Under a motion p -> R p + d, l -> R l each becomes a linear combination of them, with
# coefficients of degree one in R. So a joint is a matrix (15, 15) that is linear in the cosine
# and sine of its angle, or quadratic in its shift, and a chain of joints is a product of such
# matrices. Turning about the line itself changes none of the numbers. These are the fourteen
# equations of [Raghavan1993], without their Denavit-Hartenberg parameters.
NUMBERS = 15
_POINT, _SQUARE, _LINE, _ALONG = slice(1, 4), 4, slice(5, 8), 8
_MOMENT, _LAST = slice(9, 12), slice(12, 15)


def line_numbers(point: Array, direction: Array) -> Array:
    """The numbers (15,) of a point (3,) and of a line's direction (3,)."""
    square, along = point @ point, point @ direction
    moment = np.cross(point, direction)
    last = square * direction - 2.0 * along * point
    return np.concatenate([[1.0], point, [square], direction, [along], moment, last])


def motion_matrix(motion: Array) -> Array:
    """The matrix (15, 15) of a motion (4, 4) on products of coordinates."""
    return _shift(motion[:3, 3]) @ _turn(motion[:3, :3], 1.0)


def joint_matrices(row: Array, slides: bool) -> Array:
    """Matrices (3, 15, 15) of a joint, the coefficients of 1, cos q and sin q, or of 1, d and d^2.

    row (6,): its axis and a point on it
    """
    axis, point = row[:3], row[3:]
    if slides:
        there, back = _shift(axis), _shift(-axis)
        return np.array(
            [np.eye(NUMBERS), 0.5 * (there - back), 0.5 * (there + back) - np.eye(NUMBERS)]
        )
    along, around = np.outer(axis, axis), _cross_matrix(axis)
    parts = [_turn(along, 1.0), _turn(np.eye(3) - along, 0.0), _turn(around, 0.0)]
    return _shift(point) @ np.array(parts) @ _shift(-point)


def inverse_joint(matrices: Array) -> Array:
    """Return the matrices of the inverse of a revolute joint, by the same variable."""
    return matrices * np.array([1.0, 1.0, -1.0])[:, None, None]


def inverse_shift(matrices: Array) -> Array:
    """Return the matrices of the inverse of a prismatic joint, by the same variable."""
    return matrices * np.array([1.0, -1.0, 1.0])[:, None, None]


def _turn(rotation: Array, one: float) -> Array:
    """Return the matrix (15, 15) of a rotation (3, 3); `one`: its entry for scalars, which a
    rotation leaves alone."""
    matrix = np.zeros((NUMBERS, NUMBERS))
    for part in (_POINT, _LINE, _MOMENT, _LAST):
        matrix[part, part] = rotation
    for i in (0, _SQUARE, _ALONG):
        matrix[i, i] = one
    return matrix


def _shift(d: Array) -> Array:
    """The matrix of a translation (3,)."""
    matrix, around = np.eye(NUMBERS), _cross_matrix(d)
    matrix[_POINT, 0], matrix[_SQUARE, 0], matrix[_SQUARE, _POINT] = d, d @ d, 2.0 * d
    matrix[_ALONG, _LINE], matrix[_MOMENT, _LINE] = d, around
    matrix[_LAST, _LINE] = (d @ d) * np.eye(3) - 2.0 * np.outer(d, d)
    matrix[_LAST, _ALONG], matrix[_LAST, _MOMENT] = -2.0 * d, -2.0 * around
    return matrix


def _cross_matrix(v: Array) -> Array:
    """[v]x (3, 3)."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


# --- Newton's method -----------------------------------------------------------------------------

NEWTON_STEPS = 6
EXACT_ENOUGH = 1e-13  # Errors [m, rad] below this are not reduced further
SMALLEST_SCALE = 1e-300
LONGEST_NEWTON_MOVE = 0.3  # Largest move of a joint in a step [rad, m]


class Six:
    """Six joints in a row.

    rows (6, 6): axis and point [m] of each, all at zero; slides (6,): which are prismatic
    """

    def __init__(self, rows: Array, slides: NDArray[np.bool_]) -> None:
        self.rows, self.slides = rows, slides
        self._parts = np.array([_joint_parts(r, s) for r, s in zip(rows, slides, strict=True)])

    def motions(self, values: Array) -> Array:
        """The motions (k, 6, 4, 4) of the joints at values (k, 6)."""
        one, two = np.cos(values), np.sin(values)
        one[:, self.slides], two[:, self.slides] = values[:, self.slides], 0.0
        fixed, first, second = self._parts[:, 0], self._parts[:, 1], self._parts[:, 2]
        return fixed + one[..., None, None] * first + two[..., None, None] * second

    def complete(self, values: Array, joint: int, target: Array) -> None:
        """Set one joint of each row (k, 6) to its best value, given all others."""
        motions = self.motions(values)
        before, behind = np.eye(4), np.eye(4)
        for i in range(joint):
            before = before @ motions[:, i]
        for i in range(5, joint, -1):
            behind = motions[:, i] @ behind
        own = np.linalg.inv(before) @ target @ np.linalg.inv(behind)
        axis = self.rows[joint, :3]
        if self.slides[joint]:
            values[:, joint] = own[..., :3, 3] @ axis
        else:
            cosine = 0.5 * (np.trace(own[..., :3, :3], axis1=-2, axis2=-1) - 1.0)
            values[:, joint] = np.arctan2(_vee(own) @ axis, cosine)

    def polish(self, values: Array, target: Array) -> Array:
        """Refine values (k, 6) to solutions; return the errors (k,) [m, rad] that remain."""
        errors = np.full(len(values), np.inf)
        going = np.arange(len(values))
        best = values.copy()
        for step in range(NEWTON_STEPS + 1):
            jacobians, twists = self._linearised(values[going], target)
            now = np.abs(twists).max(axis=1, initial=0.0)
            better = now < errors[going]
            best[going[better]], errors[going[better]] = values[going[better]], now[better]
            kept = better & (now > EXACT_ENOUGH)
            going = going[kept]
            if step == NEWTON_STEPS or not len(going):
                break
            moves = _solved(jacobians[kept], twists[kept])
            sizes = np.abs(moves).max(axis=1, keepdims=True)
            values[going] += moves * np.minimum(
                1.0, LONGEST_NEWTON_MOVE / np.maximum(sizes, LONGEST_NEWTON_MOVE)
            )
        values[:] = best
        return errors

    def regularity(self, values: Array) -> Array:
        """Return the least singular values of the Jacobians at values (k, 6), relative (k,) to the
        largest."""
        sizes = np.linalg.svd(self._linearised(values, np.eye(4))[0], compute_uv=False)
        return np.asarray(sizes[:, -1] / np.maximum(sizes[:, 0], SMALLEST_SCALE), float)

    def _linearised(self, values: Array, target: Array) -> tuple[Array, Array]:
        """Return the Jacobians (k, 6, 6) of the twist about the origin, and the twists (k, 6) to
        the target."""
        motions, frame = self.motions(values), np.tile(np.eye(4), (len(values), 1, 1))
        jacobians = np.empty((len(values), 6, 6))
        for i, (row, slides) in enumerate(zip(self.rows, self.slides, strict=True)):
            axis = frame[:, :3, :3] @ row[:3]
            if slides:
                jacobians[:, :3, i], jacobians[:, 3:, i] = 0.0, axis
            else:
                point = frame[:, :3, :3] @ row[3:] + frame[:, :3, 3]
                jacobians[:, :3, i], jacobians[:, 3:, i] = axis, np.cross(point, axis)
            frame = frame @ motions[:, i]
        turn = target[:3, :3] @ frame[:, :3, :3].transpose(0, 2, 1)
        shift = target[:3, 3] - (turn @ frame[:, :3, 3, None])[..., 0]
        return jacobians, np.concatenate([_vee(turn), shift], axis=1)


def _joint_parts(row: Array, slides: bool) -> Array:
    """Return a joint's matrices (3, 4, 4), the coefficients of 1, cos q, sin q, or of 1 and q."""
    axis, point = row[:3], row[3:]
    parts = np.zeros((3, 4, 4))
    if slides:
        parts[0], parts[1, :3, 3] = np.eye(4), axis
        return parts
    x, y, z = axis
    parts[0, :3, :3] = np.outer(axis, axis)
    parts[1, :3, :3] = np.eye(3) - parts[0, :3, :3]
    parts[2, :3, :3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    parts[:, :3, 3] = -parts[:, :3, :3] @ point
    parts[0, :3, 3] += point
    parts[0, 3, 3] = 1.0
    return parts


def _vee(turn: Array) -> Array:
    """Return the axes (k, 3) of small rotations (k, 3 or 4, 3 or 4), times the sine of the
    angle."""
    return 0.5 * np.stack(
        [
            turn[..., 2, 1] - turn[..., 1, 2],
            turn[..., 0, 2] - turn[..., 2, 0],
            turn[..., 1, 0] - turn[..., 0, 1],
        ],
        axis=-1,
    )


def _solved(matrices: Array, sides: Array) -> Array:
    """Solve (k, 6, 6) systems; return (k, 6), the shortest solutions of singular ones."""
    try:
        found = np.linalg.solve(matrices, sides[..., None])
    except np.linalg.LinAlgError:
        found = np.linalg.pinv(matrices, rcond=1e-10) @ sides[..., None]
    return np.asarray(found[..., 0], float)


# --- ready for use -------------------------------------------------------------------------------

CUT_TRIALS = 4  # Random configurations on which a cut of the loop is tried
LEAST_ACCURATE = 1e-4  # A cut whose median error at these exceeds this [rad, m] is not used
SOLVED = 1e-10  # A candidate with a smaller error [m, rad] is a solution
# Solutions whose Jacobian has a singular value below this, relative to the largest, may be some of
# infinitely many.
SINGULAR_FRACTION = 1e-6
# If an imaginary part [rad] is below this, a candidate should have become a solution.
DOUBTFUL_IMAGINARY = 1e-4
# Small motions (4, 4) in directions that are special to no arm. They lead from singular matrices
# to regular ones, at which there still are solutions near those wanted.
NUDGES = [
    motion_of(np.array([0.48, -0.6, 0.64, *point]), angle, False)
    for angle, point in ((1e-4, (0.3, -0.7, 0.2)), (-1e-3, (-0.4, 0.1, 0.6)))
]
# A candidate that moves further [rad, m] while it is refined may have become another solution.
LONGEST_REFINEMENT = 1e-2


class NoCut(Exception):
    """Every way to cut a loop leads to singular matrices."""


class EliminationWorkspace(Workspace):
    """A `Workspace` that solves by elimination.

    `is_sure`: whether the last call found all solutions: no matrix was singular, and every
    candidate has become a solution of its own.

    The cut of the loop that is used is the most accurate one in trials. Raises `NoCut` where there
    is none.
    """

    rows = rec.MOST_FOUND

    def __init__(
        self, chain: Chain, strategy: Strategy, limits: JointLimits, columns: IntArray, n: int,
        margin: float,
    ) -> None:  # fmt: skip
        super().__init__(chain, strategy, limits, columns, n, margin)
        self._order = np.array(strategy.order)
        self._home = transform_of(self.numbers[rec.HOME])
        self._cuts = self._good_cuts()
        self._stood, self._parts_there = (
            np.nan,
            (Six(np.zeros((6, 6)), np.zeros(6, bool)), np.eye(4)),
        )
        self._eliminations: list[Elimination] = []

    def solve(self, targets: Array, start: Array, value: float, free: float = BY_START) -> int:
        """Solve as `Workspace.solve` does; `free` is ignored."""
        self._target[0], self._start[0], self._value[0] = targets[0], start, value
        stands, redundant = 0.0, self.strategy.redundant
        if redundant >= 0:
            row = self.numbers[redundant + 1]
            stands = float(row[rec.MULTIPLIER] * value + row[rec.OFFSET])
        if stands != self._stood:
            self._stood, self._parts_there, self._eliminations = stands, self._at(stands), []
        found = self._found(transform_of(targets[0]) @ self._home @ self._parts_there[1])
        candidates = np.zeros((len(found), len(self.numbers)))
        candidates[:, self._order] = found
        self.is_near = check_candidates(self._arrays.address, candidates)
        return self._count.item()

    def _found(self, target: Array) -> Array:
        """Return the solutions (k, 6) of the six joints, and near-solutions.

        The best cut finds them. If it is not certain, the other cuts are used, too, and poses
        nearby: a single singular solution makes the matrices singular from which all regular ones
        come. It may be one of infinitely many, which replace others: with it, nothing is certain.
        """
        found = np.empty((0, 6))
        for i in range(len(self._cuts)):
            values, errors, self.is_sure = self._by_cut(i, target)
            values = values[errors <= max(self.numbers[rec.SETTINGS, rec.MARGIN], SOLVED)]
            found = np.vstack([found, _new_ones(values, found)])
            if self.is_sure and (self._parts_there[0].regularity(found) > SINGULAR_FRACTION).all():
                return found
        self.is_sure = False
        beside = [self._perturbed_solutions(target @ nudge) for nudge in NUDGES]
        for values in (self._at_start(), *beside):  # the start may be one of infinitely many
            errors = self._parts_there[0].polish(values, target)
            found = np.vstack([found, _new_ones(values[errors <= SOLVED], found)])
        order = (-self._parts_there[0].regularity(found)).argsort(kind='stable')
        return found[order]  # of infinitely many, there may be more than there is room for

    def _perturbed_solutions(self, target: Array) -> Array:
        """Return solutions (k, 6), found at poses near one at which matrices are singular."""
        values, errors, _ = self._by_cut(0, target)
        return values[errors <= SOLVED]

    def _at_start(self) -> Array:
        """Return the values (1, 6) of the six joints at the start."""
        own = np.zeros(len(self.strategy.rows))
        joints = self.numbers[1 : self.plan[rec.JOINTS] + 1]
        columns = self.plan[rec.COLUMN : rec.COLUMN + len(joints)]
        own[1 : len(joints) + 1] = (
            joints[:, rec.MULTIPLIER] * self._start[0, columns] + joints[:, rec.OFFSET]
        )
        return np.asarray(own[self._order], float)[None]

    def _by_cut(self, i: int, target: Array) -> tuple[Array, Array, bool]:
        """Return candidates (k, 6), refined as far as possible, their errors, and whether they
        certainly include all solutions."""
        six = self._parts_there[0]
        if i == len(self._eliminations):
            self._eliminations.append(Elimination(six.rows, six.slides, self._cuts[i]))
        candidates = self._eliminations[i].candidates(target)
        values = candidates.values
        six.complete(values, self._eliminations[i].last, target)
        before = values.copy()
        errors = six.polish(values, target)
        doubtful = (errors > SOLVED) | (np.abs(values - before).max(axis=1) > LONGEST_REFINEMENT)
        doubtful &= candidates.imaginary < DOUBTFUL_IMAGINARY
        return values, errors, candidates.is_regular and not bool(doubtful.any())

    def _at(self, stands: float) -> tuple[Six, Array]:
        """Return the six joints with the redundant one fixed, and a transform (4, 4).

        stands : value of the redundant joint [rad, m]

        The target of the six joints is the given one times this transform.
        """
        rows, k = self.strategy.rows, self.strategy.redundant + 1
        slides, back = self.strategy.slides[self._order], np.eye(4)
        if k > 0:
            turn = motion_of(rows[k], stands, bool(self.strategy.slides[k]))
            rows, back = rows.copy(), np.asarray(np.linalg.inv(turn), float)
            rows[k:, :3] = rows[k:, :3] @ turn[:3, :3].T
            rows[k:, 3:] = rows[k:, 3:] @ turn[:3, :3].T + turn[:3, 3]
        return Six(rows[self._order], slides), back

    def _good_cuts(self) -> list[tuple[bool, int]]:
        """Return the accurate ways to cut the loop, the most accurate first."""
        rng = np.random.default_rng(0)
        values = rng.uniform(-3.0, 3.0, (CUT_TRIALS, 7))
        values[:, self.strategy.slides[self._order].nonzero()[0]] /= 3.0
        errors = np.array([[self._error(one, cut) for one in values] for cut in CUTS])
        order = errors.max(axis=1).argsort(kind='stable')
        good = [CUTS[i] for i in order if np.median(errors[i]) <= LEAST_ACCURATE]
        if not good:
            raise NoCut
        return good

    def _error(self, values: Array, cut: tuple[bool, int]) -> float:
        """Return the distance of the nearest candidate from a known solution (6,)."""
        six, _ = self._at(values[6])
        elimination = Elimination(six.rows, six.slides, cut)
        target = np.eye(4)
        for motion in six.motions(values[None, :6])[0]:
            target = target @ motion
        found = elimination.candidates(target).values
        six.complete(found, elimination.last, target)
        gaps = found - values[:6]
        gaps[:, ~six.slides] -= FULL_TURN * np.round(gaps[:, ~six.slides] / FULL_TURN)
        return float(np.abs(gaps).max(axis=1).min(initial=1.0))


def _new_ones(values: Array, known: Array) -> Array:
    """Return the rows (k, 6) that are not among the known ones."""
    gaps = np.abs(np.sin(0.5 * (values[:, None] - known[None]))).max(axis=2)
    return values[gaps.min(axis=1, initial=1.0) > SAME]
