"""The main job on histories as they are found: merges, silence, odd bytes, odd dates, many addresses."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import examples.git_history as example
from engram_core import MemorySpace, user

NOW = datetime(2026, 6, 1, tzinfo=UTC)
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Repo:
    """A small repository whose every commit says who, when and what."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "HOME": str(path.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_COMMITTER_NAME": "Committer",
            "GIT_COMMITTER_EMAIL": "committer@example.org",
            "GIT_AUTHOR_NAME": "Ann Lee",
            "GIT_AUTHOR_EMAIL": "ann@example.org",
        }
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str | bytes, stdin: bytes = b"", **variables: str) -> str:
        """A git command in the repository; what it prints."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            check=True,
            capture_output=True,
            input=stdin,
            env={**self.environment, **variables},
        )
        return done.stdout.decode().strip()

    def commit(
        self,
        message: str = "Change",
        *,
        name: str = "Ann Lee",
        address: str = "ann@example.org",
        at: int = 1_700_000_000,
        files: dict[str, str] | None = None,
    ) -> str:
        """A commit on the current branch; its id."""
        for file, content in (files or {}).items():
            target = self.path / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)
            self.git("add", file)
        who = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": address, "GIT_AUTHOR_DATE": f"@{at} +0000"}
        self.git("commit", "-q", "--allow-empty", "--allow-empty-message", "-m", message, **who)
        return self.git("rev-parse", "HEAD")

    def raw_commit(self, author: bytes, message: bytes = b"raw\n") -> str:
        """A commit written byte by byte, as no porcelain would; its id."""
        tree = self.git("write-tree")
        parents = self.git("rev-parse", "--quiet", "--verify", "HEAD") if self.has_head() else ""
        lines = [b"tree " + tree.encode()]
        if parents:
            lines.append(b"parent " + parents.encode())
        lines += [b"author " + author, b"committer Committer <committer@example.org> 1700000000 +0000"]
        body = b"\n".join(lines) + b"\n\n" + message
        sha = self.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=body)
        self.git("update-ref", "HEAD", sha)
        return sha

    def has_head(self) -> bool:
        """Whether there is a commit yet."""
        command = ["git", "rev-parse", "--quiet", "--verify", "HEAD"]
        return subprocess.run(command, cwd=self.path, capture_output=True, check=False).returncode == 0

    def history(self) -> list[example.Commit]:
        """The commits as the example reads them."""
        return list(example.history(example.open_repository(self.path)))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """An empty repository."""
    return Repo(tmp_path / "repo")


@pytest.fixture
def space() -> Iterator[MemorySpace]:
    """An empty space."""
    with MemorySpace.in_memory() as space:
        yield space


# -- reading -------------------------------------------------------------------------------------------


def stream(*commits: tuple[bytes, ...]) -> bytes:
    """What git prints for commits given as their fields, then raw entries and paths."""
    out = b""
    for fields in commits:
        head, files = fields[:8], fields[8:]
        out += b"commit " + b"\0".join(head) + b"\0"
        if files:
            out += b"\n" + b"".join(b":100644 100644 a b M\0" + file + b"\0" for file in files)
    return out


def fields(sha: bytes = b"a1", message: bytes = b"m\n", *files: bytes) -> tuple[bytes, ...]:
    """The fields of one commit."""
    return (sha, b"", b"Ann", b"ann@x.org", b"Ann", b"ann@x.org", b"1700000000", message, *files)


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_chunks_may_be_cut_anywhere(size: int) -> None:
    """The same commits are read however the pipe cuts the bytes."""
    data = stream(fields(b"a1", b"one\n", b"x"), fields(b"b2", b""), fields(b"c3", b"three\n", b"y", b"z/w"))
    chunks = [data[n : n + size] for n in range(0, len(data), size)]
    found = [(commit.sha, commit.message, commit.paths) for commit in example.commits(chunks)]
    assert [("a1", "one", ("x",)), ("b2", "", ()), ("c3", "three", ("y", "z/w"))] == found


def test_a_path_may_look_like_anything() -> None:
    """Paths that imitate a header or a raw entry are still paths."""
    odd = (b"commit a1", b":100644 100644 a b M", b"\n", b" ", b"new\nline")
    (commit,) = example.commits([stream(fields(b"a1", b"m", *odd))])
    assert tuple(path.decode() for path in odd) == commit.paths


def test_an_empty_stream_has_no_commits() -> None:
    """No bytes, no history, no error."""
    assert [] == list(example.commits([]))
    assert [] == list(example.commits([b""]))


@pytest.mark.parametrize("cut", [3, 20, 60])
def test_a_stream_that_breaks_off_is_noticed(cut: int) -> None:
    """Half a commit is not passed off as a whole one."""
    data = stream(fields(b"a1", b"m\n", b"path"))
    with pytest.raises(ValueError, match="commit"):
        list(example.commits([data[:cut]]))


def test_bytes_without_encoding_become_text() -> None:
    """UTF-8 is read as such, all else as Latin-1; nothing is lost and nothing is refused."""
    assert "Jürgen" == example.text("Jürgen".encode())
    assert "Jürgen" == example.text("Jürgen".encode("latin-1"))
    assert 256 == len(example.text(bytes(range(256))))


@pytest.mark.parametrize(
    ("authored", "expected", "remarked"),
    [
        ("1700000000", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), False),
        ("0", datetime(1970, 1, 1, tzinfo=UTC), False),
        ("-86400", datetime(1969, 12, 31, tzinfo=UTC), False),
        ("4102444800", NOW, True),
        ("18446744073709551615", NOW, True),
        ("-99999999999999", NOW, True),
        ("", NOW, True),
        ("yesterday", NOW, True),
    ],
)
def test_a_date_that_cannot_be_is_replaced(authored: str, expected: datetime, remarked: bool) -> None:
    """Dates before 1970 stand; dates in the future or out of range become the moment of reading."""
    at, remark = example.instant(authored, NOW)
    assert expected == at
    assert remarked == bool(remark)


# -- people --------------------------------------------------------------------------------------------


def commit_by(name: str, address: str, canonical: tuple[str, str] | None = None) -> example.Commit:
    """A commit of somebody."""
    canonical_name, canonical_address = canonical or (name, address)
    return example.Commit(
        sha="a1",
        parents=(),
        name=name,
        address=address,
        canonical_name=canonical_name,
        canonical_address=canonical_address,
        authored="0",
        message="",
        paths=(),
    )


def test_one_person_under_five_addresses() -> None:
    """The same name is the same person, who then has five addresses."""
    authors = example.Authors()
    found = {authors.of(commit_by("Ann Lee", f"ann@{n}.example.org")).key for n in range(5)}
    assert 1 == len(found)
    assert 5 == len(authors.of(commit_by("ann lee", "ANN@1.example.org")).addresses)


def test_one_address_under_two_names() -> None:
    """The same address is the same person, whose other name becomes an alias."""
    authors = example.Authors()
    first = authors.of(commit_by("Ann Lee", "ann@example.org"))
    assert first is authors.of(commit_by("Ann Smith", "Ann@Example.org"))
    assert first is authors.of(commit_by("Ann Smith", "smith@example.org"))
    assert ["Ann Smith"] == list(first.aliases)


def test_a_mailmap_is_followed() -> None:
    """What the repository declares to be one person is one."""
    authors = example.Authors()
    first = authors.of(commit_by("Ann Lee", "ann@example.org"))
    assert first is authors.of(commit_by("al", "al@home.example", ("Ann Lee", "ann@example.org")))
    assert {"ann@example.org", "al@home.example"} == set(first.addresses)


def test_names_that_tell_nothing_join_nobody() -> None:
    """Two machines whose user is called root are two authors."""
    authors = example.Authors()
    here, there = (authors.of(commit_by("root", f"root@{host}.example")) for host in ("here", "there"))
    assert here is not there


def test_addresses_that_tell_nothing_join_nobody() -> None:
    """Two people on their localhost are two authors, without an address."""
    authors = example.Authors()
    ann, bob = (authors.of(commit_by(name, "me@localhost")) for name in ("Ann Lee", "Bob Ray"))
    assert ann is not bob
    assert {} == ann.addresses


@pytest.mark.parametrize(
    ("name", "address"), [("", ""), ("", "x@example.org"), ("Ann", ""), ("", "@"), ("é" * 900, "")]
)
def test_everybody_gets_a_name(name: str, address: str) -> None:
    """An author without a name, an address or both is still somebody, within the limits of a name."""
    author = example.Authors().of(commit_by(name, address))
    assert 0 < len(author.name) <= 200
    assert author.key


# -- shaping -------------------------------------------------------------------------------------------


def test_places_are_the_upper_levels() -> None:
    """A directory ends in a slash, a file does not, and both are counted."""
    paths = ["README.md", "src/a/b.py", "src/c.py", "src"]
    assert {"README.md": 1, "src/": 2, "src": 1} == example.places(paths, 1)
    assert {"README.md": 1, "src/a/": 1, "src/c.py": 1, "src": 1} == example.places(paths, 2)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://ann:secret@example.org/x.git", "https://example.org/x.git"),
        ("https://example.org/x.git", "https://example.org/x.git"),
        ("git@example.org:x.git", "git@example.org:x.git"),
    ],
)
def test_credentials_of_a_remote_are_not_remembered(address: str, expected: str) -> None:
    """A token in a remote's address stays out of the memory."""
    assert expected == example.without_credentials(address)


# -- git -----------------------------------------------------------------------------------------------


@needs_git
def test_an_empty_repository_has_an_empty_history(repo: Repo) -> None:
    """A head that is yet to be born is no error."""
    assert [] == repo.history()


@needs_git
def test_a_directory_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    """The words are git's own."""
    with pytest.raises(example.GitError, match="git"):
        example.open_repository(tmp_path)


@needs_git
def test_a_history_is_read_oldest_first(repo: Repo) -> None:
    """Parents come before children, each with what it touched."""
    first = repo.commit("First", files={"a": "1", "d/x y": "1"})
    second = repo.commit("Second\n\nWith a body.", files={"a": "2"})
    assert [
        (first, (), "First", ("a", "d/x y")),
        (second, (first,), "Second\n\nWith a body.", ("a",)),
    ] == [(c.sha, c.parents, c.message, c.paths) for c in repo.history()]


@needs_git
def test_an_octopus_merge_is_one_commit(repo: Repo) -> None:
    """A merge of three branches has its parents and no paths of its own."""
    base = repo.commit("Base", files={"base": "1"})
    for branch in ("one", "two", "three"):
        repo.git("checkout", "-q", "-b", branch, base)
        repo.commit(branch, files={branch: "1"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "Octopus", "one", "two", "three")
    merge = repo.history()[-1]
    assert ("Octopus", 4, ()) == (merge.message, len(merge.parents), merge.paths)


@needs_git
def test_odd_authors_and_dates_are_read(repo: Repo) -> None:
    """Latin-1 names, empty names, huge dates and empty messages come through as they are."""
    repo.raw_commit("Jürgen Groß <jg@example.org> 1700000000 +0000".encode("latin-1"))
    repo.raw_commit(b" <nobody@example.org> 1700000000 +0000", b"")
    repo.raw_commit(b"Ann <ann@example.org> 99999999999999999999 +0000")
    latin, nameless, dated = repo.history()
    assert "Jürgen Groß" == latin.name
    assert ("", "nobody@example.org", "") == (nameless.name, nameless.address, nameless.message)
    assert example.instant(dated.authored, NOW)[1]


@needs_git
def test_odd_file_names_are_read(repo: Repo) -> None:
    """Blanks, line ends, quotes and bytes that are no UTF-8 are part of a name."""
    names = [b"a b", b"new\nline", b'quo"te', b"commit x", "ü".encode(), b"\xff\xfe"]
    for name in names:
        Path(os.fsdecode(bytes(repo.path) + b"/" + name)).write_text("1")
    repo.git("add", "-A")
    repo.commit("Names")
    assert {example.text(name) for name in names} == set(repo.history()[0].paths)


@needs_git
def test_the_end_of_a_shallow_clone_claims_nothing(repo: Repo, tmp_path: Path) -> None:
    """Where the clone was cut, git shows the whole tree as added; that is known and left out."""
    for n in range(3):
        repo.commit(f"Commit {n}", files={f"file{n}": "1"})
    clone = tmp_path / "clone"
    repo.git("clone", "-q", "--depth", "2", f"file://{repo.path}", str(clone))
    repository = example.open_repository(clone)
    assert 2 == repository.size
    assert {commit.sha for commit in list(example.history(repository))[:1]} == repository.cut_off


@needs_git
def test_the_callers_own_repository_does_not_interfere(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside a git hook, variables point elsewhere; the path that was given counts."""
    sha = repo.commit("Here")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert [sha] == [commit.sha for commit in repo.history()]


@needs_git
def test_an_abandoned_stream_ends_git(repo: Repo) -> None:
    """Whoever stops reading leaves no process behind."""
    for n in range(3):
        repo.commit(f"Commit {n}")
    commits = example.history(example.open_repository(repo.path))
    assert "Commit 0" == next(commits).message
    commits.close()


# -- remembering ---------------------------------------------------------------------------------------


def figures(space: MemorySpace) -> dict[str, int]:
    """How many memories of each kind there are."""
    view = space.session(user("test"), record=False)
    return {kind: view.count(kind=kind) for kind in ("person", "contact", "event", "asset")}


@pytest.fixture
def busy(repo: Repo) -> Repo:
    """A history with all that is odd about histories."""
    repo.commit("Begin", files={"README": "1", "src/a.py": "1"})
    repo.commit("", address="ann@home.example", at=1_700_086_400, files={"src/b.py": "1"})
    bob = "bob@example.org"
    repo.commit("By Bob", name="Bob Ray", address=bob, at=1_700_172_800, files={"src/a.py": "2"})
    repo.commit("Bob, renamed", name="Robert Ray", address=bob, files={"docs/x": "1"})
    repo.commit("Early", at=1)
    repo.commit("Late", at=4_102_444_800)
    repo.raw_commit("Jürgen Groß <jg@example.org> 1700000000 +0000".encode("latin-1"))
    repo.git("checkout", "-q", "-f", "-b", "side", "HEAD~1")
    repo.commit("Side", files={"side": "1"})
    repo.git("checkout", "-q", "-f", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge", "side")
    return repo


@needs_git
def test_a_history_becomes_people_places_and_events(busy: Repo, space: MemorySpace) -> None:
    """Four addresses are three people; each commit is one event; the repository itself is an asset."""
    historian = example.remember_history(space, busy.path)
    assert 9 == historian.tally.commits
    assert {"person": 3, "contact": 4, "event": 9, "asset": 5} == figures(space)


@needs_git
@pytest.mark.parametrize("batch", [1, 2, 500])
def test_reading_again_adds_nothing(busy: Repo, space: MemorySpace, batch: int) -> None:
    """External ids make a second pass harmless, whatever the size of its batches."""
    example.remember_history(space, busy.path, batch=batch)
    before = figures(space), space.position
    again = example.remember_history(space, busy.path, batch=3)
    assert (0, 0) == (again.tally.created, again.tally.changed)
    assert before == (figures(space), space.position)


@needs_git
def test_new_commits_are_added_to_what_is_known(busy: Repo, space: MemorySpace) -> None:
    """A later pass writes the later commits, and links them to the people who are known."""
    example.remember_history(space, busy.path)
    before = figures(space)
    busy.commit("Later", name="Bob Ray", address="bob@example.org")
    again = example.remember_history(space, busy.path)
    assert 1 == again.tally.created
    assert before | {"event": before["event"] + 1} == figures(space)


@needs_git
def test_everything_is_linked_and_grounded(busy: Repo, space: MemorySpace) -> None:
    """A commit involves its author, is about what it touched, and rests on its id."""
    example.remember_history(space, busy.path)
    view = space.session(user("test"), record=False)
    (commit,) = view.find(kind="event", where={"occurred_at": datetime(2023, 11, 16, 22, 13, 20, tzinfo=UTC)})
    assert "By Bob" == commit.title
    ends = {(str(link.relation), view.get(link.target).display_title) for link in commit.links}
    assert {("involves", "Bob Ray"), ("about", "src/")} == ends
    sha = busy.git("log", "--format=%H", "--grep=By Bob")
    assert [sha] == [reference.value for reference in commit.evidence]
    (address,) = view.find(kind="contact", where={"value": "bob@example.org"})
    assert ["Bob Ray"] == [view.get(link.target).display_title for link in address.links]


@needs_git
def test_other_names_become_aliases(busy: Repo, space: MemorySpace) -> None:
    """Whoever changed his name is found under both."""
    example.remember_history(space, busy.path, batch=1)
    view = space.session(user("test"), record=False)
    hits = view.recall("Robert Ray", kind="person", limit=1)
    assert ["Bob Ray"] == [hit.memory.display_title for hit in hits]


@needs_git
def test_the_questions_are_answered(busy: Repo, space: MemorySpace) -> None:
    """Who worked on it, what happened then, and how that is known."""
    example.remember_history(space, busy.path)
    view = space.session(user("test"), record=False)
    place = example.place_called(view, "src")
    assert place is not None
    assert [("Ann Lee", 2), ("Bob Ray", 1)] == example.who_worked_on(view, place)
    start = datetime(2023, 11, 16, tzinfo=UTC)
    events = example.around(view, start, start + timedelta(days=1))
    assert ["By Bob"] == [event.display_title for event in events]
    assert any(events[0].evidence[0].value in line for line in example.grounds(view, events[0]))


@needs_git
def test_cherry_picks_are_events_of_their_own(repo: Repo, space: MemorySpace) -> None:
    """Two commits that differ in nothing but their id are both remembered."""
    base = repo.commit("Base")
    picked = repo.commit("Same", files={"a": "1"})
    repo.git("checkout", "-q", "-b", "other", base)
    repo.commit("Between")
    repo.git("cherry-pick", picked)
    repo.git("merge", "-q", "--no-ff", "-m", "Join", "main")
    tally = example.remember_history(space, repo.path).tally
    assert tally.commits == figures(space)["event"] == 5


@needs_git
@pytest.mark.parametrize("arguments", [[], ["--who", "src"], ["--around", "2023-11"], ["--why", "By Bob"]])
def test_the_command_answers(busy: Repo, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """The program ends well with each of its questions."""
    assert 0 == example.main([str(busy.path), *arguments])
    assert "9 commits" in capsys.readouterr().out


@needs_git
def test_the_command_keeps_a_file(busy: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A space in a file is there at the next call, which adds nothing."""
    for _ in range(2):
        assert 0 == example.main([str(busy.path), "--space", str(tmp_path / "history.db")])
    assert "0 memories are new" in capsys.readouterr().out


@needs_git
def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No repository: a line on the error stream and a status, no traceback."""
    assert 1 == example.main([str(tmp_path)])
    assert "git:" in capsys.readouterr().err


@needs_git
def test_a_file_that_is_no_space_is_left_alone(busy: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line on the error stream says so, and the file is as it was."""
    notes = tmp_path / "notes.md"
    notes.write_text("# Notes\n" * 200, "utf-8")
    assert 1 == example.main([str(busy.path), "--space", str(notes)])
    assert "memory:" in capsys.readouterr().err
    assert "# Notes\n" * 200 == notes.read_text("utf-8")


@pytest.mark.parametrize(("option", "wrong"), [("--around", "foo"), ("--depth", "0"), ("--limit", "x")])
def test_a_wrong_option_is_told_before_anything_is_read(
    option: str, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line that says what would be right."""
    with pytest.raises(SystemExit):
        example.main([option, wrong])
    assert option in capsys.readouterr().err


@needs_git
def test_words_that_fit_no_commit_are_told(busy: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    """Silence would look like an answer."""
    assert 0 == example.main([str(busy.path), "--why", "zzzz"])
    assert "Nothing is known of 'zzzz'." in capsys.readouterr().out


@needs_git
def test_the_command_takes_an_empty_repository(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to read is no failure."""
    assert 0 == example.main([str(repo.path)])
    assert "no commits" in capsys.readouterr().out


@needs_git
@pytest.mark.slow
def test_a_hundred_thousand_commits_fit(repo: Repo, tmp_path: Path) -> None:
    """A long history is read in one pass, and what is kept in memory does not grow with it."""
    count = 100_000
    lines = ["blob\nmark :1\ndata 1\nx\n"]
    for n in range(count):
        who = f"Author {n % 500} <a{n % 700}@example.org> {1_500_000_000 + n} +0000"
        parent = f"from :{n + 1}\n" if n else ""
        lines.append(f"commit refs/heads/main\nmark :{n + 2}\nauthor {who}\ncommitter {who}\n")
        lines.append(f"data 8\nn{n:07}\n{parent}M 100644 :1 dir{n % 40}/file{n}\n")
    repo.git("fast-import", "--quiet", stdin="".join(lines).encode())
    with MemorySpace.open(tmp_path / "long.db") as space:
        historian = example.remember_history(space, repo.path)
        assert count == historian.tally.commits == space.session(user("test")).count(kind="event")
        assert 500 == space.session(user("test")).count(kind="person")
