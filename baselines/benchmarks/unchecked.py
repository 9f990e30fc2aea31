"""Gymnasium's environments without the checks of their use.

`PassiveEnvChecker` does nothing after the first step. `OrderEnforcing` adds two calls to each step. The limit of an
episode's steps stays.
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium


def maker(name: str) -> Callable[[], gymnasium.Env[Any, Any]]:
    """Makes environments of this name."""
    spec = copy.deepcopy(gymnasium.spec(name))
    spec.order_enforce = False
    return partial(gymnasium.make, spec, disable_env_checker=True)
