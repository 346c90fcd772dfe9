#!/usr/bin/env python3
"""Write golden data: what MuJoCo 4.0.1 computes for a folder of MJCF models.

    make_golden.py --models DIR --out DIR [--only GLOB] [--jobs N] [--small]
    make_golden.py --models DIR --check GOLDEN [--only GLOB] [--jobs N] [--small]

The committed files come from

    make_golden.py --models validation/models --out validation/golden --small

The first form writes one ``<name>.npz`` and one ``<name>.json`` a model, and ``index.json``.
``<name>`` is the model's path in DIR without ``.xml``, with ``/`` written as ``__``. The models are
the lines of ``DIR/models.txt`` where there is one, else every ``*.xml`` outside folders named
``assets``. Output is deterministic: states are drawn from a generator seeded with the model's name,
and the zip members carry a fixed date, so that a second run writes the same bytes.

The second form evaluates at the states stored in GOLDEN (``s<k>/in/*``) instead of drawing its own,
and compares every key with what is stored: presence, dtype, shape, and value to ``--tolerance``.

Keys of the npz (C order, only ``<f8``, ``<i4``, ``|u1``):

- ``model/<field>``: compiled arrays of mjModel, left out where empty.
- ``s<k>/in/*``: the state. s0, s1, s2: keyframe 0 (else qpos0) with growing noise; s1 and s2 with
  ``qfrc_applied``, s2 with ``xfrc_applied``; s3: 200 steps of small constant ctrl later. Every
  evaluation starts from it with time = 0 and qacc_warmstart = 0.
- ``s<k>/fwd/*``: mj_forward with the model's own options; ``qfrc_inverse`` from mj_inverse.
- ``s<k>/conv/*``, ``s<k>/conv_step{1,10,100}/*``: the same with the solver run to its optimum.
- ``s<k>/smooth/*``, ``s<k>/smooth_step{1,100}/*``: the same with constraints disabled.
- ``s<k>/step{1,10,100}/*``: mj_step with the model's own options.
- ``s<k>/fd_{own,conv,smooth}/{A,B,C,D}``: mjd_transitionFD, centred, eps 1e-6. For RK4, which
  mjd_transitionFD refuses, the same centred differences of mj_step, taken here.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import io
import json
import multiprocessing
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MUJOCO_VERSION = "4.0.1"
INSTALL = f"pip install mujoco-core=={MUJOCO_VERSION}"

try:
    import mujoco
    import numpy as np
except ImportError as missing:
    sys.exit(f"make_golden.py needs MuJoCo {MUJOCO_VERSION} and numpy ({missing}): {INSTALL}")

if mujoco.__version__ != MUJOCO_VERSION:
    sys.exit(
        f"make_golden.py is pinned to MuJoCo {MUJOCO_VERSION}, "
        f"found {mujoco.__version__}: {INSTALL}"
    )

# without a handler MuJoCo writes its warnings to a log file in the working folder too
mujoco.set_mju_user_warning(lambda text: print(f"MuJoCo: {text}", file=sys.stderr, flush=True))

Arrays = dict[str, np.ndarray]
Facts = dict[str, Any]

FD_EPS = 1e-6
FD_EPS_NOISE = 1e-5

# sizes above which dense or repeated data is left out
MAX_NV_DENSE = 120  # qM, actuator_moment, conv_residual
MAX_NV_FD = 60  # any finite difference
MAX_NV_FD_ALL = 30  # finite differences in every state (else s0 and s3)
MAX_NV_FD_ALL_SMALL = 3  # the same with --small
MAX_NV_CD = 30  # C and D
MAX_NV_CD_SMALL = 15  # the same with --small
MAX_NSENSORDATA_FD = 64  # C and D
MAX_EFC_J = 80000  # nefc * nv of a dense constraint Jacobian
MAX_NGEOM = 400  # geom_xpos

STATES = ("s0", "s1", "s2", "s3")
FD_STATES_LARGE = ("s0", "s3")

CONVERGED = {
    "solver": int(mujoco.mjtSolver.mjSOL_NEWTON),
    "iterations": 200,
    "tolerance": 1e-14,
    "ls_iterations": 200,
    "ls_tolerance": 1e-6,
    "noslip_iterations": 0,
}

# ------------------------------------------------------------------------------------------------
# the compiled model

MODEL_PREFIXES = tuple(
    """
    body_ jnt_ dof_ tree_ geom_ site_ tendon_ wrap_ actuator_ sensor_ eq_ pair_ exclude_ key_
    """.split()
)
MODEL_EXTRA = tuple(
    """
    qpos0 qpos_spring mesh_pos mesh_quat mesh_scale mesh_vertnum mesh_facenum hfield_size
    hfield_nrow hfield_ncol hfield_adr
    """.split()
)
# looks, bookkeeping of the user, bounding volumes, plugins, delay buffers, plasticity
MODEL_SKIPPED_SUFFIXES = tuple(
    """
    _rgba _matid _user _plugin _bvhadr _bvhnum _aabb _history _historyadr _width key_time
    key_plastic
    """.split()
)

OPTIONS = tuple(
    """
    ccd_iterations ccd_tolerance cone density disableactuator disableflags enableflags
    gravity impratio integrator iterations jacobian ls_iterations ls_tolerance magnetic
    noslip_iterations noslip_tolerance o_friction o_margin o_solimp o_solref sdf_initpoints
    sdf_iterations sleep_tolerance solver timestep tolerance viscosity wind
    """.split()
)
SIZES = tuple(
    """
    nq nv nu na nbody njnt ngeom nsite nmesh nhfield nflex neq ntendon nwrap npair nexclude
    nsensor nsensordata nkey nmocap ntree
    """.split()
)
STATISTICS = ("meaninertia", "meanmass", "extent", "meansize", "center")
NAMED = {
    "body": (mujoco.mjtObj.mjOBJ_BODY, "nbody"),
    "joint": (mujoco.mjtObj.mjOBJ_JOINT, "njnt"),
    "geom": (mujoco.mjtObj.mjOBJ_GEOM, "ngeom"),
    "site": (mujoco.mjtObj.mjOBJ_SITE, "nsite"),
    "tendon": (mujoco.mjtObj.mjOBJ_TENDON, "ntendon"),
    "actuator": (mujoco.mjtObj.mjOBJ_ACTUATOR, "nu"),
    "sensor": (mujoco.mjtObj.mjOBJ_SENSOR, "nsensor"),
    "equality": (mujoco.mjtObj.mjOBJ_EQUALITY, "neq"),
    "mesh": (mujoco.mjtObj.mjOBJ_MESH, "nmesh"),
    "key": (mujoco.mjtObj.mjOBJ_KEY, "nkey"),
}


def plain(value: Any) -> Any:
    """A numpy scalar or array as Python numbers and lists, for JSON."""
    return np.asarray(value).tolist()


def stored(array: Any) -> np.ndarray:
    """A contiguous copy in one of the three dtypes that golden files hold."""
    a = np.asarray(array)
    if a.dtype.kind == "f":
        dtype = "<f8"
    elif a.dtype.itemsize == 1:
        dtype = "|u1"
    else:
        dtype = "<i4"
    return np.array(a, dtype=dtype, order="C", copy=True)


def model_arrays(m: mujoco.MjModel) -> Arrays:
    """Every ``model/*`` entry, sorted by name, empty arrays left out."""
    arrays = {}
    for field in sorted(f for f in dir(m) if not f.startswith("_")):
        wanted = field in MODEL_EXTRA or (
            field.startswith(MODEL_PREFIXES) and not field.endswith(MODEL_SKIPPED_SUFFIXES)
        )
        value = getattr(m, field) if wanted else None
        if isinstance(value, np.ndarray) and value.size:
            arrays[f"model/{field}"] = stored(value)
    return arrays


def model_names(m: mujoco.MjModel) -> dict[str, list[str]]:
    """Names by kind, an empty string where an object has none."""
    return {
        kind: [mujoco.mj_id2name(m, obj, i) or "" for i in range(getattr(m, size))]
        for kind, (obj, size) in NAMED.items()
    }


def model_facts(m: mujoco.MjModel) -> Facts:
    """Options, names, sizes and statistics of a model, as they stand in its json."""
    return {
        "opt": {field: plain(getattr(m.opt, field)) for field in OPTIONS},
        "names": model_names(m),
        "size": {field: int(getattr(m, field)) for field in SIZES},
        "stat": {field: plain(getattr(m.stat, field)) for field in STATISTICS},
    }


# ------------------------------------------------------------------------------------------------
# states

STATE_FIELDS = tuple(
    """
    qpos qvel act ctrl qfrc_applied xfrc_applied mocap_pos mocap_quat eq_active
    """.split()
)


def read_state(d: mujoco.MjData) -> Arrays:
    """A copy of the state fields of ``d``."""
    return {field: stored(getattr(d, field)) for field in STATE_FIELDS}


def write_state(m: mujoco.MjModel, d: mujoco.MjData, state: Arrays) -> None:
    """Put ``d`` at a state with nothing left over: time = 0, qacc_warmstart = 0, no warnings."""
    mujoco.mj_resetData(m, d)
    for field in STATE_FIELDS:
        getattr(d, field)[:] = state[field]


def draw_ctrl(m: mujoco.MjModel, rng: np.random.Generator, scale: float) -> np.ndarray:
    """Controls around zero: ``scale`` of half the range where limited, of 1 elsewhere."""
    half = np.ones(m.nu)
    limited = m.actuator_ctrllimited.astype(bool)
    half[limited] = 0.5 * (m.actuator_ctrlrange[limited, 1] - m.actuator_ctrlrange[limited, 0])
    return scale * half * rng.uniform(-1.0, 1.0, m.nu)


def draw_act(m: mujoco.MjModel, d: mujoco.MjData, rng: np.random.Generator) -> np.ndarray:
    """Activations in the middle of ``actrange`` where limited, in [0, 1] elsewhere."""
    act = rng.uniform(0.0, 1.0, m.na) + d.act
    for i in range(m.nu):
        if m.actuator_actlimited[i]:
            low, high = m.actuator_actrange[i]
            adr, num = m.actuator_actadr[i], m.actuator_actnum[i]
            act[adr : adr + num] = low + (high - low) * rng.uniform(0.05, 0.95, num)
    return act


def start(m: mujoco.MjModel, d: mujoco.MjData) -> None:
    """Put ``d`` at keyframe 0, or at qpos0 in a model without keyframes."""
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    else:
        mujoco.mj_resetData(m, d)


def noisy_state(m: mujoco.MjModel, rng: np.random.Generator, level: int) -> Arrays:
    """State s<level>, level 0 to 2: the start with noise that grows with the level."""
    d = mujoco.MjData(m)
    start(m, d)
    mujoco.mj_integratePos(m, d.qpos, (0.01, 0.05, 0.1)[level] * rng.standard_normal(m.nv), 1.0)
    d.qvel += (0.05, 0.3, 1.0)[level] * rng.standard_normal(m.nv)
    d.ctrl += draw_ctrl(m, rng, (0.1, 0.5, 1.0)[level])
    d.act[:] = draw_act(m, d, rng)
    if m.nmocap:
        d.mocap_pos += (0.0, 0.01, 0.02)[level] * rng.standard_normal((m.nmocap, 3))
        d.mocap_quat += (0.0, 0.01, 0.02)[level] * rng.standard_normal((m.nmocap, 4))
        d.mocap_quat /= np.linalg.norm(d.mocap_quat, axis=1, keepdims=True)

    # generalized forces in proportion to the inertia they act on
    d.qfrc_applied[:] = (0.0, 1.0, 3.0)[level] * m.dof_M0 * rng.standard_normal(m.nv)
    if level == 2:
        torque = m.body_inertia.mean(axis=1)
        d.xfrc_applied[1:, :3] = m.body_mass[1:, None] * rng.standard_normal((m.nbody - 1, 3))
        d.xfrc_applied[1:, 3:] = torque[1:, None] * rng.standard_normal((m.nbody - 1, 3))
    return read_state(d)


def settled_state(m: mujoco.MjModel, rng: np.random.Generator) -> Arrays:
    """State s3: 200 steps of small constant ctrl after the start, with its contacts."""
    d = mujoco.MjData(m)
    start(m, d)
    d.ctrl += draw_ctrl(m, rng, 0.2)
    mujoco.mj_step(m, d, 200)
    return read_state(d)


def draw_states(m: mujoco.MjModel, name: str) -> dict[str, Arrays]:
    """The four states of a model, from a generator seeded with its name."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    states = {f"s{level}": noisy_state(m, rng, level) for level in range(3)}
    return {**states, "s3": settled_state(m, rng)}


# ------------------------------------------------------------------------------------------------
# evaluation at a state


@contextlib.contextmanager
def options(m: mujoco.MjModel, **changed: Any) -> Iterator[None]:
    """Change options of ``m`` within a with block."""
    before = {field: getattr(m.opt, field) for field in changed}
    for field, value in changed.items():
        setattr(m.opt, field, value)
    try:
        yield
    finally:
        for field, value in before.items():
            setattr(m.opt, field, value)


def variants(m: mujoco.MjModel) -> dict[str, Facts]:
    """Option changes of the three variants: as the model says, converged, smooth."""
    no_constraint = m.opt.disableflags | int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    return {"own": {}, "conv": CONVERGED, "smooth": {"disableflags": no_constraint}}


def dense(
    values: np.ndarray, rownnz: np.ndarray, rowadr: np.ndarray, colind: np.ndarray, ncol: int
) -> np.ndarray:
    """A matrix stored by compressed rows as a dense one with ``ncol`` columns."""
    out = np.zeros((len(rownnz), ncol))
    values, colind = values.ravel(), colind.ravel()
    for row, (nnz, adr) in enumerate(zip(rownnz, rowadr, strict=True)):
        out[row, colind[adr : adr + nnz]] = values[adr : adr + nnz]
    return out


FORWARD_FIELDS = tuple(
    """
    xpos xquat xipos subtree_com cinert cdof cvel cdof_dot qfrc_bias qfrc_passive
    qfrc_spring qfrc_damper qfrc_gravcomp qfrc_fluid qfrc_actuator actuator_force
    actuator_length actuator_velocity act_dot ten_length ten_velocity ten_wrapnum
    qacc_smooth qacc qfrc_constraint sensordata energy geom_xpos site_xpos qfrc_smooth
    subtree_linvel subtree_angmom
    """.split()
)
CONTACT_FIELDS = tuple(
    """
    dist pos frame geom dim friction solref solimp includemargin exclude efc_address
    solreffriction
    """.split()
)
EFC_FIELDS = tuple(
    """
    type id state pos margin frictionloss vel aref D R force diagA KBIP
    """.split()
)


def full_M(m: mujoco.MjModel, d: mujoco.MjData) -> np.ndarray:
    """The joint-space inertia as a dense nv × nv matrix."""
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, M)
    return M


def constraint_jacobian(m: mujoco.MjModel, d: mujoco.MjData) -> np.ndarray:
    """The constraint Jacobian as a dense nefc × nv matrix."""
    if mujoco.mj_isSparse(m):
        return dense(d.efc_J, d.efc_J_rownnz, d.efc_J_rowadr, d.efc_J_colind, m.nv)
    return np.array(d.efc_J).reshape(d.nefc, m.nv)


def forward_arrays(m: mujoco.MjModel, d: mujoco.MjData) -> Arrays:
    """``fwd/*`` from ``d`` after mj_forward. Calls mj_inverse last, which overwrites ``d``."""
    mujoco.mj_energyPos(m, d)
    mujoco.mj_energyVel(m, d)
    mujoco.mj_subtreeVel(m, d)

    out = {field: stored(getattr(d, field)) for field in FORWARD_FIELDS}
    if m.ngeom > MAX_NGEOM:
        del out["geom_xpos"]
    if m.nv <= MAX_NV_DENSE:
        out["qM"] = full_M(m, d)
    if m.ntendon:
        out["ten_J"] = dense(d.ten_J, m.ten_J_rownnz, m.ten_J_rowadr, m.ten_J_colind, m.nv)
    if m.nu and m.nv <= MAX_NV_DENSE:
        out["actuator_moment"] = dense(
            d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind, m.nv
        )
    if d.ncon:
        for field in CONTACT_FIELDS:
            out[f"contact_{field}"] = stored(getattr(d.contact, field)).reshape(d.ncon, -1)
            if out[f"contact_{field}"].shape[1] == 1:
                out[f"contact_{field}"] = out[f"contact_{field}"].ravel()
    if d.nefc:
        for field in EFC_FIELDS:
            out[f"efc_{field}"] = stored(getattr(d, f"efc_{field}"))
        if d.nefc * m.nv <= MAX_EFC_J:
            out["efc_J"] = constraint_jacobian(m, d)
    mujoco.mj_inverse(m, d)
    out["qfrc_inverse"] = stored(d.qfrc_inverse)
    return out


def warnings(d: mujoco.MjData) -> list[int]:
    """Number of warnings of each mjtWarning so far."""
    return [int(w.number) for w in d.warning]


def newton_iterations(d: mujoco.MjData) -> int:
    """Solver iterations, summed over constraint islands."""
    return int(np.sum(d.solver_niter[: max(1, d.nisland)]))


def residual(m: mujoco.MjModel, d: mujoco.MjData) -> float:
    """Relative residual of M qacc = qfrc_smooth + qfrc_constraint."""
    force = d.qfrc_smooth + d.qfrc_constraint
    inertial = full_M(m, d) @ d.qacc
    scale = max(1.0, np.abs(inertial).max(initial=0.0), np.abs(force).max(initial=0.0))
    return float(np.abs(inertial - force).max(initial=0.0) / scale)


def steps(
    m: mujoco.MjModel, d: mujoco.MjData, state: Arrays, counts: tuple[int, ...]
) -> Iterator[tuple[int, Arrays]]:
    """(n, {qpos, qvel, act}) after n steps from ``state``, for each n in ascending ``counts``."""
    write_state(m, d, state)
    done = 0
    for n in counts:
        mujoco.mj_step(m, d, n - done)
        done = n
        yield n, {field: stored(getattr(d, field)) for field in ("qpos", "qvel", "act")}


def evaluate(m: mujoco.MjModel, state: Arrays) -> tuple[Arrays, Facts]:
    """Everything but finite differences at a state: arrays by key (without ``s<k>/``), facts."""
    d = mujoco.MjData(m)
    own, conv, smooth = variants(m).values()
    arrays: Arrays = {f"in/{field}": stored(state[field]) for field in STATE_FIELDS}
    facts: Facts = {}

    # as the model says
    with options(m, **own):
        write_state(m, d, state)
        mujoco.mj_forward(m, d)
        for field in ("ncon", "nefc", "ne", "nf", "nl"):
            facts[field] = int(getattr(d, field))
        facts["solver_niter"] = newton_iterations(d)
        facts["warnings"] = warnings(d)
        arrays |= {f"fwd/{k}": v for k, v in forward_arrays(m, d).items()}

    # at the solver's optimum
    with options(m, **conv):
        write_state(m, d, state)
        mujoco.mj_forward(m, d)
        facts["conv_solver_niter"] = newton_iterations(d)
        if m.nv <= MAX_NV_DENSE:
            facts["conv_residual"] = residual(m, d)
        for field in ("qacc", "efc_force", "qfrc_constraint"):
            arrays[f"conv/{field}"] = stored(getattr(d, field))
        mujoco.mj_inverse(m, d)
        arrays["conv/qfrc_inverse"] = stored(d.qfrc_inverse)
        for n, result in steps(m, d, state, (1, 10, 100)):
            arrays |= {f"conv_step{n}/{k}": v for k, v in result.items()}

    with options(m, **own):
        for n, result in steps(m, d, state, (1, 10, 100)):
            arrays |= {f"step{n}/{k}": v for k, v in result.items()}
            facts[f"time{n}"] = float(d.time)
        facts["step100_warnings"] = warnings(d)

    # without constraints
    with options(m, **smooth):
        write_state(m, d, state)
        mujoco.mj_forward(m, d)
        for field in ("qacc", "sensordata"):
            arrays[f"smooth/{field}"] = stored(getattr(d, field))
        for n, result in steps(m, d, state, (1, 100)):
            arrays |= {f"smooth_step{n}/{k}": v for k, v in result.items()}
    return arrays, facts


# ------------------------------------------------------------------------------------------------
# finite differences


def mujoco_transition(
    m: mujoco.MjModel, d: mujoco.MjData, state: Arrays, eps: float, with_sensors: bool
) -> Arrays:
    """{A, B[, C, D]} by mjd_transitionFD, centred. x = (dq in the tangent space, qvel, act)."""
    nx, ns = 2 * m.nv + m.na, m.nsensordata
    A, B = np.zeros((nx, nx)), np.zeros((nx, m.nu))
    C, D = (np.zeros((ns, nx)), np.zeros((ns, m.nu))) if with_sensors else (None, None)
    write_state(m, d, state)
    mujoco.mjd_transitionFD(m, d, eps, True, A, B, C, D)
    return {"A": A, "B": B, "C": C, "D": D} if with_sensors else {"A": A, "B": B}


def difference_column(
    m: mujoco.MjModel,
    d: mujoco.MjData,
    state: Arrays,
    nudge: Callable[[float], None],
    sides: tuple[float, float],
) -> tuple[np.ndarray, np.ndarray]:
    """(d next state, d sensordata) between the two ``sides`` of one nudged coordinate."""
    ends = []
    for side in sides:
        write_state(m, d, state)
        nudge(side)
        mujoco.mj_step(m, d)
        ends.append((d.qpos.copy(), d.qvel.copy(), d.act.copy(), d.sensordata.copy()))
    (q0, v0, a0, y0), (q1, v1, a1, y1) = ends
    width = sides[1] - sides[0]
    dq = np.zeros(m.nv)
    mujoco.mj_differentiatePos(m, dq, width, q0, q1)
    return np.concatenate([dq, (v1 - v0) / width, (a1 - a0) / width]), (y1 - y0) / width


def control_sides(m: mujoco.MjModel, ctrl: float, i: int, eps: float) -> tuple[float, float]:
    """Nudges of control ``i`` that stay inside its range: centred, one-sided or none."""
    if not m.actuator_ctrllimited[i]:
        return -eps, eps
    low, high = m.actuator_ctrlrange[i]
    inside = low <= ctrl <= high
    back = -eps if inside and ctrl - eps >= low else 0.0
    ahead = eps if inside and ctrl + eps <= high else 0.0
    return back, ahead


def own_transition(
    m: mujoco.MjModel, d: mujoco.MjData, state: Arrays, eps: float, with_sensors: bool
) -> Arrays:
    """What ``mujoco_transition`` returns, by centred differences of mj_step: for RK4."""
    nv, nx, ns = m.nv, 2 * m.nv + m.na, m.nsensordata
    A, B = np.zeros((nx, nx)), np.zeros((nx, m.nu))
    C, D = np.zeros((ns, nx)), np.zeros((ns, m.nu))

    def nudge_state(j: int, amount: float) -> None:
        if j < nv:
            direction = np.zeros(nv)
            direction[j] = 1.0
            mujoco.mj_integratePos(m, d.qpos, direction, amount)
        elif j < 2 * nv:
            d.qvel[j - nv] += amount
        else:
            d.act[j - 2 * nv] += amount

    def nudge_ctrl(i: int, amount: float) -> None:
        d.ctrl[i] += amount

    for j in range(nx):
        A[:, j], C[:, j] = difference_column(
            m, d, state, lambda amount, j=j: nudge_state(j, amount), (-eps, eps)
        )
    for i in range(m.nu):
        sides = control_sides(m, float(state["ctrl"][i]), i, eps)
        if sides[1] > sides[0]:
            B[:, i], D[:, i] = difference_column(
                m, d, state, lambda amount, i=i: nudge_ctrl(i, amount), sides
            )
    return {"A": A, "B": B, "C": C, "D": D} if with_sensors else {"A": A, "B": B}


def no_transition(m: mujoco.MjModel) -> str | None:
    """Why there are no finite differences of this model, or None."""
    if m.opt.enableflags & int(mujoco.mjtEnableBit.mjENBL_SLEEP):
        return "sleeping"
    if np.any(m.actuator_delay > 0) or np.any(m.sensor_delay > 0):
        return "delay"
    return None


def transitions(m: mujoco.MjModel, state: Arrays, small: bool) -> tuple[Arrays, Facts]:
    """``fd_*/*`` at a state, and the noise of each matrix: its change from eps to 10 eps."""
    d = mujoco.MjData(m)
    rk4 = m.opt.integrator == int(mujoco.mjtIntegrator.mjINT_RK4)
    transition = own_transition if rk4 else mujoco_transition
    max_nv = MAX_NV_CD_SMALL if small else MAX_NV_CD
    sensors = 0 < m.nsensordata <= MAX_NSENSORDATA_FD and m.nv <= max_nv
    arrays: Arrays = {}
    facts: Facts = {}
    for variant, changed in variants(m).items():
        with options(m, **changed):
            with_sensors = sensors and variant != "own"
            fine = transition(m, d, state, FD_EPS, with_sensors)
            coarse = transition(m, d, state, FD_EPS_NOISE, with_sensors)
        for key in (k for k, v in fine.items() if v.size):
            scale = max(1.0, np.abs(fine[key]).max())
            arrays[f"fd_{variant}/{key}"] = fine[key]
            facts[f"fd_{variant}_{key}_noise"] = float(
                np.abs(fine[key] - coarse[key]).max() / scale
            )
    return arrays, facts


# ------------------------------------------------------------------------------------------------
# one model


def golden(
    m: mujoco.MjModel, states: dict[str, Arrays], small: bool
) -> tuple[Arrays, dict[str, Facts]]:
    """All arrays of a model at the given states, and the facts of each state."""
    arrays = model_arrays(m)
    max_nv_all = MAX_NV_FD_ALL_SMALL if small else MAX_NV_FD_ALL
    facts: dict[str, Facts] = {}
    for label, state in states.items():
        found, facts[label] = evaluate(m, state)
        in_reach = m.nv <= max_nv_all or (m.nv <= MAX_NV_FD and label in FD_STATES_LARGE)
        if in_reach and not no_transition(m):
            differences, noise = transitions(m, state, small)
            found |= differences
            facts[label] |= noise
        arrays |= {f"{label}/{key}": value for key, value in found.items()}
    return arrays, facts


def document(m: mujoco.MjModel, model: str, arrays: Arrays, states: dict[str, Facts]) -> Facts:
    """The json of a model."""
    facts = model_facts(m)
    doc = {
        "model": model,
        "name": golden_name(model),
        "mujoco": mujoco.__version__,
        "opt": facts["opt"],
        "names": facts["names"],
        "states": states,
        "fd_eps": FD_EPS,
        "size": facts["size"],
        "stat": facts["stat"],
        "opt_converged": CONVERGED,
        "nonfinite": [k for k, v in arrays.items() if not np.all(np.isfinite(v))],
    }
    reason = no_transition(m)
    return {**doc, "no_transition": reason} if reason else doc


def write_npz(path: Path, arrays: Arrays) -> None:
    """Like numpy.savez_compressed, with a fixed date and mode so that equal data is equal bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            member = zipfile.ZipInfo(f"{key}.npy", date_time=(2020, 1, 1, 0, 0, 0))
            member.create_system = 3
            member.external_attr = 0o600 << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
            archive.writestr(member, buffer.getvalue(), compresslevel=9)


def index_entry(doc: Facts, npz_bytes: int) -> Facts:
    """The line of a model in index.json."""
    sizes = ("nq", "nv", "nu", "na", "nbody", "ngeom", "nsensordata")
    states = {
        label: {"ncon": facts["ncon"], "nefc": facts["nefc"]}
        for label, facts in doc["states"].items()
    }
    return {
        "name": doc["name"],
        "model": doc["model"],
        "npz_bytes": npz_bytes,
        **{field: doc["size"][field] for field in sizes},
        "states": states,
        "nonfinite": len(doc["nonfinite"]),
    }


def golden_name(model: str) -> str:
    """The golden file's name of a model path: ``a/b.xml`` is ``a__b``."""
    return model.removesuffix(".xml").replace("/", "__")


def list_models(folder: Path) -> list[str]:
    """Model paths relative to ``folder``: the lines of models.txt, else every .xml in it."""
    listing = folder / "models.txt"
    if listing.exists():
        lines = (line.strip() for line in listing.read_text(encoding="utf-8").splitlines())
        return [line for line in lines if line and not line.startswith("#")]
    found = sorted(path.relative_to(folder) for path in folder.rglob("*.xml"))
    return [path.as_posix() for path in found if "assets" not in path.parts]


def generate(job: tuple[Path, Path, str, bool]) -> Facts:
    """Write the npz and json of one model; return its line of the index."""
    folder, out, model, small = job
    m = mujoco.MjModel.from_xml_path(str(folder / model))
    name = golden_name(model)
    arrays, facts = golden(m, draw_states(m, name), small)
    doc = document(m, model, arrays, facts)
    npz = out / f"{name}.npz"
    write_npz(npz, arrays)
    (out / f"{name}.json").write_text(json.dumps(doc, separators=(",", ":")), encoding="utf-8")
    entry = index_entry(doc, npz.stat().st_size)
    # looked at by a person, not part of the index
    rows = " ".join(f"{label}:{s['ncon']}/{s['nefc']}" for label, s in entry["states"].items())
    noise = max((v for s in facts.values() for k, v in s.items() if "noise" in k), default=0.0)
    bad = sorted({i for s in facts.values() for i, n in enumerate(s["step100_warnings"]) if n})
    print(
        f"{name:40s} {entry['npz_bytes'] / 1024:6.0f} KiB  nv {m.nv:2d}  ncon/nefc {rows}"
        f"  fd noise {noise:.0e}{f'  WARNINGS {bad}' if bad else ''}",
        flush=True,
    )
    return entry


def write_index(out: Path, models: list[str], entries: list[Facts]) -> None:
    """index.json: the new entries, and those of models that this run left alone."""
    path = out / "index.json"
    known: dict[str, Facts] = {}
    if path.exists():
        known = {entry["name"]: entry for entry in json.loads(path.read_text())["models"]}
    known |= {entry["name"]: entry for entry in entries}
    ordered = [known[name] for name in map(golden_name, models) if name in known]
    index = {"mujoco": mujoco.__version__, "models": ordered}
    path.write_text(json.dumps(index, indent=0), encoding="utf-8")


# ------------------------------------------------------------------------------------------------
# check

Worst = dict[str, tuple[float, str]]  # by group: the largest error and the key it is at
CheckResult = tuple[str, list[str], Worst]  # name, complaints, errors


def error(x: np.ndarray, ref: np.ndarray) -> float:
    """max|x - ref| / max(1, max|ref|); equal non-finite entries agree."""
    x, ref = np.asarray(x, dtype=float), np.asarray(ref, dtype=float)
    agree = (x == ref) | (np.isnan(x) & np.isnan(ref))
    if agree.all():
        return 0.0
    finite = np.abs(ref[np.isfinite(ref)])
    difference = np.abs(np.where(agree, 0.0, x - ref))
    return float(np.nan_to_num(difference, nan=np.inf).max() / max(1.0, finite.max(initial=0.0)))


def group(key: str) -> str:
    """The part of a key that says which computation it comes from, such as ``fwd``."""
    parts = key.split("/")
    return parts[0] if parts[0] == "model" else parts[1]


def compare_arrays(arrays: Arrays, ref: Arrays) -> tuple[list[str], Worst]:
    """Structural complaints, and for each group its worst error with the key it is at."""
    complaints = [f"missing {key}" for key in ref if key not in arrays]
    complaints += [f"extra {key}" for key in arrays if key not in ref]
    worst: Worst = {}
    for key in (key for key in ref if key in arrays):
        x, y = arrays[key], ref[key]
        if (x.dtype.str, x.shape) != (y.dtype.str, y.shape):
            complaints.append(f"{key}: {x.dtype.str}{x.shape}, stored {y.dtype.str}{y.shape}")
            continue
        worst[group(key)] = max(worst.get(group(key), (0.0, "")), (error(x, y), key))
    return complaints, worst


def compare_documents(doc: Any, ref: Any, where: str, tolerance: float) -> list[str]:
    """Complaints about json that differs: keys exactly, numbers to ``tolerance``."""
    if isinstance(ref, dict) and isinstance(doc, dict):
        unlike = sorted(set(doc) ^ set(ref))
        complaints = [f"json keys of {where}: {unlike}"] if unlike else []
        for key in (key for key in ref if key in doc):
            complaints += compare_documents(doc[key], ref[key], f"{where}.{key}", tolerance)
        return complaints
    if where.endswith(("_noise", "conv_residual")):
        return []  # rounding of rounding: only their presence is compared
    words = isinstance(ref, str) or (isinstance(ref, list) and any(isinstance(x, str) for x in ref))
    if words or np.shape(doc) != np.shape(ref):
        equal = doc == ref
    else:
        equal = error(doc, ref) <= tolerance
    return [] if equal else [f"json {where}: {doc}, stored {ref}"]


def check(job: tuple[Path, Path, str, bool, float]) -> CheckResult:
    """Evaluate a model at the states of its golden file and compare everything."""
    folder, stored_at, model, small, tolerance = job
    name = golden_name(model)
    with np.load(stored_at / f"{name}.npz") as file:
        ref = {key: file[key] for key in file.files}
    m = mujoco.MjModel.from_xml_path(str(folder / model))
    states = {s: {field: ref[f"{s}/in/{field}"] for field in STATE_FIELDS} for s in STATES}
    arrays, facts = golden(m, states, small)
    complaints, worst = compare_arrays(arrays, ref)
    ref_doc = json.loads((stored_at / f"{name}.json").read_text(encoding="utf-8"))
    doc = json.loads(json.dumps(document(m, model, arrays, facts)))
    complaints += compare_documents(doc, ref_doc, "", tolerance)
    complaints += [f"{key}: {e:.1e}" for e, key in worst.values() if e > tolerance]
    return name, complaints, worst


def report_check(results: Iterator[CheckResult]) -> int:
    """Print a line a model and the worst error of each group; return the number of bad models."""
    total: Worst = {}
    bad = 0
    for name, complaints, worst in results:
        overall = max((e for e, _ in worst.values()), default=0.0)
        print(f"{'FAIL' if complaints else 'ok':4s} {name:55s} worst {overall:.1e}", flush=True)
        for complaint in complaints[:20]:
            print(f"       {complaint}")
        bad += bool(complaints)
        for key, (e, where) in worst.items():
            total[key] = max(total.get(key, (0.0, "")), (e, f"{name} {where}"))
    for key, (e, where) in total.items():
        print(f"{key:16s} {e:.1e}  {where if e else ''}")
    return bad


# ------------------------------------------------------------------------------------------------
# command


def parse_arguments() -> argparse.Namespace:
    """Command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, required=True, help="folder of MJCF models")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--out", type=Path, help="folder to write golden files to")
    target.add_argument("--check", type=Path, metavar="GOLDEN", help="compare with golden files")
    parser.add_argument("--only", default="*", help="glob over golden names, such as 'actuator_*'")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument(
        "--small", action="store_true", help="leave out more finite differences of larger models"
    )
    parser.add_argument("--tolerance", type=float, default=1e-12, help="of --check")
    return parser.parse_args()


def main() -> int:
    """Entry point; returns the exit status."""
    args = parse_arguments()
    models = list_models(args.models)
    chosen = [model for model in models if fnmatch.fnmatch(golden_name(model), args.only)]
    if not chosen:
        print(f"no model in {args.models} matches {args.only!r}", file=sys.stderr)
        return 2
    with multiprocessing.Pool(args.jobs, maxtasksperchild=8) as pool:
        if args.check:
            jobs = [
                (args.models, args.check, model, args.small, args.tolerance) for model in chosen
            ]
            return 1 if report_check(pool.imap(check, jobs)) else 0
        args.out.mkdir(parents=True, exist_ok=True)
        jobs = [(args.models, args.out, model, args.small) for model in chosen]
        entries = pool.map(generate, jobs, 1)
    write_index(args.out, models, entries)
    size = sum(path.stat().st_size for path in args.out.iterdir())
    print(f"{len(entries)} models, {args.out} holds {size / 2**20:.2f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
