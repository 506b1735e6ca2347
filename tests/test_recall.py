"""Ranking over a read model that is filled by hand: what is found, for whom, when, and why."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram_core.analysis import terms
from engram_core.policy import RecallPolicy
from engram_core.projections import lanes, texts
from tests.shelf import PRIVATE, RESTRICTED, SHARED, Shelf

WORDS = "tea coffee oolong harbour lantern violin quartz meadow pepper anchor saddle walnut".split()
ASSISTANT = "assistant:claude"


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


# -- what is found ---------------------------------------------------------------------------------------------------


def test_the_memory_that_holds_more_of_the_question_comes_first(shelf: Shelf) -> None:
    """More and rarer words of the question weigh more."""
    shelf.put("Alice drinks coffee in the morning")
    best = shelf.put("Alice drinks oolong tea in the morning")
    shelf.put("Bob repairs violins")
    assert best == shelf.keys("what oolong tea does she drink in the morning?")[0]


def test_an_older_and_better_match_is_found_among_many_newer_ones() -> None:
    """Candidates are chosen by the rarity of words, not by age, however few are read."""
    shelf = Shelf(policy=RecallPolicy(postings=50, depth=10))
    old = shelf.put("green tea with the lantern near the harbour")
    for number in range(600):
        shelf.put(f"{('green', 'tea', 'harbour')[number % 3]} note {number}")
    assert [old] == shelf.keys("green tea harbour", limit=1)


def test_a_question_of_common_words_alone_still_answers(shelf: Shelf) -> None:
    """Stop words count when nothing else is asked."""
    found = shelf.put("to be or not to be")
    shelf.put("it is what it is")
    assert found == shelf.keys("to be or not to be")[0]


@pytest.mark.parametrize("question", ["", "   ", "???", "\x00", "\ud800", '"', "()", "* - +"])
def test_a_question_without_words_has_no_hits(shelf: Shelf, question: str) -> None:
    """Blank and sign-only questions find nothing."""
    shelf.put("anything at all")
    assert [] == shelf.ask(question)


def test_a_statement_that_opens_the_content_counts_once(shelf: Shelf) -> None:
    """Splitting a long text into statement and content changes no score."""
    text = "Alice moved to Oslo in March. " * 20
    one = shelf.put(text[:80].strip(), content=text)
    two = shelf.put(text)
    hits = shelf.ask("when did Alice move to Oslo?")
    assert {one, two} == {hit.key for hit in hits}
    assert hits[0].score == hits[1].score


def test_the_best_passage_of_a_long_text_counts(shelf: Shelf) -> None:
    """Words that stand together in one passage beat the same words scattered over a long text."""
    filler = [f"line {number} about {WORDS[number % 5]} and nothing that matters here today" for number in range(40)]
    scattered = filler.copy()
    scattered[3] += " quartz"
    scattered[30] += " saddle"
    together = filler.copy()
    together[3] += " quartz saddle"
    far = shelf.put("\n".join(scattered))
    near = shelf.put("\n".join(together))
    assert [near, far] == shelf.keys("quartz and saddle")


# -- what lifts a memory -----------------------------------------------------------------------------------------------


def test_memories_linked_to_a_named_entity_gain(shelf: Shelf) -> None:
    """A question that names Alice prefers what is linked to her."""
    alice = shelf.put("Alice", kind="person", names=["Alice Ng", "Ali"])
    bob = shelf.put("Bob", kind="person", names=["Bob Ray"])
    shelf.put("likes green tea", about=[bob])
    hers = shelf.put("likes green tea", about=[alice])
    for name in ("Alice Ng", "Alice", "Ali"):
        hits = shelf.ask(f"which tea does {name} like?")
        assert hers == hits[0].key
        assert "named" in dict(hits[0].parts)
        assert "named" not in dict(hits[1].parts)


def test_the_whole_name_means_one_of_two_namesakes(shelf: Shelf) -> None:
    """`Alice Ng` is not `Alice Stone`."""
    one = shelf.put("Alice Ng", kind="person", names=["Alice Ng"])
    other = shelf.put("Alice Stone", kind="person", names=["Alice Stone"])
    hers = shelf.put("plays the violin", about=[one])
    shelf.put("plays the violin", about=[other])
    hits = shelf.ask("does Alice Ng play the violin?")
    assert hers == hits[0].key
    assert "named" not in dict(hits[1].parts)


def test_what_was_merged_into_a_named_entity_counts_for_it(shelf: Shelf) -> None:
    """Links to a merge's source lead to the survivor's name."""
    kept = shelf.put("Alice", kind="person", names=["Alice"])
    gone = shelf.put("Lissy", kind="person", names=["Lissy"], merged_into=f"m{kept:06d}")
    shelf.put("likes tea")
    hers = shelf.put("likes tea", about=[gone])
    assert hers == shelf.keys("which tea does Alice like?")[0]


def test_neighbours_in_a_session_share_a_score(shelf: Shelf) -> None:
    """The answer that follows a question in the same session is found through it."""
    shelf.put("where shall we meet for the quartz fair?", session="s1")
    answer = shelf.put("under the big clock", session="s1")
    shelf.put("under the bridge", session="s2")
    hits = shelf.ask("quartz fair")
    assert answer == hits[1].key
    assert "session" in dict(hits[1].parts)
    assert len(hits) == 2


def test_words_side_by_side_count_more(shelf: Shelf) -> None:
    """A pair of the question that a memory repeats lifts it."""
    shelf.put("tea in a green cup")
    pair = shelf.put("a cup of green tea")
    assert pair == shelf.keys("green tea")[0]


def test_filters_apply_before_the_limit(shelf: Shelf) -> None:
    """However many stronger matches a filter hides, what passes is found."""
    wanted = shelf.put("a remark on tea and other things that go on for quite a while", kind="goal")
    for _ in range(400):
        shelf.put("tea tea")
    assert [wanted] == shelf.keys("tea", where="m.kind = 'goal'", limit=1)


# -- one answer --------------------------------------------------------------------------------------------------------


def _story(shelf: Shelf, seed: int, size: int = 60) -> None:
    """A random history: texts, links, sessions, audiences, changes, deletions."""
    rng = random.Random(seed)
    people = [shelf.put(name, kind="person", names=[name]) for name in ("Alice", "Bob")]
    live: list[int] = []
    for _ in range(size):
        lane = rng.choice([SHARED, SHARED, PRIVATE, RESTRICTED])
        audience = rng.choice([[ASSISTANT], ["assistant:other"]]) if lane == RESTRICTED else []
        text = " ".join(rng.choices(WORDS, k=rng.randint(1, 12)))
        turn = rng.random()
        if turn < 0.7 or not live:
            about = rng.choices(people, k=rng.randint(0, 1))
            session = rng.choice([None, "s1", "s2"])
            live.append(shelf.put(text, session=session, about=about, lane=lane, audience=audience))
        elif turn < 0.9:
            shelf.change(rng.choice(live), text, lane=lane, audience=audience)
        else:
            shelf.delete(live.pop(rng.randrange(len(live))))


QUESTIONS = ("tea", "Alice and the oolong harbour", "walnut saddle pepper tea coffee", "Bob", "violin violin")


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_every_score_is_the_sum_of_its_parts(seed: int) -> None:
    """Parts add up exactly, names are unique, order falls by score and then id."""
    shelf = Shelf()
    _story(shelf, seed)
    for question in QUESTIONS:
        hits = shelf.ask(question)
        for hit in hits:
            assert hit.score == sum(dict(hit.parts).values())
            assert len(hit.parts) == len(dict(hit.parts))
        assert sorted(hits, key=lambda hit: (-hit.score, hit.id)) == hits


@pytest.fixture(params=[8_192, 3], ids=["listed", "asked"])
def changed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many changed texts are listed rather than asked about one by one; and short spans, so that there are some."""
    monkeypatch.setattr(texts, "SPAN", 16)
    monkeypatch.setattr(lanes, "SPAN", 16)
    monkeypatch.setattr(lanes, "_MANY_CHANGED", request.param)
    return int(request.param)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_past_view_answers_what_a_replay_of_the_prefix_answers(changed: int, seed: int) -> None:
    """`known` gives, to the last digit, what was answered then: to all-seeing viewers whatever came after."""
    whole = Shelf()
    _story(whole, seed)
    for cut in (5, whole.position // 2, whole.position - 1):
        prefix = _Prefix(cut)
        with pytest.raises(_ReachedError):
            _story(prefix, seed)
        for question in QUESTIONS:
            assert prefix.ask(question) == whole.ask(question, known=cut)


class _ReachedError(Exception):
    pass


class _Prefix(Shelf):
    """Stops before it would pass a position."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self.last = last

    def _stop(self) -> None:
        if self.position == self.last:
            raise _ReachedError

    def put(self, text: str, **how: Any) -> int:
        self._stop()
        return super().put(text, **how)

    def change(self, key: int, text: str, **how: Any) -> None:
        self._stop()
        super().change(key, text, **how)

    def delete(self, key: int) -> None:
        self._stop()
        super().delete(key)


def _blind(hits: list[Any]) -> list[Any]:
    return [(hit.score, hit.parts) for hit in hits]


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_hidden_memories_change_no_answer(seed: int) -> None:
    """An assistant's scores and order are the same whether or not what is hidden from him was ever there."""
    rng = random.Random(seed)
    full, bare = Shelf(), Shelf()
    kept: list[tuple[int, int]] = []
    for shelf in (full, bare):
        shelf.put("Alice", kind="person", names=["Alice"])
    for _ in range(50):
        hidden = rng.random() < 0.5
        lane = rng.choice([PRIVATE, RESTRICTED]) if hidden else rng.choice([SHARED, RESTRICTED])
        audience = ["assistant:other"] if hidden else [ASSISTANT]
        text = " ".join(rng.choices(WORDS, k=rng.randint(1, 12)))
        how: dict[str, Any] = {"session": rng.choice([None, "s1"]), "about": rng.choice([[], [1]]), "lane": lane}
        names = ["Tea Lantern"] if hidden and rng.random() < 0.2 else []
        there = full.put(text, audience=audience, names=names, **how)
        if not hidden:
            kept.append((there, bare.put(text, audience=audience, **how)))
        elif rng.random() < 0.3:
            full.change(there, text + " tea", lane=PRIVATE)
    same = dict(kept)
    for question in QUESTIONS:
        seen, alone = full.ask(question, viewer=ASSISTANT), bare.ask(question, viewer=ASSISTANT)
        assert [same[hit.key] for hit in seen] == [hit.key for hit in alone]
        assert _blind(alone) == _blind(seen)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_past_view_shows_what_may_be_seen_then_and_now(changed: int, seed: int) -> None:
    """What was hidden since, or was hidden then, moves no score of an assistant's past view."""
    shelf = Shelf()
    _story(shelf, seed)
    cut = shelf.position // 2
    readable = (
        "(t.lane = 0 OR (t.lane = 2 AND t.audience = '[\"assistant:claude\"]'))"
        " AND t.from_position <= :known AND (t.to_position IS NULL OR t.to_position > :known)"
        " AND n.stored = 'active' AND (n.lane = 0 OR (n.lane = 2 AND n.audience = '[\"assistant:claude\"]'))"
    )
    visible = {
        key
        for (key,) in shelf.connection.execute(
            "SELECT t.key FROM (SELECT key, lane, audience, from_position, NULL AS to_position FROM texts UNION ALL"
            " SELECT key, lane, audience, from_position, to_position FROM past_texts) t"
            f" JOIN memories n ON n.key = t.key WHERE {readable}",
            {"known": cut},
        )
    }
    for question in QUESTIONS:
        assert {hit.key for hit in shelf.ask(question, viewer=ASSISTANT, known=cut, limit=100)} <= visible


def test_answers_do_not_change_when_repeated_or_reordered(tmp_path: Path) -> None:
    """In memory or in a file, a hundred times, after the index was merged or filled in another order of commits."""
    memory, file = Shelf(), Shelf(str(tmp_path / "read.db"))
    for shelf in (memory, file):
        _story(shelf, 7, size=120)
    expected = [memory.ask(question) for question in QUESTIONS]
    assert expected == [file.ask(question) for question in QUESTIONS]
    texts.optimize_texts(file.connection)
    for _ in range(100):
        assert expected == [file.ask(question) for question in QUESTIONS]


def test_a_shorter_list_is_the_head_of_a_longer_one(shelf: Shelf) -> None:
    """The limit cuts the answer and changes nothing else."""
    _story(shelf, 11, size=100)
    for question in QUESTIONS:
        assert shelf.ask(question, limit=20)[:5] == shelf.ask(question, limit=5)


# -- the lanes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda shelf, key: shelf.delete(key), id="deleted"),
        pytest.param(lambda shelf, key: shelf.change(key, "walnut"), id="edited"),
        pytest.param(lambda shelf, key: shelf.change(key, "quartz", lane=PRIVATE), id="hidden"),
    ],
)
def test_text_that_ended_leaves_the_statistics(shelf: Shelf, end: Callable[[Shelf, int], None]) -> None:
    """After an end the index counts as if the text had never been there."""
    shelf.put("tea")
    end(shelf, shelf.put("quartz"))
    rows = shelf.connection.execute("SELECT term, doc FROM text_shared_terms WHERE term = 'quartz'").fetchall()
    assert [] == rows
    (total,) = shelf.connection.execute("SELECT sum(texts) FROM text_totals").fetchone()
    assert total == shelf.connection.execute("SELECT count(*) FROM texts").fetchone()[0]


def test_erased_text_is_in_no_lane(shelf: Shelf) -> None:
    """Present and past versions go, and the names."""
    key = shelf.put("a quartz lantern", kind="person", names=["Quartz Lantern"])
    shelf.change(key, "another quartz", names=["Quartz"])
    texts.erase_texts(shelf.connection, [key])
    texts.optimize_texts(shelf.connection)
    for name in (*texts.LANES, texts.PAST_LANE):
        assert [] == shelf.connection.execute(f"SELECT * FROM {name}_terms").fetchall()
    for table in ("texts", "past_texts", "names"):
        assert [] == shelf.connection.execute(f"SELECT * FROM {table}").fetchall()
    assert [(0, 0, 0, 0), (1, 0, 0, 0), (2, 0, 0, 0)] == shelf.connection.execute(
        "SELECT * FROM text_totals"
    ).fetchall()


def test_everything_can_be_dropped_and_made_again(shelf: Shelf) -> None:
    """The statements name every table, under a prefix too."""
    for prefix in ("", "shadow_"):
        for statement in (*texts.drop_statements(prefix), *texts.create_statements(prefix)):
            shelf.connection.execute(statement)
    for statement in (*texts.drop_statements(), *texts.drop_statements("shadow_")):
        shelf.connection.execute(statement)
    left = shelf.connection.execute("SELECT name FROM sqlite_master WHERE name LIKE '%text%' OR name LIKE '%names%'")
    assert [] == left.fetchall()


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_viewer_counts_what_he_may_read(changed: int, seed: int) -> None:
    """Texts, terms and lists, in the present and in the past: what a look at each single text gives."""
    shelf = Shelf()
    _story(shelf, seed)
    for viewer in (None, ASSISTANT, "assistant:nobody"):
        for known in (None, shelf.position // 3, shelf.position - 2):
            held = _held(shelf, viewer, known)
            counted = shelf.visible(viewer, known)
            assert (len(held), sum(map(len, held.values()))) == (counted.count, counted.length)
            for word in terms(" ".join(WORDS)):
                places = {str(key): said.count(word) for key, said in held.items() if word in said}
                assert len(places) == counted.frequencies([word])[word]
                assert places == Counter(document[:-1] for document in counted.places(word))
                both = {key for key in places if "tea" in held[int(key)]}
                assert both == {document[:-1] for document in counted.holding(word, ["tea"])}


def _held(shelf: Shelf, viewer: str | None, known: int | None) -> dict[int, list[str]]:
    """The terms of every text that a viewer may read, then and today."""
    rows = shelf.connection.execute(
        "SELECT t.key, f.terms, t.lane, t.audience, t.from_position, NULL FROM texts t"
        " JOIN (SELECT rowid, terms FROM text_shared UNION ALL SELECT rowid, terms FROM text_private"
        " UNION ALL SELECT rowid, terms FROM text_restricted) f ON f.rowid = t.document"
        " UNION ALL SELECT t.key, f.terms, t.lane, t.audience, t.from_position, t.to_position FROM past_texts t"
        " JOIN text_past f ON f.rowid = t.document"
    ).fetchall()
    today = {key: (lane, audience) for key, _, lane, audience, _, to in rows if to is None}
    then = shelf.position if known is None else known

    def reads(lane: int, audience: str | None) -> bool:
        return viewer is None or lane == SHARED or (lane == RESTRICTED and viewer in (audience or ""))

    return {
        key: said.split()
        for key, said, lane, audience, since, to in rows
        if since <= then
        and (to is None or to > then)
        and reads(lane, audience)
        and (known is None or viewer is None or (key in today and reads(*today[key])))
    }


@pytest.mark.parametrize("viewer", [None, ASSISTANT])
def test_a_past_view_does_not_look_at_each_text(viewer: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes few more instructions of SQLite than a present one; looking at each took ten times as many."""
    monkeypatch.setattr(texts, "SPAN", 64)
    monkeypatch.setattr(lanes, "SPAN", 64)
    shelf = Shelf()
    rng = random.Random(5)
    for number in range(3_000):
        shelf.put(" ".join(rng.choices(WORDS, k=6)) + f" note{number // 3}", lane=RESTRICTED * (number % 50 == 0))
    for number in range(1, 100):
        shelf.change(number * 20, f"oolong again {number}")

    def steps(known: int | None) -> int:
        taken = 0

        def count() -> None:
            nonlocal taken
            taken += 1

        shelf.connection.set_progress_handler(count, 10)
        shelf.ask("what of note77 and note78?", viewer=viewer, known=known)
        shelf.connection.set_progress_handler(None, 0)
        return taken

    assert steps(shelf.position - 10) < 4 * steps(None)
    assert steps(shelf.position // 2) < 4 * steps(None)


def test_no_query_walks_through_a_table() -> None:
    """Every statement of a recall, in the present and in the past, finds its rows by an index."""
    shelf = Shelf()
    _story(shelf, 3, size=80)
    plans: list[str] = []
    statements: list[str] = []
    shelf.connection.set_trace_callback(statements.append)
    for viewer in (None, ASSISTANT):
        for known in (None, 40):
            shelf.ask("Alice tea harbour", viewer=viewer, known=known)
    shelf.connection.set_trace_callback(None)
    for statement in statements:
        if statement.startswith("SELECT") and "count(*), coalesce" not in statement:
            plans += [row[3] for row in shelf.connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
    walked = {plan for plan in plans if plan.startswith("SCAN") and "VIRTUAL TABLE" not in plan}
    assert plans
    assert {"SCAN text_totals"} == {plan for plan in walked if "(subquery" not in plan}
