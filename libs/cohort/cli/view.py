"""How a run looks while it runs: a progress bar in a terminal, one line per event elsewhere."""

from collections.abc import Callable
from typing import Any, Protocol, Self

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from cohort.cli.console import console, say
from cohort.contracts.trainer import RunEvent


class View(Protocol):
    """Shows events; a context, since a progress bar must be taken down."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def show(self, event: RunEvent) -> None:
        """Show one event."""

    def note(self, line: str) -> None:
        """Show a line beside the run's own events."""


def view_of(steps: int, *, bar: bool | None = None) -> View:
    """A bar in a terminal, lines elsewhere."""
    return BarView(steps) if (console().is_terminal if bar is None else bar) else LineView(steps)


def number(value: Any, form: str = ".3f") -> str:
    """A number that may be missing."""
    return f"{value:{form}}" if isinstance(value, int | float) else "-"


def share(value: Any) -> str:
    """A share as a percentage."""
    return f"{100 * value:.1f} %" if isinstance(value, int | float) else "-"


def step_words(row: dict[str, Any]) -> str:
    """What a step's metrics say, in a few words."""
    return (
        f"reward {number(row.get('reward'))}  accuracy {share(row.get('accuracy'))}"
        f"  zero-signal {share(row.get('zero_signal'))}"
        f"  {number(row.get('tokens_per_s'), '.0f')} tokens/s"
    )


def event_line(event: RunEvent, steps: int) -> str | None:
    """An event as a line; None when there is nothing to tell."""
    data = event.data
    if event.type == "step":
        seconds = (data.get("seconds") or {}).get("step")
        return f"step {data.get('step')}/{steps}  {step_words(data)}  {number(seconds, '.1f')} s"
    if event.type == "eval":
        return (
            f"held-out accuracy of version {data.get('version')}: {share(data.get('accuracy'))}"
            f" of {data.get('num_questions')} questions"
        )
    if event.type == "state":
        reason = f": {data['reason']}" if data.get("reason") else ""
        return f"state: {data.get('state')}{reason}"
    if event.type == "waiting":
        what = data.get("for")
        return f"waiting for {what}" if what else None
    return str(data.get("message", data))


class LineView:
    """For pipes, files and continuous integration."""

    def __init__(self, steps: int, tell: Callable[[str], None] = say) -> None:
        self.steps, self.tell = steps, tell

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def show(self, event: RunEvent) -> None:
        """Show one event."""
        line = event_line(event, self.steps)
        if line:
            self.note(line)

    def note(self, line: str) -> None:
        """Show a line beside the run's own events."""
        self.tell(line)


class BarView:
    """For terminals: a bar, the last step's metrics under it, everything else as lines above."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.progress = Progress(
            TextColumn("[bold]step"), MofNCompleteColumn(), BarColumn(), TimeElapsedColumn()
        )
        self.task = self.progress.add_task("step", total=steps)
        self.words = Text("waiting for the first step", no_wrap=True, overflow="ellipsis")
        self.live = Live(Group(self.progress, self.words), console=console(), refresh_per_second=4)

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def show(self, event: RunEvent) -> None:
        """Show one event."""
        if event.type == "step":
            self.progress.update(self.task, completed=int(event.data.get("step") or 0))
            self.words.plain = step_words(event.data)
            return
        line = event_line(event, self.steps)
        if line:
            self.note(line)

    def note(self, line: str) -> None:
        """Show a line beside the run's own events."""
        self.live.console.print(line, markup=False, soft_wrap=True)
