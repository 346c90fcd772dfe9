#!/usr/bin/env python3
"""The other side of ``dualstep bench``: timings of MuJoCo 4.0.1 or Pinocchio, a batch per request.

    bench.py [mujoco | pinocchio]

Reads one JSON object a line from stdin and answers each with one line on stdout, so that the caller
can alternate its own batches with these in one run. A batch is one call into the C or C++ library, or
n calls where the library has no batched form. The state is restored before every batch, outside the
timed region: batches repeat exactly the same work.

Requests and replies (every reply to a request with an ``"id"`` carries it back):

    {"cmd": "version"}
        {"ok": true, "engine": "mujoco", "version": "4.0.1", "python": "3.11.7", "numpy": "2.4.6"}

    {"cmd": "load", "model": PATH, "disable": 0, "keyframe": 0, "options": {"integrator": 0},
     "state": {"qpos": [...], "qvel": [...], "act": [...], "ctrl": [...], "qfrc_applied": [...],
               "xfrc_applied": [...], "mocap_pos": [...], "mocap_quat": [...], "eq_active": [...],
               "qacc_warmstart": [...], "time": 0.0}}
        ``disable`` is or-ed into opt.disableflags (mjDSBL_CONSTRAINT = 1), ``options`` sets fields
        of opt. ``state`` starts from ``keyframe``, or from qpos0 and zeros where that is missing.
        Everything but ``model`` is optional; arrays are flat.
        {"ok": true, "nq": .., "nv": .., "nu": .., "na": .., "nefc": .., "ncon": ..,
         "integrator": .., "timestep": ..}, nefc and ncon at that state

    {"cmd": "quit"}
        {"ok": true}, then the process ends (as it does at the end of stdin)

MuJoCo:

    {"cmd": "mj_step", "n": 1000}
        One ``mj_step(m, d, nstep=n)`` from the state.
        {"ok": true, "n": 1000, "seconds": .., "overhead": .., "warnings": 0}
        ``warnings`` counts the warnings of the batch (if not 0, MuJoCo may have reset the state).

    {"cmd": "mj_forward", "n": 1000}
        n ``mj_forward(m, d)`` at the state; reply as above.

    {"cmd": "mjd_transitionFD", "n": 10, "centered": true, "eps": 1e-6}
        n ``mjd_transitionFD`` at the state, A and B only; reply as above.

Pinocchio:

    {"cmd": "crba" | "rnea" | "aba" | "computeABADerivatives", "n": 1000}
        n calls at the state, at acceleration zero (rnea) or generalized force zero (aba and its
        derivatives); reply as above.

    {"cmd": "derivatives", "qpos": [...], "qvel": [...], "qfrc": [...]}
        What computeABADerivatives gives at a state and generalized force, in MuJoCo's coordinates.
        {"ok": true, "qacc": [...], "dq": [[...], ...], "dv": [[...], ...]}

``seconds`` is the wall time of the whole batch, as measured. ``overhead`` is what the Python side of
the batch costs, measured just before it: subtract it for the time spent in the library. For MuJoCo it
is as many calls of a function of the same signature that does next to nothing (mj_checkPos: one
comparison a coordinate), for ``mj_step`` a single one; for Pinocchio as many calls of the same function
on a model without bodies. (Results of Pinocchio's are views: nothing is copied that would have to be
subtracted.)

Pinocchio's model is made of MuJoCo's, joint by joint. Its own reader of MJCF joins the joints of a body
into one composite joint, and the derivatives of those are wrong: on the humanoid they differ from its
own differences by more than their size.

Anything that goes wrong is answered with ``{"error": TEXT}``, and the process goes on.
"""

from __future__ import annotations

import itertools
import json
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

MUJOCO_VERSION = "4.0.1"

Request = dict[str, Any]
Reply = dict[str, Any]


def answer(reply: Reply) -> None:
    """Write one line on stdout."""
    sys.stdout.write(json.dumps(reply, separators=(",", ":")) + "\n")
    sys.stdout.flush()


ENGINE = sys.argv[1] if len(sys.argv) > 1 else "mujoco"

try:
    import mujoco
    import numpy as np
except ImportError as missing:
    answer({"error": f"MuJoCo {MUJOCO_VERSION} and numpy are needed ({missing})"})
    sys.exit(1)

if ENGINE == "pinocchio":
    try:
        import pinocchio as pin
    except ImportError as missing:
        answer({"error": f"Pinocchio is needed ({missing})"})
        sys.exit(1)

if mujoco.__version__ != MUJOCO_VERSION:
    answer({"error": f"MuJoCo {MUJOCO_VERSION} is needed, found {mujoco.__version__}"})
    sys.exit(1)

# without a handler MuJoCo writes its warnings to stderr and to a log file; here they are counted
mujoco.set_mju_user_warning(lambda _text: None)

STATE_FIELDS = tuple(
    """
    qpos qvel act ctrl qfrc_applied xfrc_applied mocap_pos mocap_quat eq_active qacc_warmstart
    """.split()
)
# all that a step starts from, the warm start included
FULL_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)


def repeat(n: int, function: Callable[..., Any], *args: Any) -> float:
    """Seconds that n calls take."""
    calls = itertools.repeat(None, n)
    begin = time.perf_counter()
    for _ in calls:
        function(*args)
    return time.perf_counter() - begin


class Mujoco:
    """A model, its data, and the state every batch starts from."""

    commands = ("mj_step", "mj_forward", "mjd_transitionFD")

    def __init__(self, request: Request) -> None:
        """Load the model of a ``load`` request and put it at its state."""
        self.m = mujoco.MjModel.from_xml_path(request["model"])
        self.m.opt.disableflags |= int(request.get("disable", 0))
        for option, value in request.get("options", {}).items():
            if not hasattr(self.m.opt, option):
                raise ValueError(f"no option {option!r}")
            setattr(self.m.opt, option, value)
        self.d = mujoco.MjData(self.m)
        self._set_state(request.get("keyframe"), request.get("state", {}))
        self.state = np.zeros(mujoco.mj_stateSize(self.m, FULL_STATE))
        mujoco.mj_getState(self.m, self.d, self.state, FULL_STATE)

    def _set_state(self, keyframe: int | None, state: Request) -> None:
        m, d = self.m, self.d
        mujoco.mj_resetData(m, d)
        if keyframe is not None:
            if not 0 <= keyframe < m.nkey:
                raise ValueError(f"no keyframe {keyframe}: the model has {m.nkey}")
            mujoco.mj_resetDataKeyframe(m, d, keyframe)
        for field, value in state.items():
            if field == "time":
                d.time = float(value)
                continue
            if field not in STATE_FIELDS:
                raise ValueError(f"unknown state field {field!r}")
            target = getattr(d, field)
            values = np.asarray(value, dtype=float)
            if values.size != target.size:
                raise ValueError(f"{field} needs {target.size} numbers, found {values.size}")
            if not np.all(np.isfinite(values)):
                raise ValueError(f"{field} holds a number that is not finite")
            target[...] = values.reshape(target.shape)

    def reset(self) -> None:
        """Back to the state, with no warnings counted."""
        mujoco.mj_setState(self.m, self.d, self.state, FULL_STATE)
        for warning in self.d.warning:
            warning.number = 0

    def _warnings(self) -> int:
        return sum(int(warning.number) for warning in self.d.warning)

    def _result(self, n: int, seconds: float, overhead: float) -> Reply:
        return {
            "ok": True,
            "n": n,
            "seconds": seconds,
            "overhead": overhead,
            "warnings": self._warnings(),
        }

    def describe(self) -> Reply:
        """Sizes of the model, and of the constraints at the state."""
        self.reset()
        mujoco.mj_forward(self.m, self.d)
        sizes = {field: int(getattr(self.m, field)) for field in ("nq", "nv", "nu", "na")}
        active = {field: int(getattr(self.d, field)) for field in ("nefc", "ncon")}
        integrator, timestep = int(self.m.opt.integrator), float(self.m.opt.timestep)
        return {"ok": True, **sizes, **active, "integrator": integrator, "timestep": timestep}

    def answer(self, command: str, request: Request) -> Reply:
        """The reply to one of the commands."""
        if command == "mj_step":
            return self.step(count(request, 1000))
        if command == "mj_forward":
            return self.forward(count(request, 1000))
        eps, centered = float(request.get("eps", 1e-6)), bool(request.get("centered", True))
        return self.transition(count(request, 10), eps, centered)

    def step(self, n: int) -> Reply:
        """n steps in one call."""
        m, d = self.m, self.d
        self.reset()
        overhead = repeat(1, mujoco.mj_checkPos, m, d)
        begin = time.perf_counter()
        mujoco.mj_step(m, d, nstep=n)
        return self._result(n, time.perf_counter() - begin, overhead)

    def forward(self, n: int) -> Reply:
        """n evaluations of forward dynamics at the state."""
        self.reset()
        overhead = repeat(n, mujoco.mj_checkPos, self.m, self.d)
        return self._result(n, repeat(n, mujoco.mj_forward, self.m, self.d), overhead)

    def transition(self, n: int, eps: float, centered: bool) -> Reply:
        """n finite-difference linearizations at the state, A and B only."""
        m, d = self.m, self.d
        nx = 2 * m.nv + m.na
        A, B = np.zeros((nx, nx)), np.zeros((nx, m.nu))
        self.reset()
        overhead = repeat(n, mujoco.mj_checkPos, m, d)
        seconds = repeat(n, mujoco.mjd_transitionFD, m, d, eps, centered, A, B, None, None)
        return self._result(n, seconds, overhead)


def joint_model(kind: int, axis: np.ndarray) -> Any:
    """Pinocchio's joint of a MuJoCo type; its fast variant where the axis is x, y or z."""
    if kind == mujoco.mjtJoint.mjJNT_FREE:
        return pin.JointModelFreeFlyer()
    if kind == mujoco.mjtJoint.mjJNT_BALL:
        return pin.JointModelSpherical()
    letter, unaligned = (
        ("P", pin.JointModelPrismaticUnaligned)
        if kind == mujoco.mjtJoint.mjJNT_SLIDE
        else ("R", pin.JointModelRevoluteUnaligned)
    )
    k = int(np.argmax(axis))
    if np.array_equal(axis, np.eye(3)[k]):
        return getattr(pin, f"JointModel{letter}{'XYZ'[k]}")()
    return unaligned(axis)


def skew(u: np.ndarray) -> np.ndarray:
    """The matrix of u ×."""
    return np.array([[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]])


def rotation(quat: np.ndarray) -> np.ndarray:
    """Rotation matrix of a quaternion w, x, y, z of any length."""
    w, x, y, z = quat
    return pin.Quaternion(w, x, y, z).normalized().toRotationMatrix()


class Pinocchio:
    """The bodies of a MuJoCo model, and the state every batch starts from."""

    commands = ("crba", "rnea", "aba", "computeABADerivatives", "derivatives")

    def __init__(self, request: Request) -> None:
        """Build the model of a ``load`` request and put it at its state."""
        self.mujoco = Mujoco(request)
        self.model = self._build(self.mujoco.m)
        self.data = self.model.createData()
        self.empty = pin.Model()
        self.empty_data = self.empty.createData()
        d = self.mujoco.d
        self.q, self.v = self._coordinates(d.qpos, d.qvel)

    @staticmethod
    def _build(m: Any) -> Any:
        model = pin.Model()
        model.gravity = pin.Motion(m.opt.gravity, np.zeros(3))
        # for each body: the joint that moves it, and its place in that joint's frame
        places: list[tuple[int, Any]] = [(0, pin.SE3.Identity())]
        for b in range(1, m.nbody):
            joint, place = places[m.body_parentid[b]]
            place = place * pin.SE3(rotation(m.body_quat[b]), m.body_pos[b])
            for j in range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b]):
                anchor = pin.SE3(np.eye(3), m.jnt_pos[j])
                if m.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE:
                    # its coordinates are the pose in the world
                    place = anchor = pin.SE3.Identity()
                kind = joint_model(m.jnt_type[j], m.jnt_axis[j])
                joint = model.addJoint(joint, kind, place * anchor, f"joint{j}")
                place = anchor.inverse()
            axes = rotation(m.body_iquat[b])
            inertia = axes @ np.diag(m.body_inertia[b]) @ axes.T
            body = pin.Inertia(m.body_mass[b], m.body_ipos[b], inertia)
            model.appendBodyToJoint(joint, body, place)
            places.append((joint, place))
        model.armature = m.dof_armature.copy()
        return model

    def _joints(self) -> Any:
        m = self.mujoco.m
        kinds = (mujoco.mjtJoint(int(kind)) for kind in m.jnt_type)
        return zip(kinds, m.jnt_qposadr, m.jnt_dofadr, strict=True)

    def _coordinates(self, qpos: np.ndarray, qvel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pinocchio's q and v: scalars from the reference, quaternions x y z w, velocities of free
        bodies in the body frame.
        """
        q, v = np.array(qpos, dtype=float), np.array(qvel, dtype=float)
        for kind, adr, dof in self._joints():
            if kind == mujoco.mjtJoint.mjJNT_FREE:
                v[dof : dof + 3] = rotation(qpos[adr + 3 : adr + 7]).T @ qvel[dof : dof + 3]
                adr += 3
            if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
                quat = np.asarray(qpos[adr : adr + 4], dtype=float)
                q[adr : adr + 4] = np.roll(quat / np.linalg.norm(quat), -1)
            else:
                q[adr] -= self.mujoco.m.qpos0[adr]
        return q, v

    def describe(self) -> Reply:
        """Sizes of the model."""
        return self.mujoco.describe()

    def answer(self, command: str, request: Request) -> Reply:
        """The reply to one of the commands."""
        if command == "derivatives":
            fields = ("qpos", "qvel", "qfrc")
            return self.derivatives(*(np.array(request[field], dtype=float) for field in fields))
        n, function = count(request, 1000), getattr(pin, command)
        zero, nothing = np.zeros(self.model.nv), np.zeros(0)
        args = (self.q,) if command == "crba" else (self.q, self.v, zero)
        overhead = repeat(n, function, self.empty, self.empty_data, *(nothing for _ in args))
        seconds = repeat(n, function, self.model, self.data, *args)
        return {"ok": True, "n": n, "seconds": seconds, "overhead": overhead, "warnings": 0}

    def derivatives(self, qpos: np.ndarray, qvel: np.ndarray, qfrc: np.ndarray) -> Reply:
        """Acceleration and its derivatives by position and velocity, in MuJoCo's coordinates.

        Of a free body with orientation R and velocity ω, Pinocchio has v = Rᵀ ṗ, f = Rᵀ f_world,
        a = Rᵀ p̈ − ω × v, and tangents of p in its frame. A rotation δ of that frame changes v by
        v × δ and f by f × δ; p̈ = R (a + ω × v) by R (δ × (a + ω × v) + δa + δω × v + ω × δv).
        """
        q, v = self._coordinates(qpos, qvel)
        nv = self.model.nv
        to_local, v_by_q, f_by_q = np.eye(nv), np.zeros((nv, nv)), np.zeros((nv, nv))
        add_q, add_v = np.zeros((nv, nv)), np.zeros((nv, nv))
        tau, bodies = qfrc.copy(), []
        for kind, adr, dof in self._joints():
            if kind == mujoco.mjtJoint.mjJNT_FREE:
                R = rotation(qpos[adr + 3 : adr + 7])
                lin, rot = slice(dof, dof + 3), slice(dof + 3, dof + 6)
                tau[lin] = R.T @ qfrc[lin]
                to_local[lin, lin] = R.T
                v_by_q[lin, rot], f_by_q[lin, rot] = skew(v[lin]), skew(tau[lin])
                bodies.append((R, lin, rot))
        dq, dv, Minv = pin.computeABADerivatives(self.model, self.data, q, v, tau)
        qacc = self.data.ddq.copy()
        for R, lin, rot in bodies:
            V, W = skew(v[lin]), skew(v[rot])
            qacc[lin] = self.data.ddq[lin] + np.cross(v[rot], v[lin])
            add_q[lin, rot] = R @ (W @ V - skew(qacc[lin]))
            add_v[lin, lin], add_v[lin, rot] = R @ W @ R.T, -R @ V
            qacc[lin] = R @ qacc[lin]
        to_world = to_local.T
        by_q = to_world @ (dq @ to_local + dv @ v_by_q + Minv @ f_by_q) + add_q
        by_v = to_world @ dv @ to_local + add_v
        return {"ok": True, "qacc": qacc.tolist(), "dq": by_q.tolist(), "dv": by_v.tolist()}


Engine = Mujoco | Pinocchio


def count(request: Request, default: int) -> int:
    """The ``n`` of a request, at least 1."""
    n = int(request.get("n", default))
    if n < 1:
        raise ValueError(f"n must be at least 1, found {n}")
    return n


def handle(request: Request, engine: Engine | None) -> tuple[Reply, Engine | None]:
    """The reply to a request, and the model that is loaded after it."""
    kind = Pinocchio if ENGINE == "pinocchio" else Mujoco
    command = request.get("cmd")
    if command == "version":
        versions = {
            "engine": ENGINE,
            "version": pin.__version__ if ENGINE == "pinocchio" else mujoco.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        }
        return {"ok": True, **versions}, engine
    if command == "load":
        engine = kind(request)
        return engine.describe(), engine
    if command == "quit":
        return {"ok": True}, engine
    if command not in kind.commands:
        raise ValueError(f"unknown command {command!r}")
    if engine is None:
        raise ValueError("no model is loaded")
    return engine.answer(command, request), engine


def main() -> int:
    """Answer requests until ``quit`` or the end of stdin."""
    engine: Engine | None = None
    for line in sys.stdin:
        if not line.strip():
            continue
        request: Any = None
        try:
            request = json.loads(line)
            if not isinstance(request, dict):
                raise ValueError("a request is a JSON object")
            reply, engine = handle(request, engine)
        except KeyError as missing_key:
            reply = {"error": f"the request has no {missing_key}"}
        except Exception as problem:  # one bad request must not end the run
            reply = {"error": f"{type(problem).__name__}: {problem}"}
        if isinstance(request, dict) and "id" in request:
            reply["id"] = request["id"]
        answer(reply)
        if isinstance(request, dict) and request.get("cmd") == "quit":
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
