"""Does a simulated cloud of a hundred thousand workers load and answer fast enough to test with?

Each worker is a server, its IP, SBS root and interface, and three IPAM addresses: seven lines of a world file. Loading
is measured beside `json.loads` of the same lines, and a page of a hundred servers beside `json.dumps` of the same page,
in the same process: a busy machine slows both alike, so the ratios are what to watch. Both twice: as loaded, and after
a change of one of the objects on the page.

Budget: 100,000 workers load within 10 s, a page of 100 takes at most 5 ms, both of processor time on an idle machine;
ratios of at most 7 and 3; and a page of the large world takes no longer than one of a world a tenth of its size.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from reconciler.kernel.clock import VirtualClock
from reconciler.simulator import PROJECT_ID, SECRET_KEY, ZONE, Request, Response, Simulator, World, populate, worldfile
from reconciler.simulator.defaults import ZONES

SIZES: Final = (10_000, 100_000)
MOST_SECONDS: Final = 10.0
MOST_MS: Final = 5.0
MOST_LOAD_RATIO: Final = 7.0
MOST_PAGE_RATIO: Final = 3.0
MOST_GROWTH: Final = 1.6
_ROUNDS: Final = 3
_PAGES: Final = 20
_SERVERS: Final = f"/instance/v1/zones/{ZONE}/servers"
_QUERY: Final = f"project={PROJECT_ID}&per_page=100&page="

Value = TypeVar("Value")


def run() -> bool:
    """Print a line a size; whether the ratios are kept (the seconds are shown, and judged on an idle machine only)."""
    print("simulator: a server, its IP, root, interface and three IPAM addresses for each worker; four zones")
    heads = ("workers", "load s", "json s", "ratio", "page ms", "json ms", "ratio", "changed ms", "MB")
    print("".join(f"{head:>11}" for head in heads))
    rows = [_measured_apart(size) for size in SIZES]
    for row in rows:
        print(
            f"{row['workers']:>11}{row['load']:>11.2f}{row['parse']:>11.2f}{row['load'] / row['parse']:>11.1f}"
            f"{row['page']:>11.2f}{row['dump']:>11.2f}{row['page'] / row['dump']:>11.1f}"
            f"{row['changed']:>11.2f}{row['megabytes']:>11.0f}"
        )
    small, large = rows
    load, page = large["load"] / large["parse"], max(large["page"], large["changed"]) / large["dump"]
    growth = large["page"] / small["page"]
    print(
        f"load ratio {load:.1f} (at most {MOST_LOAD_RATIO}), page ratio {page:.1f} (at most {MOST_PAGE_RATIO}), "
        f"growth of a page {growth:.2f} (at most {MOST_GROWTH}); {large['load']:.1f} s and {large['page']:.1f} ms of "
        f"processor time (at most {MOST_SECONDS} and {MOST_MS} where nothing else runs)"
    )
    return bool(load <= MOST_LOAD_RATIO and page <= MOST_PAGE_RATIO and growth <= MOST_GROWTH)


def _measured_apart(workers: int) -> dict[str, Any]:
    """The world is written by one process and measured in another, which has made nothing before."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "world.jsonl"
        for command in ("write", "measure"):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.simulator", command, str(workers), str(path)],
                capture_output=True,
                text=True,
                check=True,
            )
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def write(workers: int, path: Path) -> None:
    world = World()
    populate(world, servers=workers, zones=ZONES[:4], tags=("fleet", "linux"))
    path.write_text(worldfile.dump(world), encoding="utf-8")


def measure(workers: int, path: Path) -> dict[str, Any]:
    parse, _ = _timed(lambda: _parse(path))
    load, world = _timed(lambda: worldfile.load(path))
    simulator = Simulator(world, clock=VirtualClock())
    _page(simulator, 1)  # warm
    page, response = min((_timed(lambda: _pages(simulator)) for _ in range(_ROUNDS)), key=lambda pair: pair[0])
    body = response.json()
    dump, _ = min(
        (_timed(lambda: [json.dumps(body) for _ in range(_PAGES)]) for _ in range(_ROUNDS)), key=lambda p: p[0]
    )
    changed = min(_timed(lambda number=number: _changed(simulator, number))[0] for number in range(_PAGES))  # type: ignore[misc]
    return {
        "workers": workers,
        "load": load,
        "parse": parse,
        "page": page / _PAGES * 1000,
        "dump": dump / _PAGES * 1000,
        "changed": changed * 1000,
        "megabytes": _peak_megabytes(),
    }


def _parse(path: Path) -> None:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            json.loads(line)


def _pages(simulator: Simulator) -> Response:
    """Pages from the middle of the list: an answer that walks to its page would show."""
    last = 0
    with simulator.editing() as world:
        last = world.servers.count("in", ZONE) // 100
    for number in range(_PAGES):
        response = _page(simulator, last // 2 + number % 5)
    return response


def _page(simulator: Simulator, number: int) -> Response:
    headers = {"X-Auth-Token": SECRET_KEY}
    response = simulator.handle(Request(method="GET", path=_SERVERS, query=f"{_QUERY}{number}", headers=headers))
    assert response.status == 200
    return response


def _changed(simulator: Simulator, number: int) -> None:
    """Rename a server of the first page, then list that page."""
    with simulator.editing() as world:
        (newest,) = world.servers.page(("in", ZONE), newest_first=True, offset=number, limit=1)
    body = json.dumps({"name": f"renamed-{number}"}).encode()
    headers = {"X-Auth-Token": SECRET_KEY}
    path = f"{_SERVERS}/{newest.id}"
    assert simulator.handle(Request(method="PATCH", path=path, headers=headers, body=body)).status == 200
    _page(simulator, 1)


def _timed(work: Callable[[], Value]) -> tuple[float, Value]:
    started = time.process_time()
    value = work()
    return time.process_time() - started, value


def _peak_megabytes() -> float:
    import resource  # not on every system

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(int(sys.argv[2]), Path(sys.argv[3]))
    else:
        print(json.dumps(measure(int(sys.argv[2]), Path(sys.argv[3]))))
