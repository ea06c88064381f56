"""Initial parameters from other sources: a run, a file, a mapping or word vectors.

`train.fit` first looks for a checkpoint of its own run. Without one it initialises all parameters,
and `Initial` then replaces the parts that another run, a file, a mapping or word vectors give.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Collection, Mapping

from absl import logging
from flax import traverse_util
import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import numpy as np
import optax
import orbax.checkpoint as ocp

from clwe_jax.options.training import InitOptions
from clwe_jax.training import checkpoint, finish, hf_init, partition, paths, tables, train_state
from clwe_jax.training.orbax_extras import quiet
from clwe_jax.types import Batch, Objective


@dataclasses.dataclass(frozen=True)
class Initial:
    """Parameters of other sources: of a run, a file or a mapping first, then word vectors.

    Attributes:
      parameters: 'run:DIR', the newest checkpoint of a run's folder; 'npz:FILE', arrays by the
        paths of parameters; 'hf:DIR', a model of Hugging Face; a mapping path -> array; or '' for
        none.
      parts: regular expressions of the paths to take, with commas between them; '': all paths.
      names: this run's tokens and languages, by logical axis. Of a run or a model that has others,
        the rows of the tokens and languages that both have are taken.
      start: vectors of tokens; None for none.
      origin: the name of a mapping in messages and in the record.
    """

    parameters: str | Mapping[str, Any] = ""
    parts: str = ""
    names: tables.Names = dataclasses.field(default_factory=dict)
    start: tables.TokenVectors | None = None
    origin: str = "arrays"

    def apply_to(self, params: Any, axes: tables.Axes) -> tuple[Any, dict[str, Any]]:
        """The parameters with the sources' in their place, and a record for metadata and report.

        Args:
          params: initialised parameters, placed on their devices.
          axes: path -> logical axes, from `partition.axes_of`.

        Returns:
          The parameters; of `parameters` 'source', 'step' (of a run; else None), 'parts', 'arrays'
          and 'parameters' (how many of them the source gave), and 'common', the numbers of tokens
          and languages that both runs have, where they differ; of `start` 'embeddings', its record.

        Raises:
          FileNotFoundError: the source does not exist.
          checkpoint.Mismatch: a part's name or shape differs between source and model.
          ValueError: the model has no table for `start`.
        """
        record: dict[str, Any] = {}
        if self.parameters:
            params, record = self._with_arrays(params, axes)
        if self.start is not None:
            params, record["embeddings"] = self.start.apply_to(params, axes)
        return params, record

    def _with_arrays(self, params: Any, axes: tables.Axes) -> tuple[Any, dict[str, Any]]:
        step = None
        common = {}
        absent_paths = frozenset()
        if isinstance(self.parameters, str):
            kind, _, location = self.parameters.partition(":")
            name = self.parameters
            if kind == "run":
                common = tables.in_common(location, self.names)
                step, arrays = _run_arrays(location, params, axes, common, self.parts, name)
            elif kind == "hf":
                arrays, common, absent_paths = hf_init.arrays(location, params, axes, self.names)
            else:
                if not os.path.isfile(location):
                    raise FileNotFoundError(f"config.init.parameters={name}: the file is absent")
                with np.load(location, allow_pickle=False) as file:
                    arrays = {path: file[path] for path in file.files}
        else:
            name = self.origin
            arrays = self.parameters
        params, new_paths = _place_arrays(params, arrays, self.parts, name, absent_paths)
        count = sum(paths.flat(params)[path].size for path in new_paths)
        logging.info("%s parameters in %d arrays come from %s", f"{count:,}", len(new_paths), name)
        record = {
            "source": name,
            "step": step,
            "parts": self.parts,
            "arrays": len(new_paths),
            "parameters": count,
        }
        if common:
            record["common"] = {axis: len(our_rows) for axis, (our_rows, _) in common.items()}
        return params, record


def from_config(
    init: InitOptions, names: tables.Names | None = None, start: tables.TokenVectors | None = None
) -> Initial | None:
    """The sources that `config.init` names; None where it names none. Nothing is read yet.

    Args:
      start: the vectors that the options from `embeddings` on describe.
    """
    if init.parameters:
        return Initial(init.parameters, init.parts, names or {}, start)
    return None if start is None else Initial(start=start)


def initialise(
    state: train_state.TrainState,
    initial: Initial,
    objective: Objective,
    tx: optax.GradientTransformation,
    batch: Batch,
    mesh: Mesh,
) -> tuple[train_state.TrainState, dict[str, Any]]:
    """The state of `train_state.start` with the parameters of other sources, and their record."""
    boxed = jax.eval_shape(lambda batch: dict(objective.init(jax.random.key(0), batch)), batch)
    params, record = initial.apply_to(state.params, partition.axes_of(boxed["params"]))
    return train_state.with_params(state, params, tx, mesh), record


def _place_arrays(
    params: Any, arrays: Mapping[str, Any], parts: str, source: str, kept: Collection[str] = ()
) -> tuple[Any, list[str]]:
    """The parameters with the wanted arrays in their places, and the paths of these arrays.

    The parameters `kept`, which the source lacks, stay as they are.
    """
    shapes = {path: tuple(np.shape(array)) for path, array in arrays.items()}
    new_paths = set(_wanted_paths(params, shapes, parts, source, kept))

    def one(path: str, old: jax.Array) -> jax.Array:
        new = arrays[path] if path in new_paths else old
        if isinstance(new, jax.Array) and new.sharding == old.sharding:
            return new.astype(old.dtype)
        new = np.asarray(new, old.dtype)
        # Each device gets its own part alone.
        return jax.make_array_from_callback(old.shape, old.sharding, lambda index: new[index])

    return paths.map_paths(one, params), sorted(new_paths)


def _run_arrays(
    workdir: str, params: Any, axes: tables.Axes, common: tables.Common, parts: str, source: str
) -> tuple[int, dict[str, jax.Array]]:
    """The step of a run's newest checkpoint, and its wanted parameters, sharded like `params`.

    Parameters with an axis in `common` have its rows in the place of some of the model's own.
    """
    directory = os.path.join(finish.final_folder(os.path.abspath(workdir)), "checkpoints")
    steps = checkpoint.complete_steps(directory)
    if not steps:
        raise FileNotFoundError(f"config.init.parameters={source}: {directory} has no checkpoint")
    quiet()
    folder = os.path.join(directory, str(steps[-1]), "params")
    with ocp.PyTreeCheckpointer() as reader:
        metadata = reader.metadata(folder)
        # Some versions of orbax wrap the metadata.
        shapes = paths.flat(getattr(metadata, "item_metadata", metadata).tree)
        shapes = {path: tuple(array.shape) for path, array in shapes.items()}
        ours = paths.flat(params)
        partly = {path for path in ours if path in shapes and common.keys() & set(axes[path])}
        # Rows are taken by name, so that only the other axes must have equal sizes.
        fitted_shapes = {}
        for path in partly:
            sizes = zip(axes[path], shapes[path], ours[path].shape)
            fitted_shapes[path] = tuple(new if axis in common else old for axis, old, new in sizes)
        # Arrays with other rows are restored whole, as our sharding may not divide their size.
        target = traverse_util.unflatten_dict(
            {
                path: jax.ShapeDtypeStruct(
                    shapes[path],
                    ours[path].dtype,
                    sharding=NamedSharding(ours[path].sharding.mesh, PartitionSpec())
                    if path in partly
                    else ours[path].sharding,
                )
                for path in _wanted_paths(params, {**shapes, **fitted_shapes}, parts, source)
            },
            sep="/",
        )
        arguments = ocp.args.PyTreeRestore(
            target,
            restore_args=ocp.checkpoint_utils.construct_restore_args(target),
            partial_restore=True,
        )
        arrays = paths.flat(reader.restore(folder, args=arguments))
    for path in partly & arrays.keys():
        arrays[path] = tables.with_rows(ours[path], arrays[path], axes[path], common)
    return steps[-1], arrays


def _wanted_paths(
    params: Any,
    shapes: Mapping[str, tuple[int, ...]],
    parts: str,
    source: str,
    kept: Collection[str] = (),
) -> list[str]:
    """The paths that `parts` match; model and source must have them with the same shapes."""
    flat = paths.flat(params)
    ours = {path: tuple(array.shape) for path, array in flat.items() if path not in kept}
    all_paths = sorted(ours.keys() | shapes.keys())
    matches: set[str] = set()
    for pattern in (parts or ".*").split(","):
        matches.update(paths.match_paths(pattern.strip(), all_paths, where="config.init.parts"))
    lines = []
    for path in sorted(matches):
        if path not in shapes:
            lines.append(f"{path}: absent in the source. {paths.near(path, shapes)}")
        elif path not in ours:
            lines.append(f"{path}: absent in the model. {paths.near(path, ours)}")
        elif ours[path] != shapes[path]:
            theirs = list(shapes[path])
            expected = list(ours[path])
            lines.append(f"{path}: {theirs} in the source, {expected} in the model")
    if lines:
        raise checkpoint.Mismatch(
            f"The parameters of {source} do not fit the model:{paths.list_lines(lines)}\n"
            "Name the parts that fit with --config.init.parts=PATTERN,PATTERN."
        )
    return sorted(matches)
