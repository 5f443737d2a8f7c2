"""A run's events as a server-sent stream that can be taken up again at any event."""

import asyncio
import json
import signal
import threading
import time
from collections.abc import AsyncIterator
from types import FrameType

from cohort.contracts.trainer import ENDED
from services.trainer.run_files import EventReader, Row
from services.trainer.runs import Registry

POLL_S = 0.2
HEARTBEAT_S = 10.0
"""After this long without an event a comment is sent: both ends notice a dead connection."""


class Closing:
    """Whether this process was told to end: streams that never end by themselves must know."""

    def __init__(self) -> None:
        self.told = False

    def listen(self) -> None:
        """Hear SIGTERM and SIGINT before the server's own handlers; call when it has set them."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            before = signal.getsignal(number)

            def hear(number: int, frame: FrameType | None, before: object = before) -> None:
                self.told = True
                if callable(before):
                    before(number, frame)

            if callable(before):  # otherwise nobody else ends this process: leave it to the system
                signal.signal(number, hear)


async def first_events(
    registry: Registry, run_id: str, after: int
) -> tuple[EventReader, list[Row], bool]:
    """A reader, the events it has at once, and whether the run is over with none left."""
    over = registry.get(run_id).state in ENDED  # asked before reading: nothing comes after
    reader = EventReader(registry.folder(run_id).events, after)
    first = await asyncio.to_thread(reader.read)
    return reader, first, over and not first


async def event_stream(
    registry: Registry, run_id: str, reader: EventReader, events: list[Row], closing: Closing
) -> AsyncIterator[bytes]:
    """Ends when the run has ended and everything was sent, or when this process ends."""
    yield b"retry: 1000\n\n"
    spoke_at = time.monotonic()
    while not closing.told:
        for event in events:
            yield encode(event)
            spoke_at = time.monotonic()
        over = registry.get(run_id).state in ENDED
        events = await asyncio.to_thread(reader.read)
        if events:
            continue
        if over:
            return
        if time.monotonic() - spoke_at > HEARTBEAT_S:
            yield b": still here\n\n"
            spoke_at = time.monotonic()
        await asyncio.sleep(POLL_S)


def encode(event: Row) -> bytes:
    """One event on the wire. JSON has no line ends, so one `data` line holds it."""
    return f"id: {event['id']}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
