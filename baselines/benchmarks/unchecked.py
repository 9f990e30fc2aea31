"""Gymnasium's environments without what checks their use, for those that want them as fast as they can be had.

The checker of an environment does nothing after the first step. What sees to it that a reset came first adds two
functions to each step. The limit of an episode's steps stays.
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
