"""One batch in motion: rows come in by groups, get a token each per step, and leave when done.

    tickets -> waiting -> [room?] prefill each prompt once -> rows --step--> rows --step--> ...
       ^                                                       |
       '-- more() when nothing waits and there is room         '-> a finished group is told at once

A group larger than the batch is decoded in parts. R rows, V vocabulary.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from services.generator.engines.base import EngineError, GroupRequest, Sampled, Ticket
from services.generator.engines.decoders import Decoder
from services.generator.engines.sampling import draw, row_key, uniforms
from services.generator.engines.tokens import Tokens

_PREFILL_TOKENS = 8192
"""Of one forward pass, padding included."""


@dataclass(slots=True)
class _Group:
    """A ticket and what of it is finished."""

    ticket: Ticket
    finished: dict[int, Sampled] = field(default_factory=dict)

    @property
    def request(self) -> GroupRequest:
        return self.ticket.request


@dataclass(slots=True)
class _Row:
    """A completion in the making."""

    group: _Group
    completion: int
    key: int
    sampled: Sampled = field(default_factory=Sampled)
    done: bool = False


@dataclass(slots=True)
class _Part:
    """Completions `first` to `last` (exclusive) of a group, admitted together."""

    group: _Group
    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first

    def rows(self) -> list[_Row]:
        seed = self.group.request.seed
        return [_Row(self.group, i, row_key(seed, i)) for i in range(self.first, self.last)]


class Batch:
    """Decodes tickets with one decoder until none is left."""

    def __init__(
        self, decoder: Decoder, tokens: Tokens, *, capacity: int, max_cache_tokens: int
    ) -> None:
        self.decoder, self.tokens = decoder, tokens
        self.capacity, self.max_cache_tokens = capacity, max_cache_tokens
        self.waiting: deque[_Part] = deque()
        self.rows: list[_Row] = []

    def run(self, tickets: Sequence[Ticket], more: Callable[[], Sequence[Ticket]]) -> None:
        """Answer every ticket, and those that `more` brings while there is room."""
        self._queue(tickets)
        while True:
            if not self.waiting and self._has_room():
                self._queue(more())
            admitted = self._admit()
            if admitted:
                rows = [row for part in admitted for row in part.rows()]
                prompts = [part.group.request.prompt_ids for part in admitted]
                logits_RV = self.decoder.prefill(prompts, [part.size for part in admitted])
                self._extend(rows, logits_RV)
                self.rows += rows
            elif self.rows:
                last = [row.sampled.ids[-1] for row in self.rows]
                self._extend(self.rows, self.decoder.step(last))
            elif not self.waiting:
                return
            self._collect()

    def _queue(self, tickets: Sequence[Ticket]) -> None:
        for ticket in tickets:
            group, total = _Group(ticket), ticket.request.num_completions
            self.waiting.extend(
                _Part(group, first, min(first + self.capacity, total))
                for first in range(0, total, self.capacity)
            )

    def _has_room(self) -> bool:
        """A small refill waits until a quarter is free: prefill costs as much as a step."""
        joins = self.decoder.joins and len(self.rows) <= self.capacity * 3 // 4
        return joins or not self.rows

    def _admit(self) -> list[_Part]:
        """Parts, in order, that fit beside the rows; the first always fits into an empty batch."""
        admitted: list[_Part] = []
        num_rows = len(self.rows)
        longest = max((_reach(row.group.request) for row in self.rows), default=0)
        while self.waiting and self._has_room():
            part = self.waiting[0]
            longest = max(longest, _reach(part.group.request))
            more = num_rows + part.size
            fits = more <= self.capacity and more * longest <= self.max_cache_tokens
            if num_rows and not (fits and (len(admitted) + 1) * longest <= _PREFILL_TOKENS):
                break
            self.waiting.popleft()
            if part.group.ticket.alive():
                admitted.append(part)
                num_rows = more
            else:
                self._give_up(part)
        return admitted

    def _give_up(self, part: _Part) -> None:
        for row in part.rows():
            row.sampled.finish_reason = "abort"
            self._finished(row)

    def _extend(self, rows: Sequence[_Row], logits_RV: Tensor) -> None:
        """Draw the next token of each row and see whether it was the last."""
        noise = uniforms([row.key for row in rows], [len(row.sampled.ids) for row in rows])
        ids_R, logprobs_R = draw(
            logits_RV,
            torch.tensor([row.group.request.temperature for row in rows]),
            torch.tensor([row.group.request.top_p for row in rows]),
            torch.from_numpy(noise),
        )
        if not bool(torch.isfinite(logprobs_R).all()):
            raise EngineError("the policy's logits are not finite: its weights have diverged")
        for row, token, logprob in zip(rows, ids_R.tolist(), logprobs_R.tolist(), strict=True):
            row.sampled.ids.append(token)
            row.sampled.logprobs.append(logprob)
            row.group.ticket.token(row.completion, token)
            if token in self.tokens.eos_ids or self._stopped(row):
                row.sampled.finish_reason, row.done = "stop", True
            elif len(row.sampled.ids) >= row.group.request.max_new_tokens:
                row.sampled.finish_reason, row.done = "length", True

    def _stopped(self, row: _Row) -> bool:
        """Whether the newest token completes a stop string (a character is four bytes at most)."""
        stops = row.group.request.stop
        if not stops:
            return False
        window = 4 * max(map(len, stops)) + 4
        text = self.tokens.decode(row.sampled.ids[-window:])
        return any(stop in text for stop in stops)

    def _collect(self) -> None:
        """Take finished and abandoned rows out; the last rows move into their places."""
        rows = self.rows
        wanted = {id(row.group): row.group.ticket.alive() for row in rows}
        for row in rows:
            if not row.done and not wanted[id(row.group)]:
                row.sampled.finish_reason, row.done = "abort", True
        num_left = sum(not row.done for row in rows)
        if num_left == len(rows):
            return
        movers = (i for i in range(num_left, len(rows)) if not rows[i].done)
        keep = [next(movers) if rows[i].done else i for i in range(num_left)]
        self.decoder.keep(keep)
        self.rows = [rows[i] for i in keep]
        for row in rows:
            if row.done:
                self._finished(row)

    def _finished(self, row: _Row) -> None:
        group = row.group
        row.sampled.text, row.sampled.offsets = self.tokens.spell(row.sampled.ids)
        group.finished[row.completion] = row.sampled
        if len(group.finished) == group.request.num_completions:
            group.ticket.done([group.finished[i] for i in range(group.request.num_completions)])


def _reach(request: GroupRequest) -> int:
    """Tokens that a row may come to hold."""
    return len(request.prompt_ids) + request.max_new_tokens
