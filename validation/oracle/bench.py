#!/usr/bin/env python3
"""The MuJoCo side of ``dualstep bench``: timings of MuJoCo 4.0.1, one batch per request.

Reads one JSON object a line from stdin and answers each with one line on stdout, so that the caller
can alternate its own batches with MuJoCo's in one run. A batch is one call into the C library, or n
calls where the library has no batched form. The state is restored before every batch, outside the
timed region: batches repeat exactly the same work.

Requests and replies (every reply to a request with an ``"id"`` carries it back):

    {"cmd": "version"}
        {"ok": true, "mujoco": "4.0.1", "python": "3.11.7", "numpy": "2.4.6"}

    {"cmd": "load", "model": PATH, "disable": 0, "keyframe": 0, "options": {"integrator": 0},
     "state": {"qpos": [...], "qvel": [...], "act": [...], "ctrl": [...], "qfrc_applied": [...],
               "xfrc_applied": [...], "mocap_pos": [...], "mocap_quat": [...], "eq_active": [...],
               "qacc_warmstart": [...], "time": 0.0}}
        ``disable`` is or-ed into opt.disableflags (mjDSBL_CONSTRAINT = 1), ``options`` sets fields
        of opt. ``state`` starts from ``keyframe``, or from qpos0 and zeros where that is missing.
        Everything but ``model`` is optional; arrays are flat.
        {"ok": true, "nq": .., "nv": .., "nu": .., "na": .., "nefc": .., "ncon": ..,
         "integrator": .., "timestep": ..}, nefc and ncon at that state

    {"cmd": "step", "n": 1000}
        One ``mj_step(m, d, nstep=n)`` from the state.
        {"ok": true, "n": 1000, "seconds": .., "overhead": .., "warnings": 0}
        ``warnings`` counts the warnings of the batch (if not 0, MuJoCo may have reset the state).

    {"cmd": "forward", "n": 1000}
        n ``mj_forward(m, d)`` at the state.
        {"ok": true, "n": 1000, "seconds": .., "overhead": .., "warnings": 0}

    {"cmd": "transition", "n": 10, "centered": true, "eps": 1e-6}
        n ``mjd_transitionFD`` at the state, A and B only.
        {"ok": true, "n": 10, "seconds": .., "overhead": .., "warnings": 0}

    {"cmd": "quit"}
        {"ok": true}, then the process ends (as it does at the end of stdin)

``seconds`` is the wall time of the whole batch, as measured. ``overhead`` is what the Python side
of the batch costs, measured just before it with as many calls of a function of the same signature
that does next to nothing (mj_checkPos: one comparison a coordinate); subtract it for the time spent
in C. For ``step`` it is the cost of the single call.

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


try:
    import mujoco
    import numpy as np
except ImportError as missing:
    answer({"error": f"MuJoCo {MUJOCO_VERSION} and numpy are needed ({missing})"})
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


class Bench:
    """A model, its data, and the state every batch starts from."""

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


def count(request: Request, default: int) -> int:
    """The ``n`` of a request, at least 1."""
    n = int(request.get("n", default))
    if n < 1:
        raise ValueError(f"n must be at least 1, found {n}")
    return n


def handle(request: Request, bench: Bench | None) -> tuple[Reply, Bench | None]:
    """The reply to a request, and the model that is loaded after it."""
    command = request.get("cmd")
    if command == "version":
        versions = {
            "mujoco": mujoco.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        }
        return {"ok": True, **versions}, bench
    if command == "load":
        bench = Bench(request)
        return bench.describe(), bench
    if command == "quit":
        return {"ok": True}, bench
    if command not in ("step", "forward", "transition"):
        raise ValueError(f"unknown command {command!r}")
    if bench is None:
        raise ValueError("no model is loaded")
    if command == "step":
        return bench.step(count(request, 1000)), bench
    if command == "forward":
        return bench.forward(count(request, 1000)), bench
    eps, centered = float(request.get("eps", 1e-6)), bool(request.get("centered", True))
    return bench.transition(count(request, 10), eps, centered), bench


def main() -> int:
    """Answer requests until ``quit`` or the end of stdin."""
    bench: Bench | None = None
    for line in sys.stdin:
        if not line.strip():
            continue
        request: Any = None
        try:
            request = json.loads(line)
            if not isinstance(request, dict):
                raise ValueError("a request is a JSON object")
            reply, bench = handle(request, bench)
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
