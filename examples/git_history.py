"""A git history becomes a memory that can be asked: who worked on what, what happened, and how it is known.

    python examples/git_history.py [PATH] [--space FILE] [--who SRC] [--around 2026-03] [--why WORDS]

Authors become persons, their addresses contacts, commits events, top-level directories and files assets.
Everything is linked, and the evidence is the commit id. Reading the same history again adds nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from attrs import Factory, define, frozen

from engram_core import (
    Asset,
    Contact,
    Draft,
    EngramError,
    Episode,
    EvidenceRef,
    Memory,
    MemorySpace,
    Period,
    Person,
    Receipt,
    Session,
    View,
    user,
    when,
)

HERE = Path(__file__).resolve().parent.parent

# -- reading: bytes of `git log` to commits; pure ------------------------------------------------------

HEADER = ("%H", "%P", "%an", "%ae", "%aN", "%aE", "%at", "%B")
FORMAT = "commit " + "%x00".join(HEADER)


@frozen(kw_only=True)
class Commit:
    """One commit as git tells it; the canonical name and address are those of the repository's mailmap."""

    sha: str
    parents: tuple[str, ...]
    name: str
    address: str
    canonical_name: str
    canonical_address: str
    authored: str
    message: str
    paths: tuple[str, ...]


def text(raw: bytes) -> str:
    """The text of bytes of undeclared encoding: UTF-8 where they are that, else Latin-1, which fits all."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def split(chunks: Iterable[bytes], separator: bytes = b"\0") -> Iterator[bytes]:
    """The pieces between separators, however the chunks are cut; what follows the last one if not empty."""
    rest: list[bytes] = []
    for chunk in chunks:
        first, *others = chunk.split(separator)
        rest.append(first)
        for piece in others:
            yield b"".join(rest)
            rest = [piece]
    if last := b"".join(rest):
        yield last


def commits(chunks: Iterable[bytes]) -> Iterator[Commit]:
    """Reads the output of `git log -z --raw --format=FORMAT`, holding one commit at a time.

    A path may be any bytes but NUL, even a line that looks like a header.
    So nothing is searched for: fields are counted, and a path is what follows a raw entry.
    """
    tokens = split(chunks)
    token = next(tokens, None)
    while token is not None:
        if not token.startswith(b"commit "):
            raise ValueError(f"expected the head of a commit, found {token[:60]!r}")
        fields = [token.removeprefix(b"commit "), *islice(tokens, len(HEADER) - 1)]
        if len(fields) < len(HEADER):
            raise ValueError(f"the history breaks off within commit {text(fields[0])}")
        paths = []
        # A raw entry starts with a colon; the first one of a commit stands on a new line.
        while (token := next(tokens, None)) is not None and token.lstrip(b"\n").startswith(b":"):
            path = next(tokens, None)
            if path is None:
                raise ValueError(f"the history breaks off within commit {text(fields[0])}")
            paths.append(text(path))
        sha, parents, name, address, canonical_name, canonical_address, authored, message = map(text, fields)
        yield Commit(
            sha=sha,
            parents=tuple(parents.split()),
            name=name.strip(),
            address=address.strip(),
            canonical_name=canonical_name.strip(),
            canonical_address=canonical_address.strip(),
            authored=authored,
            message=message.strip(),
            paths=tuple(paths),
        )


def instant(authored: str, now: datetime) -> tuple[datetime, str]:
    """When a commit was made, and a remark if its own date cannot be taken at its word."""
    try:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(authored))
    except (ValueError, OverflowError):
        return now, f"The commit's own date, {authored or 'empty'!r}, is not readable."
    if at > now:
        return now, f"The commit's own date, {at:%Y-%m-%d}, lay in the future when it was read."
    return at, ""


# -- people: who is the same person; pure --------------------------------------------------------------

NOBODY = frozenset({"admin", "administrator", "anonymous", "no author", "root", "ubuntu", "unknown", "user"})
NOWHERE = ("@localhost", "@localhost.localdomain", ".local", ".(none)")


def is_telling_name(name: str) -> bool:
    """Whether a name says who somebody is: two people called "root" are not one."""
    return len(name) >= 3 and name.strip("()<>").casefold() not in NOBODY


def is_telling_address(address: str) -> bool:
    """Whether an address says who somebody is: many a machine calls itself localhost."""
    return "@" in address.strip("@") and not address.casefold().endswith(NOWHERE)


@define(kw_only=True)
class Author:
    """A person as far as the history has been read."""

    key: str
    name: str
    first: str
    aliases: dict[str, None] = Factory(dict)
    addresses: dict[str, None] = Factory(dict)

    def learn(self, name: str) -> None:
        """Notes another name of the same person."""
        if name and name.casefold() != self.name.casefold() and name not in self.aliases:
            self.aliases[name] = None


class Authors:
    """Who wrote a commit: an address decides, failing that a name, which within one history is one person."""

    def __init__(self) -> None:
        self._by_address: dict[str, Author] = {}
        self._by_name: dict[str, Author] = {}

    def of(self, commit: Commit) -> Author:
        """The author of a commit, who from now on is known by that commit's names and addresses as well."""
        names = [clip(n) for n in (commit.canonical_name, commit.name) if n]
        addresses = [clip(a) for a in (commit.canonical_address, commit.address) if is_telling_address(a)]
        known = [self._by_address.get(a.casefold()) for a in addresses]
        known += [self._by_name.get(n.casefold()) for n in names if is_telling_name(n)]
        author = next((a for a in known if a is not None), None)
        if author is None:
            name = names[0] if names else (addresses[0].partition("@")[0] if addresses else "unknown author")
            key = (addresses[0] if addresses else name).casefold()
            author = Author(key=key, name=name, first=commit.sha)
        for address in addresses:
            self._by_address.setdefault(address.casefold(), author)
            author.addresses.setdefault(address.casefold())
        for name in names:
            author.learn(name)
            if is_telling_name(name):
                self._by_name.setdefault(name.casefold(), author)
        return author


# -- shaping: commits to drafts; pure ------------------------------------------------------------------

PATHS_LINKED = 200
PATHS_NAMED = 40
NAMES_KEPT = 50


def clip(value: str, at_most: int = 200) -> str:
    """The text, cut with an ellipsis if it is too long for its field."""
    return value if len(value) <= at_most else value[: at_most - 1] + "…"


def places(paths: Iterable[str], depth: int) -> Counter[str]:
    """The directories (with a closing slash) and files of the upper `depth` levels that paths belong to."""
    found: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")
        found["/".join(parts[:depth]) + ("/" if len(parts) > depth else "")] += 1
    return found


def person_draft(author: Author) -> Draft:
    """A person, known by the key under which the history first named him."""
    return Draft(
        Person(full_name=author.name, aliases=tuple(author.aliases)[:NAMES_KEPT]),
        evidence=[EvidenceRef("document", author.first, "the first commit of this author")],
        external_ids=[("git-author", clip(author.key))],
    )


def contact_draft(address: str, owner: str, sha: str) -> Draft:
    """An address, and whose it is."""
    return Draft(
        Contact(channel="email", value=address),
        links=[("owned_by", owner)],
        evidence=[EvidenceRef("document", sha, "the first commit from this address")],
        external_ids=[("git-address", clip(address))],
    )


def place_draft(place: str, repository: str, repository_id: str, sha: str) -> Draft:
    """A directory or file of the repository."""
    return Draft(
        Asset(
            asset_type="other" if place.endswith("/") else "file",
            name=clip(place),
            identifier=clip(f"{repository}:{place}", 2_000),
        ),
        links=[("about", repository_id)],
        evidence=[EvidenceRef("document", sha, "the first commit that touches it")],
        external_ids=[("git-path", clip(f"{repository}:{place}", 2_000))],
    )


def commit_draft(commit: Commit, author: str, touched: Sequence[str], now: datetime, *, cut_off: bool = False) -> Draft:
    """An event: what was done, when, by whom, to what."""
    subject, _, _ = commit.message.partition("\n")
    at, remark = instant(commit.authored, now)
    named = ", ".join(commit.paths[:PATHS_NAMED])
    more = len(commit.paths) - PATHS_NAMED
    remarks = [
        clip(commit.message, 15_000),
        clip(f"Touches {named}" + (f" and {more:,} more" if more > 0 else ""), 4_000) if named else "",
        "The clone ends here: what this commit changed is not known." if cut_off else "",
        remark,
        # A cherry-pick repeats all the rest, and an exact duplicate would not be stored.
        f"Commit {commit.sha}",
    ]
    return Draft(
        Episode(occurred_at=at),
        title=clip(subject.strip()) or f"Commit {commit.sha[:12]} without a message",
        content="\n\n".join(filter(None, remarks)),
        tags=["commit", "merge"] if len(commit.parents) > 1 else ["commit"],
        links=[("involves", author), *(("about", place) for place in touched[:PATHS_LINKED])],
        evidence=[EvidenceRef("document", commit.sha)],
        external_ids=[("git-commit", commit.sha)],
        source_ref=commit.sha,
    )


# -- running git ---------------------------------------------------------------------------------------


class GitError(Exception):
    """Git could not do what was asked; the text is its own."""


SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "log.showSignature=false",
    "log.showRoot=true",
)
# Git hooks run with variables that point at their own repository.
ELSEWHERE = {"GIT_COMMON_DIR", "GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE"}
QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def environment() -> dict[str, str]:
    """The caller's variables, less those that point git elsewhere, plus those that keep it quiet."""
    return {name: value for name, value in os.environ.items() if name not in ELSEWHERE} | QUIET


def git(path: Path, *arguments: str) -> list[str]:
    """A git command for a repository that may be a stranger's: no hook, pager, monitor or download starts."""
    settings = [part for setting in SETTINGS for part in ("-c", setting)]
    return ["git", "--no-pager", *settings, "-C", str(path), *arguments]


def ask_git(path: Path, *arguments: str) -> str:
    """What a short command prints; GitError if it fails."""
    try:
        done = subprocess.run(git(path, *arguments), capture_output=True, check=False, env=environment())
    except FileNotFoundError as error:
        raise GitError("git is not installed") from error
    if done.returncode != 0:
        raise GitError(text(done.stderr).strip() or f"git {arguments[0]} ended with {done.returncode}")
    return text(done.stdout).strip()


def ask_git_or(default: str, path: Path, *arguments: str) -> str:
    """What a short command prints, or the default if there is no answer."""
    try:
        return ask_git(path, *arguments) or default
    except GitError:
        return default


def stream_git(path: Path, *arguments: str) -> Iterator[bytes]:
    """What a long command prints, chunk by chunk; its end is waited for, its failure raised."""
    with tempfile.TemporaryFile() as complaints:
        with subprocess.Popen(
            git(path, *arguments),
            stdout=subprocess.PIPE,
            stderr=complaints,
            stdin=subprocess.DEVNULL,
            env=environment(),
        ) as process:
            assert process.stdout is not None
            try:
                while chunk := process.stdout.read(1 << 16):
                    yield chunk
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            complaints.seek(0)
            raise GitError(text(complaints.read()).strip() or f"git ended with {process.returncode}")


@frozen(kw_only=True)
class Repository:
    """A repository and what must be known before its history is read.

    Attributes:
        identity: The address it was cloned from, without credentials; else where it lies.
        size: How many commits its head has; 0 if it has no head yet.
        cut_off: The commits at which a shallow clone ends.
    """

    path: Path
    identity: str
    size: int
    cut_off: frozenset[str]


def without_credentials(address: str) -> str:
    """A remote's address as it may be shown: many carry a token between scheme and host."""
    parts = urlsplit(address) if "://" in address else None
    return address if parts is None else urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def open_repository(path: Path) -> Repository:
    """Looks at a repository; raises GitError if there is none."""
    directory = ask_git(path, "rev-parse", "--absolute-git-dir")
    root = ask_git_or(directory, path, "rev-parse", "--show-toplevel")
    remote = ask_git_or("", path, "config", "--get", "remote.origin.url")
    born = ask_git_or("", path, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    shallow = Path(path, ask_git(path, "rev-parse", "--git-path", "shallow"))
    return Repository(
        path=path,
        identity=without_credentials(remote) if remote else root,
        size=int(ask_git(path, "rev-list", "--count", "HEAD", "--")) if born else 0,
        cut_off=frozenset(shallow.read_text("ascii").split() if shallow.is_file() else ()),
    )


def history(repository: Repository, limit: int | None = None) -> Iterator[Commit]:
    """The commits of the head, parents before children; with a limit, the newest ones."""
    if repository.size == 0:
        return iter(())
    newest = () if limit is None else (f"--max-count={limit}",)
    order = ("--reverse", "--topo-order", *newest)
    shape = ("-z", "--raw", "--no-renames", "--no-color", "--no-notes", f"--format={FORMAT}")
    return commits(stream_git(repository.path, "log", *order, *shape, "--encoding=UTF-8", "HEAD", "--"))


# -- remembering ---------------------------------------------------------------------------------------


@define
class Tally:
    """What a pass has done."""

    commits: int = 0
    created: int = 0
    known: int = 0
    changed: int = 0


class Historian:
    """Writes a history into a space, some hundred commits at a time.

    What it keeps between batches grows with people and places, not with commits.
    """

    def __init__(self, session: Session, repository: Repository, *, depth: int = 1, now: datetime) -> None:
        self.tally = Tally()
        self.touched: Counter[str] = Counter()
        self._session = session
        self._repository = repository
        self._depth = depth
        self._now = now
        self._authors = Authors()
        self._people: dict[str, str] = {}
        self._people_seen: dict[str, Author] = {}
        self._addresses: set[str] = set()
        self._places: dict[str, str] = {}
        self._repository_id = ""

    def read(
        self, history: Iterable[Commit], *, batch: int = 500, progress: Callable[[Tally], None] | None = None
    ) -> Tally:
        """One pass over a history; what an earlier pass has written is recognised by its external ids."""
        rest = iter(history)
        while page := list(islice(rest, batch)):
            self._remember_page(page)
            if progress is not None:
                progress(self.tally)
        self._add_late_aliases(batch)
        return self.tally

    def _remember(self, drafts: Sequence[Draft]) -> Sequence[Receipt]:
        if not drafts:
            return ()
        receipts = self._session.remember_many(drafts, batch=len(drafts)).receipts
        for receipt in receipts:
            if receipt.status == "duplicate":
                self.tally.known += 1
            else:
                self.tally.created += 1
        return receipts

    def _ids(self, drafts: Sequence[Draft]) -> list[str]:
        ids = []
        for receipt in self._remember(drafts):
            assert receipt.memory_id is not None
            ids.append(receipt.memory_id)
        return ids

    def _remember_page(self, page: Sequence[Commit]) -> None:
        authors = [self._authors.of(commit) for commit in page]
        places_of = [self._places_of(commit) for commit in page]
        self._remember_people(authors)
        self._remember_addresses(authors, page)
        self._remember_places(places_of, page)
        drafts = [
            commit_draft(
                commit,
                self._people[author.key],
                [self._places[place] for place, _ in touched.most_common()],
                self._now,
                cut_off=commit.sha in self._repository.cut_off,
            )
            for commit, author, touched in zip(page, authors, places_of, strict=True)
        ]
        self._remember(drafts)
        for touched in places_of:
            self.touched.update(touched.keys())
        self.tally.commits += len(page)

    def _places_of(self, commit: Commit) -> Counter[str]:
        # Where a shallow clone ends, git shows the whole tree as if that commit had added it.
        return Counter() if commit.sha in self._repository.cut_off else places(commit.paths, self._depth)

    def _remember_people(self, authors: Iterable[Author]) -> None:
        new = {author.key: author for author in authors if author.key not in self._people}
        ids = self._ids([person_draft(author) for author in new.values()])
        self._people.update(zip(new, ids, strict=True))
        self._people_seen.update(new)

    def _remember_addresses(self, authors: Sequence[Author], page: Sequence[Commit]) -> None:
        new: dict[str, Draft] = {}
        for author, commit in zip(authors, page, strict=True):
            for address in author.addresses:
                if address not in self._addresses and address not in new:
                    new[address] = contact_draft(address, self._people[author.key], commit.sha)
        self._remember(list(new.values()))
        self._addresses.update(new)

    def _remember_places(self, places_of: Iterable[Counter[str]], page: Sequence[Commit]) -> None:
        if not self._repository_id:
            self._repository_id = self._ids([self._repository_draft()])[0]
        new: dict[str, Draft] = {}
        for touched, commit in zip(places_of, page, strict=True):
            for place in touched:
                if place not in self._places and place not in new:
                    identity = self._repository.identity
                    new[place] = place_draft(place, identity, self._repository_id, commit.sha)
        self._places.update(zip(new, self._ids(list(new.values())), strict=True))

    def _repository_draft(self) -> Draft:
        identity = self._repository.identity
        return Draft(
            Asset(
                asset_type="repository",
                name=clip(identity.rstrip("/").rpartition("/")[2] or identity),
                uri=identity,
            ),
            external_ids=[("git-repository", clip(identity, 2_000))],
        )

    def _add_late_aliases(self, batch: int) -> None:
        """Names that turned up after their person was written; those that others gave him stay."""
        changed = (key for key, author in self._people_seen.items() if author.aliases)
        while keys := list(islice(changed, batch)):
            with self._session.batch() as together:
                for key in keys:
                    person = self._session.get(self._people[key], kind=Person)
                    had = person.attributes.aliases
                    known = {*had, person.attributes.full_name}
                    lacking = [alias for alias in self._people_seen[key].aliases if alias not in known]
                    if lacking and len(had) < NAMES_KEPT:
                        together.update(person, aliases=(*had, *lacking)[:NAMES_KEPT])
                        self.tally.changed += 1


def remember_history(
    space: MemorySpace,
    path: Path,
    *,
    limit: int | None = None,
    depth: int = 1,
    batch: int = 500,
    progress: Callable[[Tally], None] | None = None,
) -> Historian:
    """Reads the history of the repository at `path` into a space; returns the reader with its tally."""
    repository = open_repository(path)
    historian = Historian(
        space.session(user("historian"), client="git_history", record=False),
        repository,
        depth=depth,
        now=datetime.now(UTC),
    )
    historian.read(history(repository, limit), batch=batch, progress=progress)
    return historian


# -- asking --------------------------------------------------------------------------------------------


def place_called(view: View, name: str) -> Memory[Asset] | None:
    """The directory or file of that name; a directory is found with and without its closing slash."""
    for candidate in (name, name.rstrip("/") + "/"):
        for asset in view.find(kind="asset", where={"name": candidate}, limit=1):
            return asset
    return None


def who_worked_on(view: View, place: Memory[Asset]) -> list[tuple[str, int]]:
    """Names and how many commits of each touch a place, most first."""
    count: Counter[str] = Counter()
    for commit in view.find_all(kind="event", about=place):
        count.update(link.target for link in commit.links if link.relation == "involves")
    ranked = sorted(count.items(), key=lambda item: (-item[1], item[0]))
    return [(view.get(person).display_title, commits) for person, commits in ranked]


def around(view: View, start: datetime, end: datetime, *, limit: int = 10) -> list[Memory[Episode]]:
    """What happened from `start` until before `end`, in order."""
    found = view.find(kind="event", occurred=(start, end), limit=limit)
    return sorted(found, key=lambda memory: (memory.attributes.occurred_at or start, memory.id))


def grounds(view: View, memory: Memory[Episode]) -> list[str]:
    """Why the memory is believed: its evidence, and each change of how sure it is."""
    why = view.why(memory)
    lines = [f"{given.evidence.type} {given.evidence.value}, given by {given.actor}" for given in why.evidence]
    for change in why.confidence:
        before = "" if change.before is None else f" from {change.before:.2f}"
        lines.append(f"{change.type} by {change.actor}{before}: confidence {change.after:.2f}")
    return lines


def answer(view: View, historian: Historian, options: argparse.Namespace) -> None:
    """Prints the three answers."""
    favourite = next(iter(historian.touched.most_common(1)), ("", 0))[0]
    name = options.who or favourite
    if place := place_called(view, name):
        print(f"\nWho worked on {name}?")
        for person, count in who_worked_on(view, place)[:5]:
            print(f"  {count:>6,}  {person}")
    else:
        print(f"\nNothing is known of {name!r}.")

    newest = view.find(kind="event", tags=["commit"], order="occurred_at", descending=True, limit=1)
    latest = next(iter(newest), None)
    if options.around:
        start, end = options.around.start, options.around.end
    elif latest is not None and latest.attributes.occurred_at is not None:
        start = latest.attributes.occurred_at - timedelta(days=1)
        end = start + timedelta(days=1, microseconds=1)
    else:
        return
    print(f"\nWhat happened from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}?")
    events = around(view, start, end)
    for event in events:
        print(f"  {event.attributes.occurred_at:%Y-%m-%d}  {event.display_title}")

    believed = [hit.memory for hit in view.recall(options.why, limit=1)] if options.why else events[-1:]
    if options.why and not believed:
        print(f"\nNothing is known of {options.why!r}.")
    for memory in believed:
        print(f"\nWhy does the memory believe in {memory.display_title!r}?")
        for line in grounds(view, memory):
            print(f"  {line}")


# -- the command ---------------------------------------------------------------------------------------


def reporter(total: int) -> Callable[[Tally], None]:
    """A progress line for people, on the error stream; rewritten in place where that is a terminal."""
    start = time.perf_counter()
    end = "\r" if sys.stderr.isatty() else "\n"

    def report(tally: Tally) -> None:
        pace = tally.commits / max(time.perf_counter() - start, 1e-9)
        line = f"  {tally.commits:,} of {total:,} commits, {pace:,.0f} a second"
        print(line, end=end, file=sys.stderr, flush=True)

    return report


def natural(argument: str) -> int:
    """A whole number above 0, of the command line."""
    if not argument.isdecimal() or int(argument) < 1:
        raise argparse.ArgumentTypeError("must be a whole number, 1 or more")
    return int(argument)


def period(argument: str) -> Period:
    """A date of the command line, as the period that it means."""
    try:
        return when(argument, zone="UTC", now=datetime.now(UTC))
    except EngramError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line, read."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", nargs="?", type=Path, default=HERE, help="a git repository; else this clone")
    parser.add_argument("--space", type=Path, help="the file to remember in; without it, memory only")
    parser.add_argument("--limit", type=natural, help="read only so many of the newest commits")
    parser.add_argument("--depth", type=natural, default=1, help="how many levels of the tree become assets")
    parser.add_argument("--who", metavar="NAME", help="a directory or file: who worked on it?")
    parser.add_argument("--around", metavar="DATE", type=period, help="a day, a month or a year: what happened then?")
    parser.add_argument("--why", metavar="WORDS", help="words of a commit: why does the memory believe it?")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Reads a history and answers; returns 0, or 1 if there is no history to read or no place to keep it."""
    options = arguments(argv)
    try:
        repository = open_repository(options.path)
        total = min(repository.size, options.limit or repository.size)
        print(f"Reading {repository.identity}")
        with MemorySpace.open(options.space) if options.space else MemorySpace.in_memory() as space:
            historian = remember_history(
                space, options.path, limit=options.limit, depth=options.depth, progress=reporter(total)
            )
            tally = historian.tally
            print(f"{tally.commits:,} commits; {tally.created:,} memories are new, {tally.known:,} known.")
            if tally.commits == 0:
                print("The repository has no commits yet.")
                return 0
            assert tally.commits == total, "every commit is read once"
            answer(space.session(user("historian"), record=False), historian, options)
    except GitError as error:
        print(f"git: {error}", file=sys.stderr)
        return 1
    except EngramError as error:
        print(f"memory: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
