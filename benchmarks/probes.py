"""Invented conversations of four kinds, to see that no part of the recipe of recall harms any of them.

    python -m benchmarks.probes [SEED ...]

Two friends who talk for months; a user and an assistant; assistants that answer at length; friends who write Chinese.
Each is put in as its author would, a session a day and a person for each speaker, and asked in other words.
Beside the recipe stand hand-written FTS5 and the recipe with each of its parts left out.
The figures say nothing about how good recall is, for the texts are made of patterns; they only compare.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from attrs import evolve

from engram_core import Draft, Fact, MemorySpace, Person, Policy, user
from engram_core.analysis import STOP_WORDS
from engram_core.testing import FrozenClock


def _words(text: str) -> list[str]:
    return text.split()


START = datetime(2025, 1, 6, 18, tzinfo=UTC)
_STATEMENT, _OPENING = 500, 80


class Turn(NamedTuple):
    """What somebody said on a day."""

    day: int
    speaker: str
    text: str


class Probe(NamedTuple):
    """Turns in order, and questions with the number of the turn that answers each."""

    turns: list[Turn]
    questions: list[tuple[str, int]]


_BARE = {"pair": 0.0, "passage": 0.0, "context": 0.0, "named": 0.0, "dated": 0.0}

PARTS: dict[str, dict[str, Any]] = {
    "the recipe": {},
    "without pairs": {"pair": 0.0},
    "without passages": {"passage": 0.0},
    "without the session": {"context": 0.0},
    "without names": {"named": 0.0},
    "without dates": {"dated": 0.0},
    "BM25 alone": _BARE,
    "BM25 of long texts": {**_BARE, "saturation": 1.2, "length": 0.75},
}

# what may be told: how it is said, how another says it after being asked, and how it is asked about later
_EVENTS = (
    ("I finally signed up for {x} lessons at the community centre", "So, what are you learning these days?",
     "Mostly {x}, badly but with joy", "What hobby is {who} taking classes in?"),
    ("My sister moved to {x} last weekend, we carried boxes all day", "Where does your sister live now?",
     "She settled in {x}, near the river", "Which city did {who}'s sister relocate to?"),
    ("The vet says {x} has to lose some weight", "How is your pet doing?",
     "{x} is limping a little, poor thing", "What is the name of {who}'s pet?"),
    ("I got the offer from {x} and start in a month", "Any news on the job hunt?",
     "Yes! I accepted the position at {x}", "Which company hired {who}?"),
    ("We painted the hallway {x} and regret nothing", "Did you choose a colour for the hallway?",
     "{x}, and it looks wonderful in the evening light", "What colour are the walls in {who}'s corridor?"),
    ("I am allergic to {x}, learned it the hard way at a wedding", "Is there anything you cannot eat?",
     "Only {x}, my throat swells up at once", "What food must {who} avoid?"),
    ("For the trip we rented a {x} and slept in it", "How did you get around on your holiday?",
     "In a borrowed {x} with a broken radio", "What vehicle did {who} travel with?"),
    ("I am reading {x} for the second time", "Which book is on your table?",
     "{x}, I cannot put it down", "What novel was {who} reading?"),
    ("Grandpa gave me his old {x} before he died", "What did you inherit in the end?",
     "His {x}; it still smells of his workshop", "What heirloom did {who} get from the grandfather?"),
    ("I volunteer at the {x} shelter on Sundays", "What keeps you busy at weekends?",
     "Helping out at the {x} shelter, mainly cleaning", "Where does {who} do unpaid work?"),
)  # fmt: skip
_THINGS = (
    _words("cello pottery archery fencing ballet welding calligraphy salsa judo falconry origami beekeeping"),
    _words("Porto Bergen Lyon Tampere Graz Ghent Cork Malaga Tartu Krakow Basel Trieste"),
    _words("Biscuit Pepper Nimbus Waffle Mango Ziggy Olive Cosmo Pickle Hazel Rufus Tofu"),
    _words("Northwind Acmetron Bluefin Larkspur Quillworks Ferrovia Halcyon Mintleaf Ostrava Pinecone Redwood"),
    _words("turquoise mustard lavender terracotta ivory emerald coral charcoal peach indigo maroon olive-green"),
    _words("walnuts shellfish sesame celery mustard lupin peanuts strawberries soy gluten eggs kiwi"),
    _words("campervan tandem motorbike minivan canoe jeep scooter caravan sailboat tractor rickshaw kayak"),
    _words("Middlemarch Dune Emma Beloved Ulysses Persuasion Solaris Siddhartha Rebecca Dracula Frankenstein Kim"),
    _words("accordion typewriter telescope pocketwatch lathe compass camera barometer violin sextant gramophone"),
    _words("hedgehog donkey greyhound parrot tortoise rabbit pony ferret goat owl squirrel swan"),
)  # fmt: skip
_TALK = (
    "That sounds lovely, tell me more!", "Haha, I can picture it.", "Wow, good for you!",
    "I know exactly what you mean.",
    "How was your week?", "Busy as ever, but I cannot complain.", "The weather has been awful here.",
    "We should meet for coffee soon.", "I slept badly, the neighbours had a party.", "Take care of yourself!",
    "My boss keeps moving the deadline.", "The kids are growing so fast.", "I am so proud of you.",
    "Did you watch the match yesterday?", "Not yet, maybe on Friday.", "Thanks for listening, it means a lot.",
    "I tried a new soup recipe, it was fine.", "The train was late again this morning.", "Sounds like a plan!",
    "Let us talk again next week.", "I took the dog-eared map along, just in case.", "What else is new with you?",
)  # fmt: skip


def friends(rng: random.Random) -> Probe:
    """Two friends: small talk, things told at once, things told when asked."""
    names = rng.sample(("Maren", "Tobias", "Ingrid", "Ruben", "Salma", "Dmitri", "Priya", "Oskar"), 2)
    turns: list[Turn] = []
    questions: list[tuple[str, int]] = []
    plan = [(topic, who) for topic in range(len(_EVENTS)) for who in (0, 1) for _ in range(2)]
    rng.shuffle(plan)
    asked_twice = {pair for pair in plan if plan.count(pair) > 1}
    for day, at in enumerate(range(0, len(plan), 2)):
        for topic, who in plan[at : at + 2]:
            _small_talk(rng, turns, day, names)
            told, asked, answer, question = _EVENTS[topic]
            thing = rng.choice(_THINGS[topic])
            if rng.random() < 0.5:
                turns.append(Turn(day, names[who], told.format(x=thing) + "."))
            else:
                turns.append(Turn(day, names[1 - who], asked))
                turns.append(Turn(day, names[who], answer.format(x=thing) + "."))
            if (topic, who) in asked_twice:
                when = START + timedelta(days=5 * day)
                question = f"{question[:-1]}, as told on {when.day} {when:%B %Y}?"
            questions.append((question.format(who=names[who]), len(turns) - 1))
        _small_talk(rng, turns, day, names)
    return Probe(turns, questions)


def _small_talk(rng: random.Random, turns: list[Turn], day: int, names: Sequence[str]) -> None:
    turns += [
        Turn(day, names[number % 2], " ".join(rng.sample(_TALK, rng.randint(1, 2))))
        for number in range(rng.randint(2, 5))
    ]


# a request, the name of the matter, how its answer is asked for
_REQUESTS = (
    ("Can you suggest a {k} for {m}?", "Which {k} was suggested for {m}?"),
    ("I need help picking a {k}, it is for {m}.", "What did you recommend as {k} when I was planning {m}?"),
    ("What would be a sensible {k} in the case of {m}?", "Remind me which {k} you proposed for {m}"),
)
_KINDS = _words("library framework recipe route exercise database font plant gift podcast tent lens")
_MATTERS = (
    "my balcony garden", "parsing log files", "a marathon in the heat", "grandmother's birthday",
    "a rainy weekend in Ghent", "a shop with ten thousand products", "sleeping better", "a wedding invitation",
    "night photography", "learning verbs", "moving house with cats", "a talk about whales", "repairing a leaking tap",
    "a budget of forty euro", "backing up photos", "teaching fractions",
)  # fmt: skip
_ADVICE = (
    "It is worth keeping the basics in mind before you decide.",
    "Many people start with the obvious option and change later.",
    "There are a few trade-offs between cost, effort and quality.",
    "Make sure that you test it on a small scale first.",
    "If your situation is different, tell me more and I can adapt the answer.",
    "Note that results vary, so treat this as a starting point.",
    "Remember to write down what works for you.",
    "In general, a simple setup beats a complicated one.",
    "You could also ask someone with experience in your area.",
    "As always, check the instructions of the manufacturer.",
    "Set aside some time each week, and review how it goes.",
    "The community has strong opinions on this, and most of them are partly right.",
)
_NAMES = _words(
    "Ardenne Belgrove Calypso Drayton Evermore Fennimore Galloway Hawthorn Ibsen Juniper Kestrel Lindqvist Marlowe"
    " Nettle Oberon Pemberton Quince Rosalind Sandpiper Thistle Umberto Valerian Wexford Yarrow Zephyr"
)


def chats(rng: random.Random) -> Probe:
    """A user and an assistant: requests, answers of a paragraph, and now and then what the user tells of himself."""
    return _requests(rng, lambda tip, kind: " ".join(_paragraph(rng, tip, kind, 5)))


def essays(rng: random.Random) -> Probe:
    """The same with answers of some hundred words under headings, the advice somewhere in them."""

    def essay(tip: str, kind: str) -> str:
        sections = rng.randint(4, 9)
        place = rng.randrange(sections)
        parts = []
        for number in range(sections):
            said = _paragraph(rng, tip if number == place else "", kind, 6)
            parts.append(f"## {number + 1}. {rng.choice(('Overview', 'Options', 'Steps', 'Pitfalls', 'Summary'))}")
            parts.append("\n".join(f"- {line}" for line in said) if rng.random() < 0.4 else " ".join(said))
        return "\n\n".join(parts)

    return _requests(rng, essay)


def _requests(rng: random.Random, answer: Callable[[str, str], str]) -> Probe:
    turns: list[Turn] = []
    questions: list[tuple[str, int]] = []
    pairs = [(kind, matter) for kind in _KINDS for matter in _MATTERS]
    for number, (kind, matter) in enumerate(rng.sample(pairs, 70)):
        day = number // 4
        request, question = rng.choice(_REQUESTS)
        tip = rng.choice(_NAMES)
        if rng.random() < 0.4:
            topic = rng.randrange(len(_EVENTS))
            told = _EVENTS[topic][0]
            turns.append(Turn(day, "user", told.format(x=rng.choice(_THINGS[topic])) + ". " + rng.choice(_TALK)))
            turns.append(Turn(day, "assistant", " ".join(rng.sample(_ADVICE, 3))))
        turns.append(Turn(day, "user", request.format(k=kind, m=matter)))
        turns.append(Turn(day, "assistant", answer(tip, kind)))
        questions.append((question.format(k=kind, m=matter), len(turns) - 1))
        questions.append((f"In which connection was {tip} mentioned as a {kind}?", len(turns) - 1))
    return Probe(turns, questions)


def _paragraph(rng: random.Random, tip: str, kind: str, sentences: int) -> list[str]:
    said = rng.sample(_ADVICE, sentences)
    if tip:
        said.insert(rng.randint(0, sentences), f"I would go with {tip}, which is a {kind} that rarely disappoints.")
    return said


_ZH_EVENTS = (
    ("我最近开始学{x}了,每周两次课", "你最近在学什么?", "在学{x},很有意思", "{who}在上什么兴趣班?"),
    ("我姐姐上个周末搬到{x}去了", "你姐姐现在住在哪里?", "她搬去{x}了,离公司很近", "{who}的姐姐搬到了哪个城市?"),
    ("我家的猫叫{x},特别黏人", "你家宠物怎么样?", "{x}最近有点感冒", "{who}的宠物叫什么名字?"),
    ("我拿到{x}的录用通知了,下个月入职", "找工作有消息吗?", "有,我接受了{x}的工作", "哪家公司录用了{who}?"),
    ("我对{x}过敏,吃了就起疹子", "你有什么不能吃的吗?", "不能吃{x},会过敏", "{who}不能吃什么食物?"),
    ("我正在读{x},已经第二遍了", "你桌上那本是什么书?", "是{x},放不下来", "{who}在看哪本小说?"),
    ("爷爷把他的{x}留给我了", "你继承了什么?", "他的{x},我很珍惜", "{who}从爷爷那里得到了什么?"),
    ("我们这次旅行是坐{x}去的", "你们怎么去的?", "坐{x},一路风景很好", "{who}旅行用了什么交通工具?"),
)
_ZH_THINGS = (
    _words("大提琴 陶艺 射箭 击剑 书法 柔道 萨克斯 油画"),
    _words("成都 杭州 厦门 西安 昆明 青岛 苏州 大连"),
    _words("咪咪 豆豆 毛球 布丁 阿黄 可乐 年糕 芝麻"),
    _words("华星科技 蓝海银行 北辰设计 云帆物流 金杉软件 百川出版社 南山医院 东方电力"),
    _words("花生 虾 芒果 牛奶 鸡蛋 荞麦 螃蟹 桃子"),
    _words("红楼梦 三体 活着 围城 边城 骆驼祥子 白鹿原 平凡的世界"),
    _words("手表 相机 二胡 望远镜 打字机 棋盘 收音机 毛笔"),
    _words("高铁 房车 轮船 摩托车 飞机 自行车 大巴 热气球"),
)
_ZH_TALK = (
    "哈哈,真有意思", "太好了,恭喜你!", "今天天气真不好", "我们下次一起喝咖啡吧", "最近工作好忙啊", "孩子长得真快",
    "昨晚没睡好,邻居太吵了", "周末你有空吗?", "还没想好,再说吧", "谢谢你听我说这些", "地铁今天又晚点了",
    "明白,我也是这样想的",
    "你看昨天的比赛了吗?", "多注意身体", "我学了一道新菜,味道还行", "老板又改了截止日期", "最近还好吗?",
    "一切都好,就是有点累",
)  # fmt: skip


def chinese(rng: random.Random) -> Probe:
    """Two friends who write Chinese, without blanks."""
    names = rng.sample(("小明", "王芳", "李强", "陈静", "张伟", "刘洋"), 2)
    turns: list[Turn] = []
    questions: list[tuple[str, int]] = []
    plan = [(topic, who) for topic in range(len(_ZH_EVENTS)) for who in (0, 1)]
    rng.shuffle(plan)
    for day, (topic, who) in enumerate(plan):
        told, asked, answer, question = _ZH_EVENTS[topic]
        thing = rng.choice(_ZH_THINGS[topic])
        turns += [
            Turn(day // 2, names[number % 2], "。".join(rng.sample(_ZH_TALK, rng.randint(1, 2))))
            for number in range(rng.randint(4, 9))
        ]
        if rng.random() < 0.5:
            turns.append(Turn(day // 2, names[who], told.format(x=thing)))
        else:
            turns.append(Turn(day // 2, names[1 - who], asked))
            turns.append(Turn(day // 2, names[who], answer.format(x=thing)))
        questions.append((question.format(who=names[who]), len(turns) - 1))
    return Probe(turns, questions)


KINDS: dict[str, Callable[[random.Random], Probe]] = {
    "friends": friends,
    "chats": chats,
    "long answers": essays,
    "Chinese": chinese,
}


def filled(turns: Sequence[Turn], policy: Policy) -> tuple[MemorySpace, dict[str, int]]:
    """A space with these turns, and which memory holds which of them."""
    space = MemorySpace.in_memory(policy=policy, clock=FrozenClock(START + timedelta(days=500)))
    people = {
        name: str(space.session(user("probe")).remember(Person(full_name=name)).memory_id)
        for name in dict.fromkeys(turn.speaker for turn in turns)
    }
    places: dict[str, int] = {}
    for place, (day, speaker, text) in enumerate(turns):
        at = START + timedelta(days=5 * day, minutes=place)
        session = space.session(user("probe"), session_id=f"{at:%Y-%m-%d}")
        opening, content = (text, "") if len(text) <= _STATEMENT else (text[:_OPENING], text)
        draft = Draft(
            Fact(statement=opening),
            content=content,
            links=[("about", people[speaker])],
            occurred_at=at,
            on_duplicate="create",
            similar=False,
        )
        places[str(session.remember_many([draft]).receipts[0].memory_id)] = place
    return space, places


def plain(turns: Sequence[Turn]) -> Callable[[str], list[int]]:
    """FTS5 as one would write it by hand."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter unicode61')")
    db.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", [(n, turn.text) for n, turn in enumerate(turns)])

    def search(question: str) -> list[int]:
        words = "".join(c if c.isalnum() else " " for c in question).split()
        asked = [word for word in words if word.lower() not in STOP_WORDS] or words
        found = db.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 10",
            (" OR ".join(f'"{word}"' for word in asked),),
        )
        return [row for (row,) in found]

    return search


def measured(seeds: Sequence[int]) -> dict[str, dict[str, list[float]]]:
    """Recall and reciprocal rank at 10 by kind and by system, over all seeds."""
    found: dict[str, dict[str, list[float]]] = {}
    for kind, make in KINDS.items():
        probes = [make(random.Random(f"{kind} {seed}")) for seed in seeds]
        found[kind] = {"FTS5 by hand": _figures((probe, plain(probe.turns)) for probe in probes)}
        for name, weights in PARTS.items():
            found[kind][name] = _figures((probe, _asker(probe, weights)) for probe in probes)
    return found


def _asker(probe: Probe, weights: dict[str, Any]) -> Callable[[str], list[int]]:
    policy = Policy()
    space, places = filled(probe.turns, evolve(policy, recall=evolve(policy.recall, **weights)))
    session = space.session(user("probe"), record=False)
    return lambda question: [places[hit.id] for hit in session.recall(question, kind="fact")]


def _figures(asked: Iterator[tuple[Probe, Callable[[str], list[int]]]]) -> list[float]:
    ranks = []
    for probe, search in asked:
        for question, place in probe.questions:
            hits = search(question)
            ranks.append(1 / (hits.index(place) + 1) if place in hits else 0.0)
    return [sum(map(bool, ranks)) / len(ranks), sum(ranks) / len(ranks)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="*", type=int, default=[1, 2, 3])
    parser.add_argument("--json", help="a file whose figures under `probes` are replaced")
    chosen = parser.parse_args()
    found = measured(chosen.seeds)
    for kind, systems in found.items():
        sys.stdout.write(f"{kind}\n")
        for name, (recall, rank) in systems.items():
            sys.stdout.write(f"    {name:<22}R@10 {recall:.3f}   MRR@10 {rank:.3f}\n")
    if chosen.json:
        file = Path(chosen.json)
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        file.write_text(json.dumps({**known, "probes": found}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
