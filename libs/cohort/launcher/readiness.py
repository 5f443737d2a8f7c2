"""Asks one process of the stack whether it can work: None, or a phrase that says what it lacks."""

import os
import socket

import httpx


def http_missing(url: str, path: str) -> str | None:
    """Of a service: `/ready` says what is missing, `/health` only that the process answers."""
    key = os.environ.get("COHORT_API_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        response = httpx.get(url + path, headers=headers, timeout=2.0)
    except httpx.TransportError:
        return f"nothing answers at {url} yet"
    if response.is_success:
        return None
    try:
        return "; ".join(str(what) for what in response.json()["missing"])
    except (ValueError, KeyError, TypeError):
        return f"{url}{path} answered {response.status_code}"


def valkey_missing(port: int) -> str | None:
    """Of Valkey: it refuses commands until it has read its append-only file."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2.0) as connection:
            connection.sendall(b"PING\r\n")
            answer = connection.recv(256)
    except OSError:
        return f"nothing answers on port {port} yet"
    return None if answer.startswith(b"+PONG") else answer.decode(errors="replace").strip()


def redis_missing(url: str) -> str | None:
    """Of a Redis that runs elsewhere."""
    from cohort.rollouts.queue import QueueUnreachable, RolloutQueue

    try:
        queue = RolloutQueue.from_url(url)
    except ValueError as error:
        return f"{url} is not a Redis URL: {error}"
    try:
        queue.workers()
    except QueueUnreachable as error:
        return str(error)
    finally:
        queue.close()
    return None


def worker_missing(redis_url: str, worker_id: str) -> str | None:
    """Of a rollout worker: its heartbeat in Redis."""
    from cohort.rollouts.queue import QueueUnreachable, RolloutQueue

    queue = RolloutQueue.from_url(redis_url)
    try:
        workers = queue.workers()
    except QueueUnreachable as error:
        return str(error)
    finally:
        queue.close()
    return None if any(w.worker_id == worker_id for w in workers) else "no heartbeat in Redis yet"
