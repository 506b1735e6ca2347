"""Checks an erasure's certificate against the file, with the standard library alone: `problems` is all there is to it.

`python check_certificate.py brain.db certificate.json` checks yours; without arguments it makes one, and a false one.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from sqlite3 import connect
from typing import Any
from uuid import UUID

COLUMNS = (
    "position, stream, version, id, type, schema_version, coalesce(owner, stream), lower(hex(commitment)),"
    " occurred_at, recorded_at, actor_kind, coalesce(batch, id), causation, command, data, link"
)


def problems(file: Path, certificate: dict[str, Any]) -> list[str]:
    """What does not agree: payloads, commitments, the chain over them, and what the certificate names."""
    found: list[str] = []
    named = {event["position"]: event for memory in certificate["erased"] for event in memory["events"]}
    with closing(connect(f"{Path(file).resolve().as_uri()}?mode=ro", uri=True)) as database:
        (store,) = database.execute("SELECT store_id FROM head").fetchone()
        if store != certificate["store_id"]:
            return [f"the file is the store {store}, not {certificate['store_id']}"]
        link = sha256(b"engram_core/1/" + UUID(store).bytes).digest()
        digest = sha256(link)
        for row in database.execute(f"SELECT {COLUMNS} FROM events ORDER BY position"):
            position, commitment, data, stored = row[0], row[7], row[14], row[15]
            event = named.pop(position, None)
            erased = data == certificate["marker"]
            if event and (
                not erased or (row[3], row[4], commitment) != (event["id"], event["type"], event["commitment"])
            ):
                found.append(f"position {position} is not the erased event that is named")
            if not erased and sha256(data.encode()).hexdigest() != commitment:
                found.append(f"position {position} does not hold what was committed")
            digest.update(b"\n" + json.dumps(row[:14], separators=(",", ":")).encode())
            if stored is not None:
                link = digest.digest()
                digest = sha256(link)
                if link != stored:
                    found.append(f"the chain breaks at position {position}")
            if position == certificate["anchor"]["position"] and link.hex() != certificate["anchor"]["link"]:
                found.append("the chain is not the one that was certified")
    return found + [f"position {position} is missing" for position in named]


def demonstrate() -> None:
    """Erases a memory, checks the certificate, and checks one that claims more than was erased."""
    from engram_core import Fact, MemorySpace, user

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "brain.db"
        with MemorySpace.open(file) as space:
            ann = space.session(user("ann"))
            secret = ann.remember(Fact(statement="Alice has a secret"), tags=("secret",))
            ann.edit(secret, content="It is a good one.")
            kept = ann.remember(Fact(statement="Alice lives in Oslo"))
            certificate = json.loads(json.dumps(ann.erase(secret).certificate))
            ann.confirm(kept)
        assert b"a good one" not in file.read_bytes()
        assert [] == problems(file, certificate)
        print(f"{len(certificate['erased'][0]['events'])} payloads are gone, and the chain holds.")
        certificate["erased"][0]["events"][0]["position"] = 3
        (refuted,) = problems(file, certificate)
        print(f"A false certificate: {refuted}.")


def main(argv: Sequence[str] | None = None) -> int:
    """Takes a file and a certificate; nothing, to demonstrate."""
    if not argv:
        demonstrate()
        return 0
    file, certificate = map(Path, argv)
    found = problems(file, json.loads(certificate.read_text()))
    print("\n".join(found) or "The certificate holds.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
