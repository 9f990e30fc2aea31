"""Write parameters.txt: steps of Gymnasium's real environments after their attributes were set.

Run it beside this file in an environment with gymnasium==1.2.3 and numpy==2.2.4:  python make_parameters.py

`make NAME ATTRIBUTE=BITS ...` begins another environment, with the attributes set on it; the bits are those of f64. All
other lines are as make_classic_control.py writes them. An environment whose episode ended begins the next.
"""

import struct
from pathlib import Path

import gymnasium
from make_classic_control import play

# By name: the observed velocity that the swinging policy follows, and what is set.
WORLDS = [
    # As in Gymnasium, masses and lengths that are set change neither total_mass nor polemass_length.
    ("CartPole-v1", 3, {"masspole": 0.3, "length": 0.8, "gravity": 3.7}),
    (
        "CartPole-v1",
        3,
        {
            "masscart": 1.7,
            "masspole": 0.25,
            "length": 0.65,
            "force_mag": 7.5,
            "total_mass": 0.25 + 1.7,
            "polemass_length": 0.25 * 0.65,
        },
    ),
    ("Pendulum-v1", 2, {"g": 9.81, "m": 1.3, "l": 0.7}),
    (
        "Acrobot-v1",
        5,
        {
            "LINK_LENGTH_1": 1.1,
            "LINK_MASS_1": 0.9,
            "LINK_MASS_2": 1.3,
            "LINK_COM_POS_1": 0.45,
            "LINK_COM_POS_2": 0.55,
            "LINK_MOI": 0.8,
        },
    ),
    ("MountainCar-v0", 1, {"force": 0.0013, "gravity": 0.0021, "goal_velocity": 0.01}),
    # So strong that the first step meets the largest speed; and one that reaches its goal.
    ("MountainCarContinuous-v0", 1, {"power": 0.09}),
    ("MountainCarContinuous-v0", 1, {"power": 0.002, "goal_velocity": 0.02}),
]


def recording():
    for name, velocity, attributes in WORLDS:
        environment = gymnasium.make(name)
        for attribute, value in attributes.items():
            setattr(environment.unwrapped, attribute, value)
        bits = [f"{name}={struct.pack('>d', value).hex()}" for name, value in attributes.items()]
        yield " ".join(["make", name, *bits])
        yield from play(environment, velocity, seed=1, steps=80, swings=False)
        yield from play(environment, velocity, seed=42, steps=120, swings=True)


if __name__ == "__main__":
    Path(__file__).with_name("parameters.txt").write_text("\n".join(recording()) + "\n")
