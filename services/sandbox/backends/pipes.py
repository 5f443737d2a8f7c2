"""A child process and its pipes under asyncio, without transports: the end of the block closes all.

asyncio's own subprocess closes its pipes some loop turns after the process is gone; a run must be
gone, descriptors included, when it returns, also when it was cancelled.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

READ_SIZE = 65_536


async def ready(fd: int, write: bool = False) -> None:
    """Wait until a descriptor can be read or written."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def wake() -> None:
        if not future.done():
            future.set_result(None)

    add, remove = (
        (loop.add_writer, loop.remove_writer) if write else (loop.add_reader, loop.remove_reader)
    )
    add(fd, wake)
    try:
        await future
    finally:
        remove(fd)


class Child:
    """A process in a session of its own, with three pipes. The end of the `with` ends all four."""

    def __init__(self, command: Sequence[str], uid: int | None = None, **options: Any) -> None:
        """`uid`: user and group to drop to first; None keeps the caller's."""
        pipe = subprocess.PIPE
        self.drop: dict[str, Any] = {}
        if uid is not None:
            self.drop = {"user": uid, "group": uid, "extra_groups": []}
        self.process = subprocess.Popen(
            command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            bufsize=0,
            start_new_session=True,
            **self.drop,
            **options,
        )
        self.pipes = (self.process.stdin, self.process.stdout, self.process.stderr)
        for file in self.pipes:
            assert file is not None
            os.set_blocking(file.fileno(), False)

    def __enter__(self) -> "Child":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        for file in self.pipes:
            assert file is not None
            file.close()
        self.process.wait()  # killed above: the kernel needs no time that matters

    @property
    def pid(self) -> int:
        """Of the process that was started."""
        return self.process.pid

    def fd(self, number: int) -> int:
        """Our end of its descriptor 0, 1 or 2."""
        file = self.pipes[number]
        assert file is not None
        return file.fileno()

    def kill(self) -> None:
        """SIGKILL to its process group, unless it has ended."""
        if self.process.poll() is not None:
            return
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:  # root without CAP_KILL: only the same user may
            subprocess.run(["/bin/sh", "-c", f"kill -9 -{self.pid}"], check=False, **self.drop)

    async def exited(self) -> None:
        """Wait for its end."""
        try:
            pidfd = os.pidfd_open(self.pid)
        except OSError:  # gVisor's older versions have none
            while self.process.poll() is None:
                await asyncio.sleep(0.005)
            return
        try:
            await ready(pidfd)
        finally:
            os.close(pidfd)
        self.process.wait()

    async def feed(self, data: bytes) -> None:
        """Write all of its standard input as fast as it reads, then close it."""
        stdin, view = self.fd(0), memoryview(data)
        with contextlib.suppress(OSError):  # it may end without reading
            while view:
                await ready(stdin, write=True)
                view = view[os.write(stdin, view[:READ_SIZE]) :]
        file = self.pipes[0]
        assert file is not None
        file.close()

    async def drain(self, number: int, take: Callable[[bytes], None]) -> None:
        """Hand on its output as it comes, until every holder has closed it."""
        while True:
            await ready(self.fd(number))
            try:
                data = os.read(self.fd(number), READ_SIZE)
            except BlockingIOError:
                continue
            if not data:
                return
            take(data)
