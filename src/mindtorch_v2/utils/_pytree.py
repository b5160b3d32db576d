"""``torch.utils._pytree``: nested containers as a list of leaves and a description of the nesting."""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .._absent import names_of

PyTree = Any
Context = Any
KeyPath = tuple[Any, ...]


class SequenceKey(NamedTuple):
    """A step of a path: into a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """A step of a path: into a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


class GetAttrKey(NamedTuple):
    """A step of a path: to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


class NodeDef(NamedTuple):
    """How a container type is taken apart and put together again."""

    type: type
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None
    serialized_type_name: str | None


SUPPORTED_NODES: dict[type, NodeDef] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Makes a class a container. Both or none of the two functions for dumping are given."""
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
        )
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn, serialized_type_name)


_register_pytree_node = _private_register_pytree_node = register_pytree_node


def _deregister_pytree_node(cls: type) -> None:
    """Makes a class a leaf again."""
    del SUPPORTED_NODES[cls]


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Makes a dataclass a container of those of its fields that are not None.

    Any class becomes one whose ``__init__`` takes ``field_names``; fields in ``drop_field_names`` are forgotten.
    """
    kept, dropped = field_names, drop_field_names or []
    if dataclasses.is_dataclass(cls):
        wanted = [field.name for field in dataclasses.fields(cls) if field.init]
        kept = [name for name in wanted if name not in dropped] if kept is None else kept
        for problem, names in (
            ("does not include all dataclass fields.\nMissing", {*wanted} - {*kept} - {*dropped}),
            ("includes non-dataclass fields.\nUnknown", {*kept} - {*wanted}),
        ):
            if names:
                raise ValueError(f"field_names {problem} fields in `field_names`: {names}.")
    elif kept is None:
        raise ValueError(
            f"field_names must be specified with a list of all fields used to initialize {cls}, "
            "as it is not a dataclass."
        )
    fields: list[str] = kept

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Any]:
        given = [name for name in fields if getattr(obj, name) is not None]
        pairs = [(GetAttrKey(name), getattr(obj, name)) for name in given]
        return pairs, [given, [name for name in fields if name not in given]]

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        pairs, context = flatten_with_keys(obj)
        return [value for _, value in pairs], context

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        given, none = context
        return cls(**dict(zip(given, values, strict=True)), **dict.fromkeys(none))

    register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """What a description of a nesting keeps of a constant."""

    value: Any


_constants: set[type] = set()


def register_constant(cls: type) -> None:
    """Makes values of a class parts of the nesting: containers of nothing, compared by ``==``."""
    for method in ("__eq__", "__hash__"):
        if getattr(cls, method) in (getattr(object, method), None):
            raise TypeError(
                f"register_constant(cls) expects `cls` to have a non-default `{method}` implementation."
            )
    register_pytree_node(
        cls,
        lambda value: ([], ConstantNode(value)),
        lambda values, context: context.value,
        flatten_with_keys_fn=lambda value: ([], ConstantNode(value)),
    )
    _constants.add(cls)


def is_constant_class(cls: type) -> bool:
    """Whether a class was given to register_constant."""
    return cls in _constants


# ---- the containers of Python ------------------------------------------------------------------------


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Any]:
    return list(d.values()), list(d.keys())


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], Any]:
    values, context = _dict_flatten(d)
    return [(MappingKey(key), value) for key, value in zip(context, values, strict=True)], context


def _dict_unflatten(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _sequence_with_keys(
    flatten: Callable[[Any], tuple[list[Any], Any]],
) -> Callable[[Any], tuple[list[tuple[Any, Any]], Any]]:
    def flatten_with_keys(sequence: Any) -> tuple[list[tuple[Any, Any]], Any]:
        values, context = flatten(sequence)
        return [(SequenceKey(index), value) for index, value in enumerate(values)], context

    return flatten_with_keys


def _list_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d), None


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d), type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Any) -> Any:
    return context(*values)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Any]:
    return [(GetAttrKey(name), value) for name, value in zip(d._fields, d, strict=True)], type(d)


def _defaultdict_flatten(d: Any) -> tuple[list[Any], Any]:
    values, keys = _dict_flatten(d)
    return values, [d.default_factory, keys]


def _defaultdict_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Any]:
    pairs, keys = _dict_flatten_with_keys(d)
    return pairs, [d.default_factory, keys]


def _defaultdict_unflatten(values: Iterable[Any], context: Any) -> Any:
    return defaultdict(context[0], _dict_unflatten(values, context[1]))


def _list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    return list(values)


def _tuple_unflatten(values: Iterable[Any], context: Any) -> tuple[Any, ...]:
    return tuple(values)


def _ordereddict_unflatten(values: Iterable[Any], context: Any) -> OrderedDict[Any, Any]:
    return OrderedDict(zip(context, values, strict=True))


def _deque_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d), d.maxlen


def _deque_unflatten(values: Iterable[Any], context: Any) -> Any:
    return deque(values, maxlen=context)


_tuple_flatten = _list_flatten
_ordereddict_flatten, _ordereddict_flatten_with_keys = _dict_flatten, _dict_flatten_with_keys
_deque_flatten_with_keys = _sequence_with_keys(_deque_flatten)
_list_flatten_with_keys = _tuple_flatten_with_keys = _sequence_with_keys(_list_flatten)
register_pytree_node(tuple, _tuple_flatten, _tuple_unflatten, serialized_type_name="builtins.tuple",
                     flatten_with_keys_fn=_tuple_flatten_with_keys)  # fmt: skip
register_pytree_node(list, _list_flatten, _list_unflatten, serialized_type_name="builtins.list",
                     flatten_with_keys_fn=_list_flatten_with_keys)  # fmt: skip
register_pytree_node(dict, _dict_flatten, _dict_unflatten, serialized_type_name="builtins.dict",
                     flatten_with_keys_fn=_dict_flatten_with_keys)  # fmt: skip
register_pytree_node(OrderedDict, _ordereddict_flatten, _ordereddict_unflatten,
                     serialized_type_name="collections.OrderedDict",
                     flatten_with_keys_fn=_ordereddict_flatten_with_keys)  # fmt: skip
register_pytree_node(namedtuple, _namedtuple_flatten, _namedtuple_unflatten,  # type: ignore[arg-type] # a function
                     serialized_type_name="collections.namedtuple",
                     flatten_with_keys_fn=_namedtuple_flatten_with_keys)  # fmt: skip
register_pytree_node(defaultdict, _defaultdict_flatten, _defaultdict_unflatten,
                     serialized_type_name="collections.defaultdict",
                     flatten_with_keys_fn=_defaultdict_flatten_with_keys)  # fmt: skip
register_pytree_node(deque, _deque_flatten, _deque_unflatten,
                     serialized_type_name="collections.deque",
                     flatten_with_keys_fn=_deque_flatten_with_keys)  # fmt: skip


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class was made by namedtuple or NamedTuple."""
    fields = getattr(cls, "_fields", None)
    return issubclass(cls, tuple) and isinstance(fields, tuple) and all(type(f) is str for f in fields)


def is_namedtuple(obj: Any) -> bool:
    """Whether an object, or a class, is a named tuple."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether a class is one of native code's named tuples, such as torch.return_types.max."""
    return cls.__bases__ == (tuple,) and isinstance(getattr(cls, "n_fields", None), int)


def is_structseq_instance(obj: Any) -> bool:
    """Whether an object is a named tuple of native code."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether an object, or a class, is a named tuple of native code."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _get_node_type(tree: Any) -> Any:
    kind = type(tree)
    if kind not in SUPPORTED_NODES:
        if is_namedtuple_class(kind):
            return namedtuple
        if is_structseq_class(kind) and kind.__module__ == "mindtorch_v2.return_types":
            register_pytree_node(
                kind, _list_flatten, lambda v, c: kind(v), flatten_with_keys_fn=_list_flatten_with_keys
            )
    return kind


# ---- descriptions of nestings ------------------------------------------------------------------------


class TreeSpec:
    """The nesting of a tree without its leaves. ``type`` None is a leaf."""

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_children = len(children_specs)
        self.num_nodes: int = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves: int = 1 if type is None else sum(child.num_leaves for child in children_specs)

    def is_leaf(self) -> bool:
        """Whether it describes a single leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The descriptions of what is directly inside."""
        return list(self.children_specs)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves."""
        values = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(values)} but the spec refers to a pytree "
                f"that holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(values))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        children = [child._build(leaves) for child in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of ``tree`` at the places where this description has leaves."""
        if self.type is None:
            return [tree]
        kind = _get_node_type(tree)
        if kind is not self.type:
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {kind!r}.")
        values, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(values) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(values)}.")
        if kind in (dict, OrderedDict, defaultdict):
            wanted = self.context[1] if kind is defaultdict else self.context
            if set(wanted) != set(tree):
                raise ValueError(f"Node keys mismatch; expected {list(wanted)}, but got {list(tree)}.")
            values = [tree[key] for key in wanted]
        elif context != self.context:
            raise ValueError(f"Node context mismatch for custom node type {kind!r}.")
        found: list[Any] = []
        for child, value in zip(self.children_specs, values, strict=True):
            found += child.flatten_up_to(value)
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self.context, self.children_specs) == (
            other.type,
            other.context,
            other.children_specs,
        )

    def __hash__(self) -> int:
        return hash((self.type, str(self.context), tuple(self.children_specs)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        lead = f"TreeSpec({self.type.__name__}, {self.context}, ["
        indent += 2
        children = (",\n" + " " * indent).join(child.__repr__(indent) for child in self.children_specs)
        return lead + children + "])"


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The description of a single leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def treespec_leaf() -> LeafSpec:
    """The description of a single leaf."""
    return _LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The description of a tuple of what is described."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The description of a dict of what is described."""
    children = dict(mapping, **kwargs)
    return TreeSpec(dict, list(children), list(children.values()))


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The nesting with a star for each leaf: ``(*, {'a': *})``."""
    return repr(treespec.unflatten([_Star()] * treespec.num_leaves))


_IsLeaf = Callable[[Any], bool] | None


# ---- walking -----------------------------------------------------------------------------------------


def tree_is_leaf(tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Whether a value is no container."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


def _flatten(tree: Any, leaves: list[Any], is_leaf: _IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    kind = _get_node_type(tree)
    values, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(value, leaves, is_leaf) for value in values])


def tree_flatten(tree: Any, is_leaf: _IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of nested containers, and what puts them back."""
    leaves: list[Any] = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The containers again, with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of "
            f"type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: _IsLeaf = None) -> Iterator[Any]:
    """The leaves, one after the other."""
    return iter(tree_leaves(tree, is_leaf))


def tree_leaves(tree: Any, is_leaf: _IsLeaf = None) -> list[Any]:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of the arguments of a call."""
    return tree_leaves((args, kwargs))


def tree_structure(tree: Any, is_leaf: _IsLeaf = None) -> TreeSpec:
    """What puts the leaves back."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None) -> Any:
    """The same containers with func of each leaf; of the leaves at the same place, if there are more trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(
        [func(*values) for values in zip(leaves, *map(spec.flatten_up_to, rests), strict=True)]
    )


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None) -> Any:
    """Calls func for each leaf and returns the tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for values in zip(leaves, *map(spec.flatten_up_to, rests), strict=True):
        func(*values)
    return tree


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[..., Any]], Callable[[Any], Any]]:
    """A decorator: the function is called for values of these types, others stay as they are."""
    wanted = type_or_types_or_pred
    is_kind = isinstance(wanted, (type, tuple)) or hasattr(wanted, "__args__")

    def decorate(func: Callable[..., Any]) -> Callable[[Any], Any]:
        @functools.wraps(func)
        def apply(value: Any) -> Any:
            return func(value) if (isinstance(value, wanted) if is_kind else wanted(value)) else value

        return apply

    return decorate


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: _IsLeaf = None
) -> Any:
    """tree_map for leaves of these types; others stay as they are."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: _IsLeaf = None
) -> Any:
    """tree_map_ for leaves of these types."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Whether all leaves are such."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Whether some leaf is such."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None
) -> bool:
    """Whether all leaves of these types are such."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None
) -> bool:
    """Whether some leaf of these types is such."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, type_or_types))


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: _IsLeaf = None) -> list[Any] | None:
    """A leaf for each of the description's: a leaf of ``tree`` stands for all below it. None: the nestings differ."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind = _get_node_type(tree)
    values, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if treespec.type is not kind or treespec.context != context or len(values) != treespec.num_children:
        return None
    found: list[Any] = []
    for value, child in zip(values, treespec.children_specs, strict=True):
        leaves = _broadcast_to_and_flatten(value, child, is_leaf)
        if leaves is None:
            return None
        found += leaves
    return found


# ---- with the way to each leaf -----------------------------------------------------------------------


def _flatten_with_path(path: KeyPath, tree: Any, is_leaf: _IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = SUPPORTED_NODES[_get_node_type(tree)]
    if node.flatten_with_keys_fn is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a "
                         "flatten_with_keys_fn argument to register_pytree_node.")  # fmt: skip
    for key, value in node.flatten_with_keys_fn(tree)[0]:
        yield from _flatten_with_path((*path, key), value, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: _IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves, each with the keys that lead to it."""
    return list(_flatten_with_path((), tree, is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: _IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """tree_flatten with the keys that lead to each leaf."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None) -> Any:
    """tree_map whose function also gets the keys that lead to the leaf, first."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = map(spec.flatten_up_to, rests)
    return spec.unflatten([func(*pair, *rest) for pair, *rest in zip(pairs, *others, strict=True)])


def keystr(kp: KeyPath) -> str:
    """The keys as Python would write them."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What the keys lead to."""
    for key in kp:
        obj = key.get(obj)
    return obj


__getattr__ = names_of(__name__)
