"""Tree ensembles: tables of nodes, and as many steps of Gather as the deepest tree has.

Each step moves every tree from a node to a child. Children are neighbours: the second one is taken
where the input is greater than the threshold. A leaf is its own child: the constant `ALWAYS_LESS`,
appended to the inputs, is compared with the leaf's value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from pyevm_agents.models.numeric.convert.options import ConversionError
from pyevm_agents.models.numeric.convert.quantised import (
    Quantised,
    Rescaling,
    choose_scale,
    clip,
    object_array,
    rescale,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.models.numeric.convert.float_graph import FloatNode
    from pyevm_agents.models.numeric.convert.writer import IntegerWriter

ALWAYS_LESS = -(2**31)
"""Less than every leaf's value, which an int32 holds."""

LEAF_BITS = 31
"""Bits of a leaf's value, its sign included; one less than an int32, below `ALWAYS_LESS`."""

MAX_GUARD_BITS = 10
"""Bits of a leaf's value beyond the result's last decimal: 1,000 trees' rounding is below 1."""

SWAPPED = {"BRANCH_GTE": "BRANCH_LT", "BRANCH_GT": "BRANCH_LEQ"}
MODES = ("BRANCH_LEQ", "BRANCH_LT", *SWAPPED)
MODE_NUMBERS = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ",
                "BRANCH_MEMBER")  # fmt: skip
"""Modes of the operator TreeEnsemble by number. Source: ai.onnx.ml, version 5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Trees of a float model: nodes with two children, or leaves with values of targets."""

    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    is_strict: np.ndarray
    """Whether the first child is that of `x < threshold` rather than `x <= threshold`."""

    children: np.ndarray
    """Nodes by two; a leaf's are -1."""

    leaf_values: np.ndarray
    """Nodes by targets."""

    base: np.ndarray
    transform: str
    is_classifier: bool
    is_binary: bool
    """Whether one score stands for two classes."""


def read_forest(node: FloatNode, dtype: np.dtype) -> Forest:
    """Return the trees of a node of ai.onnx.ml.

    Raises: ConversionError: a mode or an aggregation that is not supported.
    """
    aggregate = node.attributes.get("aggregate_function", b"SUM")
    if aggregate not in {b"SUM", b"AVERAGE", "SUM", 0, 1}:
        raise ConversionError(f"aggregation of {node.operator}: must be SUM or AVERAGE")
    is_new = node.operator == "TreeEnsemble"
    forest = _read_indexed(node, dtype) if is_new else _read_keyed(node, dtype)
    if aggregate in {b"AVERAGE", "AVERAGE", 0} and (not is_new or aggregate == 0):
        return replace(forest, leaf_values=forest.leaf_values / len(forest.roots))
    return forest


def _require(node: FloatNode, name: str, alternative: str = "") -> np.ndarray:
    """Return an attribute; lists of doubles have a name of their own."""
    for each in (name, alternative):
        array = node.get_array(each) if each else None
        if array is not None:
            return array
    raise ConversionError(f"{node.operator} without {name}: not supported")


def _read_keyed(node: FloatNode, dtype: np.dtype) -> Forest:
    """Read TreeEnsembleRegressor and TreeEnsembleClassifier: nodes named by tree and number."""
    is_classifier = node.operator == "TreeEnsembleClassifier"
    prefix = "class" if is_classifier else "target"
    trees, numbers = _require(node, "nodes_treeids"), _require(node, "nodes_nodeids")
    place = {key: at for at, key in enumerate(zip(trees.tolist(), numbers.tolist(), strict=True))}
    modes = [each.decode() if isinstance(each, bytes) else str(each)
             for each in node.attributes.get("nodes_modes", [])]  # type: ignore[attr-defined]  # fmt: skip
    count = len(modes)
    branch = [_require(node, f"nodes_{name}nodeids").tolist() for name in ("true", "false")]
    children = np.full((count, 2), -1)
    for at, mode in enumerate(modes):
        if mode == "LEAF":
            continue
        _check_mode(mode)
        pair = [place[int(trees[at]), side[at]] for side in branch]
        children[at] = pair[::-1] if mode in SWAPPED else pair
    owners = zip(_require(node, f"{prefix}_treeids").tolist(),
                 _require(node, f"{prefix}_nodeids").tolist(), strict=True)  # fmt: skip
    targets = _require(node, f"{prefix}_ids")
    weights = _require(node, f"{prefix}_weights", f"{prefix}_weights_as_tensor")
    width, is_binary = _count_targets(node, targets)
    values = np.zeros((count, width))
    for owner, target, weight in zip(owners, targets.tolist(), weights.tolist(), strict=True):
        values[place[owner], 0 if is_binary else target] += weight
    _, first = np.unique(trees, return_index=True)
    return Forest(
        roots=np.sort(first),
        feature=_require(node, "nodes_featureids"),
        threshold=_require(node, "nodes_values", "nodes_values_as_tensor").astype(dtype),
        is_strict=np.array([SWAPPED.get(mode, mode) == "BRANCH_LT" for mode in modes]),
        children=children,
        leaf_values=values,
        base=_read_base(node, width),
        transform=node.get_text("post_transform", "NONE"),
        is_classifier=is_classifier,
        is_binary=is_binary,
    )


def _count_targets(node: FloatNode, targets: np.ndarray) -> tuple[int, bool]:
    """Return the number of scores, and whether one stands for two classes."""
    if node.operator == "TreeEnsembleRegressor":
        return node.get_int("n_targets", 1), False
    classes = node.get_array("classlabels_int64s")
    if classes is None:
        classes = _require(node, "classlabels_strings")
    is_binary = len(classes) <= 2 and len(set(targets.tolist())) == 1  # noqa: PLR2004 - two classes
    return (1 if is_binary else len(classes)), is_binary


def _read_base(node: FloatNode, width: int) -> np.ndarray:
    base = node.get_array("base_values")
    if base is None:
        base = node.get_array("base_values_as_tensor")
    if base is None or not len(base):
        return np.zeros(width)
    return base[-width:].astype(np.float64)


def _check_mode(mode: str) -> None:
    if mode not in MODES:
        raise ConversionError(f"mode {mode} of a tree's node: must be one of {', '.join(MODES)}")


def _read_indexed(node: FloatNode, dtype: np.dtype) -> Forest:
    """Read TreeEnsemble: children by index, leaves in lists of their own."""
    modes = [MODE_NUMBERS[int(each)] for each in _require(node, "nodes_modes")]
    for mode in modes:
        _check_mode(mode)
    count = len(modes)
    leaf_weights = _require(node, "leaf_weights")
    sides = []
    for name in ("true", "false"):
        index = _require(node, f"nodes_{name}nodeids")
        is_leaf = _require(node, f"nodes_{name}leafs") != 0
        sides.append(np.where(is_leaf, index + count, index))
    children = np.stack(sides, axis=1)
    swapped = np.array([mode in SWAPPED for mode in modes])
    children[swapped] = children[swapped][:, ::-1]
    width = node.get_int("n_targets", 1)
    values = np.zeros((count + len(leaf_weights), width))
    values[count + np.arange(len(leaf_weights)), _require(node, "leaf_targetids")] = leaf_weights
    pad = np.zeros(len(leaf_weights), dtype=np.int64)
    transforms = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
    strict = [SWAPPED.get(mode, mode) == "BRANCH_LT" for mode in modes]
    return Forest(
        roots=_require(node, "tree_roots"),
        feature=np.concatenate([_require(node, "nodes_featureids"), pad]),
        threshold=np.concatenate([_require(node, "nodes_splits"), pad]).astype(dtype),
        is_strict=np.concatenate([strict, pad != 0]),
        children=np.concatenate([children, np.full((len(pad), 2), -1)]),
        leaf_values=values,
        base=np.zeros(width),
        transform=transforms[node.get_int("post_transform", 0)],
        is_classifier=False,
        is_binary=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTables:
    """Nodes of all trees in one order: a node's two children are neighbours."""

    roots: np.ndarray
    order: np.ndarray
    """The forest's node of each row."""

    child: np.ndarray
    """Row of the first child; a leaf's own row."""

    depth: int


def order_nodes(forest: Forest) -> NodeTables:
    """Order the nodes breadth first: roots, then children in pairs, and so on."""
    order = list(map(int, forest.roots))
    child: list[int] = []
    depth, level_end = 0, len(order)
    at = 0
    while at < len(order):
        if at == level_end:
            depth, level_end = depth + 1, len(order)
        pair = forest.children[order[at]]
        if pair[0] < 0:
            child.append(at)
        else:
            child.append(len(order))
            order.extend(map(int, pair))
        at += 1
        if len(order) > len(forest.feature) + len(forest.roots):
            raise ConversionError("a tree's node has two parents: not supported")
    return NodeTables(
        roots=np.arange(len(forest.roots)),
        order=np.array(order),
        child=np.array(child),
        depth=depth,
    )


def find_thresholds(
    read: Callable[[np.ndarray, np.ndarray], np.ndarray],
    inputs: Quantised,
    feature: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Return the greatest integer of each node that the float model sends to the first child.

    Found by the float model's own comparison: every integer branches as the float does.

    Input:
        limits: thresholds, and whether strict.
    """
    threshold, is_strict = limits
    low: np.ndarray = inputs.least[feature].astype(np.int64) - 1
    high: np.ndarray = inputs.most[feature].astype(np.int64)
    while (low < high).any():
        middle = high - (high - low) // 2
        value = read(middle, feature)
        passes = np.where(is_strict, value < threshold, value <= threshold)
        low, high = np.where(passes, middle, low), np.where(passes, high, middle - 1)
    return low


def apply_forest(
    writer: IntegerWriter, inputs: Quantised, forest: Forest, scale: Fraction | None
) -> Quantised:
    """Add the nodes of a forest; the result has one element for each target.

    Input:
        inputs: the model's inputs, unscaled or through Scaler alone.
        scale: of the result; by default chosen from the calibrated values.
    Raises: ConversionError.
    """
    if inputs.read is None or len(inputs.shape) != 1:
        raise ConversionError("trees after other operators than Scaler: not supported")
    tables = order_nodes(forest)
    is_leaf = forest.children[tables.order, 0] < 0
    feature = forest.feature[tables.order].astype(np.int64)
    if feature[~is_leaf].max(initial=0) >= inputs.shape[0]:
        raise ConversionError(f"a tree's feature: must be below {inputs.shape[0]}")
    feature[is_leaf] = 0
    split = find_thresholds(
        inputs.read, inputs, feature,
        (forest.threshold[tables.order], forest.is_strict[tables.order]),
    )  # fmt: skip
    least, most = int(split[~is_leaf].min(initial=0)), int(split[~is_leaf].max(initial=0))
    if least <= ALWAYS_LESS or most >= -ALWAYS_LESS:
        raise ConversionError(
            "a tree's threshold in integers: must fit 32 bits; use fewer decimals"
        )
    leaves = forest.leaf_values[tables.order]
    values = _evaluate(forest, tables, inputs)
    result_scale = choose_scale(values) if scale is None else scale
    largest = float(np.abs(leaves[is_leaf]).max(initial=0))
    guard = _choose_guard(largest, result_scale)
    rows = _round(leaves, result_scale / 2**guard)
    walk = _Walk(feature=feature, split=split, is_leaf=is_leaf, tables=tables)
    name, low, high = _add_sums(writer, inputs, walk, rows)
    ratio = np.full(low.shape, Fraction(1, 2**guard), dtype=object)
    bias = np.array([Fraction(float(each)) / result_scale for each in forest.base], dtype=object)
    name, low, high = rescale(writer, name, low, high, Rescaling(ratio=ratio, bias=bias))
    return Quantised(name=name, scale=result_scale, least=low, most=high, values=values)


def _choose_guard(largest: float, scale: Fraction) -> int:
    guard = MAX_GUARD_BITS
    while guard and largest / float(scale) * 2**guard >= 2 ** (LEAF_BITS - 1):
        guard -= 1
    if largest / float(scale) >= 2 ** (LEAF_BITS - 1):
        raise ConversionError(f"a leaf's value {largest:g}: must fit 31 bits; use fewer decimals")
    return guard


def _round(values: np.ndarray, unit: Fraction) -> np.ndarray:
    return np.rint(values / float(unit)).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    feature: np.ndarray
    split: np.ndarray
    is_leaf: np.ndarray
    tables: NodeTables


def _add_sums(
    writer: IntegerWriter, inputs: Quantised, walk: _Walk, rows: np.ndarray
) -> tuple[str, np.ndarray, np.ndarray]:
    """Add the walk and the sums of the leaves; return the sums' name and interval."""
    width = rows.shape[1]
    owner = _find_targets(rows, walk)
    if owner is None:
        distinct, number = np.unique(rows[walk.is_leaf], axis=0, return_inverse=True)
        value = walk.split.copy()
        value[walk.is_leaf] = number.ravel()
        leaf = _add_walk(writer, inputs, walk, value, walk.tables.roots)
        # A leaf's number always is within, but the proof of ranges does not see which are leaves.
        leaf = clip(writer, leaf, 0, len(distinct) - 1)
        picked = writer.gather_rows(distinct, leaf)
        bounds = _bound_trees(walk, rows)
        name = writer.add("ReduceSum", picked, writer.add_constant([0]), keepdims=0)
        return name, bounds[0].sum(axis=0), bounds[1].sum(axis=0)
    value = np.where(walk.is_leaf, rows.sum(axis=1), walk.split)
    roots = np.argsort(owner, kind="stable")
    leaf = _add_walk(writer, inputs, walk, value, roots)
    least, most = _bound_trees(walk, rows)
    if width == 1:
        name = writer.add("ReduceSum", leaf, writer.add_constant([0]), keepdims=1)
    else:
        grid = writer.reshape(leaf, (width, len(roots) // width))
        name = writer.add("ReduceSum", grid, writer.add_constant([1]), keepdims=0)
    return name, least.sum(axis=0), most.sum(axis=0)


def _list_trees(walk: _Walk) -> np.ndarray:
    """Return the tree of each row."""
    tree = np.full(len(walk.tables.order), -1)
    tree[walk.tables.roots] = walk.tables.roots
    for row in range(len(tree)):
        if not walk.is_leaf[row]:
            tree[walk.tables.child[row] : walk.tables.child[row] + 2] = tree[row]
    return tree


def _find_targets(rows: np.ndarray, walk: _Walk) -> np.ndarray | None:
    """Return each tree's one target, where all targets have as many trees; else None."""
    count, width = len(walk.tables.roots), rows.shape[1]
    if width == 1:
        return np.zeros(count, dtype=np.int64)
    used = np.zeros((count, width), dtype=bool)
    tree = _list_trees(walk)
    np.logical_or.at(used, tree[walk.is_leaf], rows[walk.is_leaf] != 0)
    if (used.sum(axis=1) > 1).any():
        return None
    owner: np.ndarray = np.argmax(used, axis=1)
    if (np.bincount(owner, minlength=width) * width != count).any():
        return None
    return owner


def _bound_trees(walk: _Walk, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return least and most value of each tree's leaves, trees by targets."""
    tree, count = _list_trees(walk), len(walk.tables.roots)
    least = np.full((count, rows.shape[1]), 2**62)
    most = -least
    np.minimum.at(least, tree[walk.is_leaf], rows[walk.is_leaf])
    np.maximum.at(most, tree[walk.is_leaf], rows[walk.is_leaf])
    return object_array(least), object_array(most)


def _add_walk(
    writer: IntegerWriter, inputs: Quantised, walk: _Walk, value: np.ndarray, roots: np.ndarray
) -> str:
    """Add the steps from the roots to the leaves; return the tensor of the leaves' values."""
    count = inputs.shape[0]
    extended = writer.add("Concat", inputs.name, writer.add_constant([ALWAYS_LESS]), axis=0)
    feature = np.where(walk.is_leaf, count, walk.feature)
    at = writer.add_constant(roots)
    for _ in range(walk.tables.depth):
        read = writer.add("Gather", extended, writer.gather_rows(feature, at))
        is_greater = writer.add("Greater", read, writer.gather_rows(value, at))
        step = writer.add("Cast", is_greater, to=TensorProto.INT64)
        at = writer.add("Add", writer.gather_rows(walk.tables.child, at), step)
    return writer.gather_rows(value, at)


def _evaluate(forest: Forest, tables: NodeTables, inputs: Quantised) -> np.ndarray:
    """Return the float model's sums on the calibration data."""
    rows = inputs.values
    dtype = forest.threshold.dtype
    node = np.tile(tables.order[tables.roots], (len(rows), 1))
    for _ in range(tables.depth):
        picked = np.take_along_axis(rows, forest.feature[node], axis=1).astype(dtype)
        limit = forest.threshold[node]
        passes = np.where(forest.is_strict[node], picked < limit, picked <= limit)
        below = np.where(passes, forest.children[node, 0], forest.children[node, 1])
        node = np.where(below < 0, node, below)
    sums: np.ndarray = forest.leaf_values[node].sum(axis=1) + forest.base
    return sums
