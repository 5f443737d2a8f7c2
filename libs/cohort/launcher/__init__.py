"""The embedded stack: Valkey and all services as local processes of this machine.

    .cohort/ (the state)   models/ and other caches of the services
      stack.json           who runs where: process ids, ports, URLs (other commands read it)
      lock                 held while the stack runs; the kernel lets go of it, however we end
      logs/<who>.log       what each process says
      valkey/              the queue's append-only file: a stack that starts again finds its runs

`stack` starts and stops it, `specs` knows what its processes are, `supervisor` keeps any set of
processes alive, `readiness` asks one of them whether it can work.
"""

from cohort.launcher.specs import SERVICES, StackPlan
from cohort.launcher.stack import Stack, StackError, StackView, running_stack
from cohort.launcher.supervisor import StartError

__all__ = [
    "SERVICES",
    "Stack",
    "StackError",
    "StackPlan",
    "StackView",
    "StartError",
    "running_stack",
]
