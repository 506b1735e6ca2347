"""What is wrong with an argument of the door is said by one of our errors, and nothing of it reaches the log."""

import pytest

from engram_core import (
    EngramError,
    EvidenceRef,
    Fact,
    InvalidAttributesError,
    MemorySpace,
    NotFoundError,
    assistant,
    following,
    user,
)


@pytest.fixture
def space():
    with MemorySpace.in_memory() as space:
        yield space


@pytest.mark.parametrize("wrong", [None, "yes", 1, [], float("nan")])
def test_corroboration_that_is_no_truth_value_reaches_no_log(space, wrong):
    """An assistant's draft with it would make the log unreadable for everybody."""
    tea = space.session(user("ann")).remember(Fact("oolong"))
    with pytest.raises(InvalidAttributesError, match="corroborates"):
        space.session(assistant("claude")).add_evidence(tea, EvidenceRef("quote", "q"), corroborates=wrong)
    assert len(list(space.events())) == 1


@pytest.mark.parametrize("wrong", ["1", 1.0, True, [], {}])
def test_expected_revision_is_a_whole_number(space, wrong):
    """Anything else is refused by name."""
    ann = space.session(user("ann"))
    tea = ann.remember(Fact("oolong"))
    with pytest.raises(InvalidAttributesError, match="expected_revision"):
        ann.pin(tea, expected_revision=wrong)
    with pytest.raises(InvalidAttributesError, match="expected_revision"):
        ann.supersede(tea, Fact("green"), expected_revision=wrong)


@pytest.mark.parametrize("given", ["I like tea", "fact", None, 1, [Fact("x")]])
def test_what_is_no_attributes_is_told_what_they_look_like(space, given):
    """Who gives plain text, or the name of a kind alone, is shown both ways to say it."""
    with pytest.raises(InvalidAttributesError) as caught:
        space.session(user("ann")).remember(given)
    said = f'must be an object such as Fact("…") or {{"kind": "fact", …}}, not {type(given).__name__}'
    assert [("attributes", said)] == [(problem.field, problem.problem) for problem in caught.value.problems]


def test_ids_with_lone_surrogates_name_nothing(space):
    """No store could hold them, so nothing bears them."""
    ann = space.session(user("ann"))
    for call in (ann.pin, ann.approve, ann.undo, ann.erase_subject, ann.export_subject):
        with pytest.raises(NotFoundError):
            call("\ud800")


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.remember(Fact),
        lambda s: s.remember(Fact("x"), external_ids=[("system", [])]),
        lambda s: s.remember(Fact("x"), external_ids=[("system", "\ud800")]),
        lambda s: s.remember(Fact("x"), command_id="\ud800"),
        lambda s: s.remember_many(None),
        lambda s: s.remember_many([Fact("x")], progress=5),
        lambda s: s.proposal("title", evidence=5),
        lambda s: s.quarantine(session_id=[]),
        lambda s: s.quarantine(source_ref="\ud800"),
        lambda s: s.quarantine(actor="assistant:claude"),
        lambda s: s.diff(None),
    ],
)
def test_arguments_of_a_wrong_type_are_refused_by_name(space, call):
    """The error is ours, and nothing is written."""
    with pytest.raises(InvalidAttributesError):
        call(space.session(user("ann")))
    assert space.position == 0


@pytest.mark.parametrize(
    "options", [{"durability": []}, {"durability": "none"}, {"connect": 5}, {"projections": None}, {"projections": "x"}]
)
def test_options_of_a_wrong_type_are_refused_by_name(tmp_path, options):
    """Before a file is made."""
    with pytest.raises(InvalidAttributesError, match=next(iter(options))):
        MemorySpace.open(tmp_path / "a.db", **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", [None, "", ":memory:", "x\0y", "\ud800", b"x", 5])
def test_what_is_no_path_is_refused_by_name(path):
    """The error names the path."""
    with pytest.raises(EngramError, match="path"):
        MemorySpace.open(path)


@pytest.mark.parametrize("after", [-1, None, "x", 1.5])
def test_events_start_after_a_position(space, after):
    """Anything else is refused by name."""
    with pytest.raises(InvalidAttributesError, match="after"):
        space.events(after)


def test_a_following_projection_is_a_projection():
    """What `following` wraps is taken as an option."""

    class Nothing:
        name, version = "nothing", 1

        def setup(self, tx): ...

        def apply(self, tx, events): ...

        def teardown(self, tx): ...

    with MemorySpace.in_memory(projections=[following(Nothing())]) as space:
        space.session(user("ann")).remember(Fact("x"))
        space.flush()
