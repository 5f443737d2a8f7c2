"""One client for each event loop: connections are reused, never by a loop that is not theirs."""

import asyncio
from weakref import WeakKeyDictionary

from cohort.clients import AsyncRewardClient


class Sessions:
    """Clients of one reward service. A client goes with its loop."""

    def __init__(self, url: str, api_key: str | None, retry_for_s: float) -> None:
        self.url, self.api_key, self.retry_for_s = url, api_key, retry_for_s
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncRewardClient] = (
            WeakKeyDictionary()
        )

    def client(self) -> AsyncRewardClient:
        """The client of the loop that runs now."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = AsyncRewardClient(
                self.url, api_key=self.api_key, retry_for_s=self.retry_for_s
            )
        return self._clients[loop]
