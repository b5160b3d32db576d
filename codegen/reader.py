"""Files of the table as mappings whose keys and texts know their line."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import yaml

ROOT = Path(__file__).resolve().parent.parent
LONGEST_LINE = 120
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True)
class Location:
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class TableError(ValueError):
    """What cannot be used of the table, a line each: where it stands, what it is, what was wanted."""


class Text(str):
    """A text of the table."""

    location: Location

    def __new__(cls, text: str, location: Location) -> Text:
        made = super().__new__(cls, text)
        made.location = location
        return made


class Entry:
    """A mapping of the table. `name` says in messages which operator it describes."""

    def __init__(self, file: str, node: yaml.Node, name: str = "") -> None:
        self.file = file
        self.name = name
        self.location = Location(file, node.start_mark.line + 1)
        self._nodes: dict[str, yaml.Node] = {}
        self._keys: dict[str, Text] = {}
        if not isinstance(node, yaml.MappingNode):
            self.fail("wanted keys and their values")
        for key, value in node.value:
            word = Text(str(key.value), Location(file, key.start_mark.line + 1))
            if word in self._keys:
                self.fail(f"the key {word!r} stands here twice", word)
            self._keys[word] = word
            self._nodes[word] = value

    @property
    def area(self) -> str:
        """The stem of its file: the name that it has in every layer."""
        return Path(self.file).stem

    def fail(self, problem: str, at: str = "") -> NoReturn:
        """Refuses the entry, at the line of a key or of a text of it."""
        where = at.location if isinstance(at, Text) else self._keys[at].location if at else self.location
        raise TableError(f"{where}: {self.name}: {problem}" if self.name else f"{where}: {problem}")

    def over(self, head: Entry, keys: tuple[str, ...]) -> Entry:
        """This entry with those keys of a file's head that it does not have itself."""
        made = copy.copy(self)
        taken = [key for key in keys if key in head and key not in self]
        made._nodes = self._nodes | {key: head._nodes[key] for key in taken}
        made._keys = self._keys | {key: head._keys[key] for key in taken}
        return made

    def __contains__(self, key: str) -> bool:
        return key in self._nodes

    def __iter__(self) -> Iterator[Text]:
        return iter(self._keys.values())

    def text(self, key: str) -> Text | None:
        """The value of a key; None where it is absent or null."""
        node = self._nodes.get(key)
        if node is None or node.tag.endswith(":null"):
            return None
        if not isinstance(node, yaml.ScalarNode):
            self.fail(f"{key}: wanted one value", key)
        return Text(node.value, self._keys[key].location)

    def word(self, key: str, known: tuple[str, ...], default: str = "") -> str:
        """One of the known words."""
        text = self.text(key)
        if text is not None and text not in known:
            self.fail(f"unknown {key} {text!r}; known: {', '.join(known)}", key)
        return default if text is None else str(text)

    def words(self, key: str, known: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list of words."""
        node = self._nodes.get(key)
        if node is None:
            return ()
        if not isinstance(node, yaml.SequenceNode) or not all(
            isinstance(item, yaml.ScalarNode) for item in node.value
        ):
            self.fail(f"{key}: wanted a list such as [{', '.join(known[:2]) or 'name'}]", key)
        words = tuple(str(item.value) for item in node.value)
        for word in words:
            if known and word not in known:
                self.fail(f"unknown word {word!r} in {key}; known: {', '.join(known)}", key)
        return words

    def flag(self, key: str, default: bool = False) -> bool:
        return _FLAGS[self.word(key, tuple(_FLAGS), str(default).lower())]

    def entry(self, key: str) -> Entry:
        """A mapping inside this one."""
        if not isinstance(self._nodes[key], yaml.MappingNode):
            self.fail(f"{key}: wanted keys and their values", key)
        return Entry(self.file, self._nodes[key], self.name)

    def is_mapping(self, key: str) -> bool:
        return isinstance(self._nodes.get(key), yaml.MappingNode)

    def entries(self, key: str) -> list[Entry]:
        """A list of mappings."""
        node = self._nodes.get(key)
        if not isinstance(node, yaml.SequenceNode):
            self.fail(f"wanted a list under {key}:", key if node else "")
        return [Entry(self.file, item) for item in node.value]


def read(path: Path) -> Entry:
    """A file of the table; messages name it as people do: ops/binary.yaml."""
    file = f"{path.parent.name}/{path.name}"
    text = path.read_text()
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONGEST_LINE:
            raise TableError(
                f"{file}:{number}: {len(line)} columns, wanted at most {LONGEST_LINE}: break it, a text with >-"
            )
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{file}:{mark.line + 1}: column {mark.column + 1}" if mark else file
        raise TableError(f"{where}: not YAML: {error.problem}") from error
    if node is None:
        raise TableError(f"{file}:1: the file is empty")
    return Entry(file, node)
