"""Bin packing as tensor arithmetic, without a loop over items, which would be slower than reading.

`next_fit` cuts an ordered sequence (words into parts of sentences, sentences into segments); `pack`
places segments into rows of fixed length in any order. Both respect two capacities, the numbers of
pieces and of masked positions.
"""

from __future__ import annotations

import tensorflow as tf

from clwe_jax.data.graph.selection import select

_BLOCK = 32
_ROUNDS = 3
_VECTOR = tf.TensorSpec([None], tf.int32)
_SCALAR = tf.TensorSpec([], tf.int32)


# Functions with a signature are traced once in a process, not for each place and graph that calls them.
@tf.function(
    autograph=False,
    input_signature=[tf.TensorSpec([None], tf.bool), ((_VECTOR, _SCALAR), (_VECTOR, _SCALAR))],
)
def next_fit(
    starts: tf.Tensor, costs: tuple[tuple[tf.Tensor, int], tuple[tf.Tensor, int]]
) -> tf.Tensor:
    """Packs items in order: each goes into the open bin, or opens the next bin if it does not fit.

    For every item i, binary search in the running sums finds the bin that would follow a bin opened
    at i. Pointer doubling from the forced bins then finds the bins that are opened. An item that
    exceeds a capacity gets its own bin.

    Args:
      starts: [N] bool, True where a bin must open (the first item of a sentence or document); the
        first of all items always opens one.
      costs: two pairs of [N] int32 costs >= 0 and the capacity for their sum in a bin.

    Returns:
      [N] bool, True where an item opens a bin.
    """
    count = tf.size(starts)
    index = tf.range(count)
    starts = tf.logical_or(starts, tf.equal(index, 0))
    forced = select(index, starts)
    group = tf.cumsum(tf.cast(starts, tf.int32)) - 1
    totals = [(tf.math.segment_sum(cost, group), capacity) for cost, capacity in costs]
    all_fit = tf.reduce_all([tf.reduce_all(total <= capacity) for total, capacity in totals])
    # Where every group fits, only the forced bins open.
    return tf.cond(all_fit, lambda: starts, lambda: _cut(starts, costs, forced, group))


def _cut(starts, costs, forced, group):
    """`next_fit` where some group exceeds a capacity."""
    count = tf.size(starts)
    index = tf.range(count)
    # A bin ends before the next forced one at the latest.
    jump = tf.gather(tf.concat([forced[1:], count[None]], 0), group)
    for cost, capacity in costs:
        sums = tf.concat([[0], tf.cumsum(cost)], 0)
        # reach[i] is the first item that has no room in a bin opened at i.
        reach = tf.searchsorted(sums, sums[:-1] + capacity, side="right") - 1
        jump = tf.minimum(jump, tf.maximum(reach, index + 1))
    # The place after the last item points to itself, so that chains end there.
    jump = tf.concat([jump, count[None]], 0)

    # After round k `opened` has the bins up to 2^k - 1 steps behind a forced one.
    def double(opened, jump, _):
        reached = select(jump[:-1], opened)
        reached = select(reached, reached < count)
        fresh = select(reached, tf.logical_not(tf.gather(opened, reached)))
        opened = tf.tensor_scatter_nd_update(
            opened, fresh[:, None], tf.ones_like(fresh, dtype=tf.bool)
        )
        return opened, tf.gather(jump, jump), tf.size(fresh) > 0

    opened, _, _ = tf.while_loop(
        lambda opened, jump, is_growing: is_growing,
        double,
        (starts, jump, tf.constant(True)),
        shape_invariants=(tf.TensorShape([None]), tf.TensorShape([None]), tf.TensorShape([])),
        parallel_iterations=1,
    )
    return opened


@tf.function(autograph=False, input_signature=[_VECTOR, _VECTOR, _SCALAR, _SCALAR])
def pack(
    sizes: tf.Tensor, predictions: tf.Tensor, length: int, max_predictions: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Places items into rows: the large ones by next-fit, then the others into the remaining room.

    The largest items open as many rows as the sum of all sizes needs. The other items fill the room
    of these rows in a few rounds of best-fit matching: all rows at once, the roomiest first, take
    the largest item that fits. The remaining items open rows by next-fit. With sentences of real
    text, rows of 64 are filled to 97% (79% by next-fit alone; 99% by best-fit decreasing, which
    loops over items).

    Args:
      sizes: [N] int32 in [1, length].
      predictions: [N] int32 in [0, max_predictions], numbers of masked positions of the items.
      length: capacity of a row for `sizes`.
      max_predictions: capacity of a row for `predictions`.

    Returns:
      [N] int32, the row of each item, and the number of rows.
    """
    count = tf.size(sizes)
    order = tf.argsort(-sizes, stable=True)
    size = tf.gather(sizes, order)
    masked = tf.gather(predictions, order)
    capacities = ((size, length), (masked, max_predictions))
    row = tf.cumsum(tf.cast(next_fit(tf.zeros_like(size, tf.bool), capacities), tf.int32)) - 1
    needed = -(-tf.reduce_sum(size) // length)
    # Rows ascend with the items, so that the items of the first `needed` rows come first.
    bulk = tf.reduce_sum(tf.cast(row < needed, tf.int32))
    room = length - tf.math.segment_sum(size[:bulk], row[:bulk])
    room_masked = max_predictions - tf.math.segment_sum(masked[:bulk], row[:bulk])

    placed_items = [tf.range(bulk)]
    placed_rows = [row[:bulk]]
    unplaced = tf.range(count - 1, bulk - 1, -1)  # smallest first
    for _ in range(_ROUNDS):
        rows, picks = _match(
            tf.gather(size, unplaced), tf.gather(masked, unplaced), room, room_masked, length
        )
        items = tf.gather(unplaced, picks)
        placed_items.append(items)
        placed_rows.append(rows)
        room = tf.tensor_scatter_nd_sub(room, rows[:, None], tf.gather(size, items))
        room_masked = tf.tensor_scatter_nd_sub(room_masked, rows[:, None], tf.gather(masked, items))
        free = tf.tensor_scatter_nd_update(
            tf.ones_like(unplaced, tf.bool), picks[:, None], tf.zeros_like(picks, tf.bool)
        )
        unplaced = select(unplaced, free)
    opens = next_fit(
        tf.zeros_like(unplaced, tf.bool),
        ((tf.gather(size, unplaced), length), (tf.gather(masked, unplaced), max_predictions)),
    )
    # Rows of the rest are numbered behind those that the large items have opened.
    rows = tf.size(room) + tf.cumsum(tf.cast(opens, tf.int32)) - 1
    items = tf.gather(order, tf.concat(placed_items + [unplaced], 0))
    rows = tf.concat(placed_rows + [rows], 0)
    row_of_item = tf.tensor_scatter_nd_update(tf.zeros_like(sizes), items[:, None], rows)
    return row_of_item, tf.size(room) + tf.reduce_sum(tf.cast(opens, tf.int32))


def _match(size, masked, room, room_masked, length):
    """Gives each row at most one item, the largest that fits; the roomiest row is served first.

    Args:
      size, masked: [M], sizes and masked positions of the items, by ascending size.
      room, room_masked: [R], remaining capacities of the rows.
      length: capacity of an empty row.

    Returns:
      The rows that get an item, and for each of them the item's index in `size`.
    """
    by_room = tf.argsort(room, stable=True)
    place = tf.range(tf.size(room))
    # An additional item that fits into no row keeps the gathers below in range.
    size = tf.concat([size, [length + 1]], 0)
    masked = tf.concat([masked, [0]], 0)
    best = tf.searchsorted(size, tf.gather(room, by_room), side="right") - 1
    # Row k takes the largest item a(k) that fits with a(k) < a(k+1), so that no two rows share one.
    item = _suffix_minimum(best - place) + place
    has_room = tf.logical_and(
        item >= 0, tf.gather(masked, tf.maximum(item, 0)) <= tf.gather(room_masked, by_room)
    )
    return select(by_room, has_room), select(item, has_room)


def _suffix_minimum(x: tf.Tensor) -> tf.Tensor:
    """[N] int32 -> [N]: min(x[i:]) for every i, computed within blocks and then across them."""
    count = tf.size(x)
    blocks = -(-count // _BLOCK)
    highest = tf.int32.max
    padded = tf.concat([x, tf.fill([blocks * _BLOCK - count], highest)], 0)
    table = tf.reshape(padded, [blocks, _BLOCK])
    later = tf.range(_BLOCK)[:, None] <= tf.range(_BLOCK)[None, :]
    # [blocks, _BLOCK]
    within = tf.reduce_min(tf.where(later[None], table[:, None, :], highest), axis=2)
    place = tf.range(blocks)
    is_after = place[:, None] < place[None, :]
    beyond = tf.reduce_min(tf.where(is_after, within[:, 0][None, :], highest), axis=1)  # [blocks]
    return tf.reshape(tf.minimum(within, beyond[:, None]), [-1])[:count]
