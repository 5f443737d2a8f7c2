"""A package with verifiers of its own: two that work, and every kind of one that does not."""

import os
import sys
import time

from services.reward.verifiers.base import Outcome, Params, Verifier


def palindrome(completion, ground_truth, *, fold: bool = True, bonus: float = 0.0):
    """1 for a text that reads the same backwards.

    The rest of the docstring is for readers of the package.
    """
    text = completion.casefold() if fold else completion
    return None if ground_truth is None else float(text == text[::-1]) + bonus


palindrome.deterministic = True


def moody(completion, ground_truth, **kwargs):
    """Does what the completion says."""
    sys.stdout.write('{"value": 1.0}\n')
    sys.stdout.flush()
    match completion:
        case "hang":
            time.sleep(600)
        case "raise":
            raise KeyError("no such thing")
        case "exit":
            sys.exit("bye")
        case "die":
            os._exit(1)
        case "recurse":
            return moody(completion, ground_truth)
        case "read":
            return float(len(sys.stdin.read()))
        case "secret":
            return float("COHORT_API_KEY" in os.environ)
        case "kwargs":
            return float(kwargs["a"][1])
    return float(completion)


class ShoutParams(Params):
    marks: int = 1
    """Exclamation marks that make a shout."""


class Shout(Verifier[ShoutParams]):
    """1 for a text that shouts."""

    name, version, description = "shout", "3", "Whether the text shouts."
    params = ShoutParams

    async def score(self, answers, params, outcomes):
        """Look at the end."""
        for place, answer in enumerate(answers):
            outcomes[place] = Outcome(float(answer.completion.endswith("!" * params.marks)))


class Demanding(Shout):
    name = "demanding"

    def __init__(self, key):
        self.key = key


class Nameless(Verifier[ShoutParams]):
    params = ShoutParams

    async def score(self, answers, params, outcomes):
        """Nothing."""


class NoParams(Shout):
    name = "no_params"
    params = dict


async def later(completion, ground_truth):
    return 1.0


def short(completion):
    return 1.0


def odd(completion, ground_truth, things: "Shout" = None):
    return 1.0


def starred(completion, ground_truth, *more):
    return 1.0


CONSTANT = 3
