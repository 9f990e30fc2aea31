"""Which steps of a build cache are ours, over invented caches."""

from hypothesis import given
from hypothesis import strategies as st

from runner.host.clean.cache import Step, layers_gone, ours, steps_of

SCRIPTS = ("tools.sh", "describe.py")


def step(name: str, description: str, *parents: str, shared: bool = False) -> Step:
    return Step(
        identifier=name, parents=parents, description=description, size_bytes=1, shared=shared, in_use=False
    )


def names(steps: list[Step], *also: str) -> list[str]:
    return [each.identifier for each in ours({each.identifier: each for each in steps}, SCRIPTS, also)]


BASE = step("base", "from local")
COPY = step("copy", "fileop target", "base")
OURS = step("ours", "mount / from exec /bin/sh -c sh /forge/tools.sh", "copy")
CHILD = step("child", "mount / from exec /bin/sh -c make", "ours")
MOUNT = step("mount", "cached mount /debs from exec /bin/sh -c sh /forge/tools.sh")
THEIRS = step("theirs", "mount / from exec /bin/sh -c sh /forge/other.sh", "base")
BOTH = step("both", "fileop target", "base")


def test_what_executed_our_scripts_is_ours_with_what_led_to_it_alone_and_what_came_of_it():
    found = names([BASE, COPY, OURS, CHILD, MOUNT, THEIRS])
    assert set(found) == {"copy", "ours", "child", "mount"}


def test_a_step_that_somebody_elses_stands_on_is_not_ours():
    found = names([BASE, BOTH, step("ours", OURS.description, "both"), step("theirs", "exec make", "both")])
    assert found == ["ours"]


def test_children_come_before_what_they_stand_on():
    found = names([OURS, BASE, CHILD, COPY])
    assert found.index("child") < found.index("ours") < found.index("copy")


def test_layers_of_images_that_have_gone_are_ours_and_layers_of_others_are_not():
    before = {"a": step("a", "fileop target", shared=True), "b": step("b", "fileop target", shared=True)}
    after = {"a": step("a", "fileop target"), "b": before["b"], "c": step("c", "fileop target")}
    assert layers_gone(before, after) == {"a"}
    assert names(list(after.values()), "a") == ["a"]


def test_both_interfaces_of_the_daemon_are_read():
    (old,) = steps_of([{"ID": "x", "Parent": "p", "Description": "d", "Size": 2, "Shared": True}]).values()
    (new,) = steps_of([{"ID": "x", "Parents": ["p", "q"], "Description": "d", "Size": 2}]).values()
    assert (old.parents, old.shared) == (("p",), True)
    assert new.parents == ("p", "q")
    assert steps_of(None) == {}


@st.composite
def caches(draw: st.DrawFn) -> list[Step]:
    """Any forest of steps: a parent always comes before its child."""
    kinds = ["fileop target", "from local", "exec make", OURS.description, THEIRS.description]
    steps: list[Step] = []
    for number in range(draw(st.integers(0, 12))):
        parents = draw(st.lists(st.sampled_from(steps), max_size=2)) if steps else []
        steps.append(step(str(number), draw(st.sampled_from(kinds)), *{each.identifier for each in parents}))
    return steps


@given(caches())
def test_whatever_the_cache_nothing_goes_before_its_children_and_nothing_without_one_of_ours(steps):
    found = names(steps)
    assert len(found) == len(set(found))
    by_name = {each.identifier: each for each in steps}
    children = {
        each.identifier: {other.identifier for other in steps if each.identifier in other.parents}
        for each in steps
    }
    for at, name in enumerate(found):
        assert not (children[name] & set(found[at:])), "a child comes later"
    marked = {each.identifier for each in steps if "/forge/tools.sh" in each.description}
    assert marked <= set(found)
    assert not found or marked
    for name in found:
        related = children[name] | set(by_name[name].parents)
        assert name in marked or related & set(found)
