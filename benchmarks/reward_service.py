"""The reward service over HTTP, beside a bare FastAPI echo of the same bodies, in one run.

    python -m benchmarks.reward_service [--json]

Both servers run on one core, the client on another. Requests are batches of distinct completions
of 200 to 400 characters, verifier `math`, one ground truth, cache off. Rates are taken in turns, so
that a busy moment hits both. The last line is one JSON object:

    completions_per_s          batches of 256, closed loop
    p99_ms                     of a 64-item request, sent on schedule at half of the rate asked for
                               (5,000 completions/s); waiting for a late server counts
    p99_half_rate_ms           the same at half of the rate measured
    vs_echo                    completions_per_s / those that the echo returns in the same time
    ns_per_item                the grading alone, in one native call
    python_four_pattern_per_s  a fixed grader of four regular expressions, in process
"""

import argparse
import asyncio
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle

from cohort.grading import grade_math_batch

ASKED_PER_S = 10_000
TRUTH = "18"
CONNECTIONS = 4
ECHO = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.post("/echo")
async def echo(body: dict) -> dict:
    return body
uvicorn.run(app, port=int(sys.argv[1]), log_config=None, access_log=False)
"""
PATTERNS = [
    re.compile(r"\\boxed\{([^{}]*)\}"),
    re.compile(r"####\s*([-+]?[\d.,/]+)"),
    re.compile(r"answer is:?\s*\$?([-+]?[\d.,/]+)", re.IGNORECASE),
    re.compile(r"([-+]?\d[\d.,/]*)"),
]


def completion(draw: random.Random) -> str:
    """A short solution; about half of them are right."""
    lines = []
    for _ in range(draw.randint(4, 8)):
        a, b = draw.randrange(1_000), draw.randrange(1_000)
        lines.append(f"First we add {a} and {b}, which gives {a + b}.")
    answer = draw.choice([TRUTH, str(draw.randrange(100))])
    ending = draw.choice([r"So it is \boxed{%s}.", "The answer is %s.", "#### %s"])
    return " ".join([*lines, ending % answer])


def make_requests(path: str, size: int, count: int, seed: int) -> list[bytes]:
    """Whole HTTP requests; no two completions are alike."""
    draw = random.Random(seed)
    requests = []
    for number in range(count):
        items = [
            {"id": f"{number}-{i}", "completion": completion(draw), "ground_truth": TRUTH}
            for i in range(size)
        ]
        body = {"items": items, "rewards": [{"verifier": "math"}], "cache": "off"}
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        requests.append(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
    return requests


class Connection:
    """One keep-alive connection that speaks just enough HTTP."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> "Connection":
        """Connect to a server here."""
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 24))

    async def send(self, request: bytes) -> bytes:
        """The body of the answer."""
        self.writer.write(request)
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        if not head.startswith(b"http/1.1 200"):
            raise SystemExit(f"the server answered {head[:60]!r}")
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        return await self.reader.readexactly(length)


async def rate(port: int, requests: list[bytes], seconds: float) -> float:
    """Requests per second that `CONNECTIONS` clients get through."""
    until, done, turn = time.perf_counter() + seconds, 0, cycle(requests)

    async def client() -> None:
        nonlocal done
        connection = await Connection.open(port)
        while time.perf_counter() < until:
            await connection.send(next(turn))
            done += 1

    started = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))
    return done / (time.perf_counter() - started)


async def latencies_ms(port: int, requests: list[bytes], per_s: float, count: int) -> list[float]:
    """Times from when a request was due until its answer was here."""
    free = asyncio.Queue[Connection]()
    for _ in range(16):
        free.put_nowait(await Connection.open(port))
    took, turn, started = [], cycle(requests), time.perf_counter()

    async def one(due: float) -> None:
        connection = await free.get()
        await connection.send(next(turn))
        free.put_nowait(connection)
        took.append((time.perf_counter() - due) * 1e3)

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            due = started + number / per_s
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            group.create_task(one(due))
    return took


@contextmanager
def server(arguments: list[str], port: int, core: int) -> Iterator[None]:
    """A server on one core, until it is not needed any more."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COHORT_")}
    environment |= {"COHORT_PORT": str(port), "COHORT_LOG_LEVEL": "warning"}
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if process.poll() is not None:
                raise SystemExit("the server did not start")
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def check(answer: bytes, request: bytes) -> None:
    """The service must have graded, not only answered."""
    items = json.loads(request.split(b"\r\n\r\n", 1)[1])["items"]
    verdicts = grade_math_batch([item["completion"] for item in items], [TRUTH] * len(items))
    found = [(r["id"], r["verdict"]) for r in json.loads(answer)["results"]]
    if found != [(item["id"], v) for item, v in zip(items, verdicts, strict=True)]:
        raise SystemExit("the service pairs items and verdicts wrongly: nothing was measured")


def best_s(work: Callable[[], object], repeats: int = 5) -> float:
    """Seconds, the fastest of some repeats."""
    took = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    return min(took)


def four_patterns(text: str, truth: str) -> bool:
    """What a plain grader does: the last match of the first pattern that has one."""
    for pattern in PATTERNS:
        if found := pattern.findall(text):
            return str(found[-1]).replace(",", "").rstrip(".") == truth
    return False


def grade_in_process() -> dict[str, float]:
    """The grading alone, native and in plain Python."""
    draw = random.Random(7)
    texts, truths = [completion(draw) for _ in range(4_096)], [TRUTH] * 4_096
    native_s = best_s(lambda: grade_math_batch(texts, truths))
    python_s = best_s(lambda: [four_patterns(text, TRUTH) for text in texts])
    return {
        "ns_per_item": native_s / len(texts) * 1e9,
        "python_four_pattern_per_s": len(texts) / python_s,
    }


async def measure(service: int, echo: int, rounds: int, seconds: float) -> dict[str, float]:
    """Both servers in turns."""
    batches = make_requests("/v1/score", 256, 48, seed=1)
    echoes = make_requests("/echo", 256, 48, seed=1)
    check(await (await Connection.open(service)).send(batches[0]), batches[0])
    await rate(service, batches, seconds / 2)
    await rate(echo, echoes, seconds / 2)
    scored, echoed = [], []
    for number in range(rounds):
        scored.append(await rate(service, batches, seconds) * 256)
        echoed.append(await rate(echo, echoes, seconds) * 256)
        print(f"round {number + 1}: {scored[-1]:9.0f} scored/s {echoed[-1]:9.0f} echoed/s")
    per_s = statistics.median(scored)
    small = make_requests("/v1/score", 64, 96, seed=2)
    p99 = {}
    for key, load in (("p99_ms", ASKED_PER_S / 2), ("p99_half_rate_ms", per_s / 2)):
        took = await latencies_ms(service, small, load / 64, count=int(load / 64 * 6))
        p99[key] = statistics.quantiles(took, n=100)[98]
        median = statistics.median(took)
        print(f"64 items at {load:.0f}/s: median {median:.2f} ms, {key} {p99[key]:.2f}")
    ratio = statistics.median(s / e for s, e in zip(scored, echoed, strict=True))
    return {"completions_per_s": per_s, **p99, "vs_echo": ratio}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="the last line is JSON in any case")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each rate")
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[0]})
    service, echo = free_port(), free_port()
    with (
        server(["-m", "services.reward"], service, cores[-1]),
        server(["-c", ECHO, str(echo)], echo, cores[-1]),
    ):
        result = asyncio.run(measure(service, echo, arguments.rounds, arguments.seconds))
    result |= grade_in_process()
    print(json.dumps({name: round(value, 3) for name, value in result.items()}))


if __name__ == "__main__":
    main()
