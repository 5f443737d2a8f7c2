"""Starts the learner of one run: `python -m services.trainer.learner --run-id ID` (or by torchrun).

Exit code 0 and an outcome.json mean that the run ended or was asked to stop. Anything else means
that the learner died: the trainer starts the next one, which resumes from the last commit.
"""

import argparse
import logging
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from cohort import logs
from cohort.algorithms import get_algorithm
from cohort.config import RunConfig, ServiceSettings
from cohort.models import ModelError, resolve_model
from cohort.processes import die_with_parent
from cohort.rollouts.queue import RolloutQueue
from cohort.run_folder import RunFolder, write_json
from cohort.tasks import TaskError, make_task
from services.trainer.learner.commits import Commits, State
from services.trainer.learner.evaluation import Evaluation
from services.trainer.learner.inbox import Inbox
from services.trainer.learner.link import Link, RunFailed, Stopped
from services.trainer.learner.loop import Loop
from services.trainer.learner.plan import Plan
from services.trainer.learner.policy import Policy, TrainingDiverged
from services.trainer.learner.publisher import Publisher
from services.trainer.learner.team import Team, join
from services.trainer.learner.waves import Waves

log = logging.getLogger("cohort.learner")


def main() -> int:
    """Run one rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-id", required=True)
    run_id = parser.parse_args().run_id
    settings = ServiceSettings()
    if parent := os.environ.get("COHORT_PARENT_PID"):
        die_with_parent(int(parent) if "RANK" not in os.environ else None)
    logs.configure("learner", settings.log_level)
    folder = RunFolder(settings.runs_dir, run_id)
    config = RunConfig.from_yaml(folder.config.read_text())
    if "RANK" in os.environ:
        # Whoever comes first makes a model that is not there yet. Once the ranks have met,
        # transformers writes on rank 0 alone, and another one would leave a folder without weights.
        with suppress(ModelError):  # raised again, and said, by `lead`
            resolve(config, settings)
    rank, world_size = join()
    if rank:
        with suppress(ModelError):  # rank 0 raises the same and says so
            policy = Policy(config, resolve(config, settings), rank, world_size, config.steps)
            Team(policy, rank, world_size).follow()
        return 0
    outcome = lead(config, folder, settings, world_size)
    write_json(folder.outcome, outcome)
    log.info("run %s %s", run_id, outcome["state"], extra={"fields": outcome})
    return 0


def resolve(config: RunConfig, settings: ServiceSettings) -> Path:
    """The folder of the model that the run starts from."""
    return resolve_model(config.model.path, settings.state_dir)


def lead(
    config: RunConfig, folder: RunFolder, settings: ServiceSettings, world_size: int
) -> dict[str, str | None]:
    """Rank 0: the run's outcome. Anything that is not an outcome is a crash and is raised."""
    link = Link(
        RolloutQueue.from_url(settings.redis_url),
        folder.run_id,
        config.rollout.unreachable_limit_s,
        lambda what: folder.event("waiting", **{"for": what}),
    )
    try:
        folder.create()
        commits = Commits(folder, config.checkpoint.keep)
        newest = commits.newest()
        link.open(above=newest[1].fence if newest else 0)
        train(build(config, folder, settings, link, world_size, commits))
    except Stopped as stop:
        return {"state": stop.state, "reason": None}
    except (RunFailed, TrainingDiverged, ModelError, TaskError) as error:
        return {"state": "failed", "reason": str(error)}
    finally:
        link.release()
    return {"state": "succeeded", "reason": None}


def train(loop: Loop) -> None:
    """All of the run, or as much as there is until someone stops it.

    The other ranks are let go at ends where they are known to listen. After a crash here they may
    wait inside a collective, where a message would hang both sides: then torchrun ends them.
    """
    try:
        try:
            loop.run()
            finish(loop)
        except Stopped as stop:
            if stop.state == "paused":
                loop.try_commit()
            raise
    except (Stopped, RunFailed, TrainingDiverged):
        loop.team.stop()
        raise
    loop.team.stop()


def build(
    config: RunConfig,
    folder: RunFolder,
    settings: ServiceSettings,
    link: Link,
    world_size: int,
    commits: Commits,
) -> Loop:
    """The loop, resumed from the newest commit if there is one."""
    model_dir = resolve(config, settings)
    policy = Policy(config, model_dir, 0, world_size, config.steps)
    team = Team(policy, 0, world_size)
    task = make_task(config.task.name, config.task.args, config.seed)
    plan = Plan(folder.run_id, config, task)
    publisher = Publisher(folder, link, model_dir, team.full_state, config.rollout.max_lag)
    state = restore(commits, team, publisher)
    for message in task.notes if state.step == 0 else (f"Resumed from step {state.step}.",):
        folder.event("log", message=message)
    link.resume(state.step, last_step=state.step + 1 + config.rollout.max_lag)
    inbox = Inbox(link, state.step)
    algorithm = get_algorithm(config.algorithm)
    waves = Waves(plan, link, inbox, algorithm.has_signal, publisher.fingerprint_of)
    return Loop(
        config,
        folder,
        state,
        plan=plan,
        link=link,
        waves=waves,
        evaluation=Evaluation(plan, link, inbox),
        publisher=publisher,
        commits=commits,
        team=team,
    )


def restore(commits: Commits, team: Team, publisher: Publisher) -> State:
    """What the newest commit holds goes where it belongs; a fresh state when there is none."""
    newest, state = commits.newest(), State()
    if newest is not None:
        policy_part, state = newest
        team.load(policy_part)
        for version, fingerprint in state.fingerprints.items():
            publisher.adopt(int(version), fingerprint)
    commits.rewind(state)
    return state


def finish(loop: Loop) -> None:
    """Leave the result: model/ and summary.json."""
    folder, state, config = loop.folder, loop.state, loop.config
    loop.link.check_fence()
    source = folder.weights / str(state.step)
    aside = folder.root / ".model.tmp"
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(source, aside, ignore=shutil.ignore_patterns("STABLE"))
    shutil.rmtree(folder.model, ignore_errors=True)
    aside.rename(folder.model)
    ends = [state.evals.get(str(version), {}) for version in (0, config.steps)]
    seconds = loop.elapsed_s()
    write_json(
        folder.summary,
        {
            "eval": {
                "before": ends[0].get("accuracy"),
                "after": ends[1].get("accuracy"),
                "num_questions": ends[1].get("num_questions"),
            },
            "evals": state.evals,
            "steps": state.step,
            "seconds": round(seconds, 1),
            "completions_per_s": round(state.num_completions / max(state.step_s, 1e-9), 2),
            "model": str(folder.model),
        },
    )


if __name__ == "__main__":
    sys.exit(main())
