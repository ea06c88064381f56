"""Initial parameters from another source: a run, a file or a mapping.

`train.fit` first looks for a checkpoint of its own run. Without one it initialises all parameters,
and `Initial` then replaces the parts that the source holds.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Mapping

from absl import logging
from flax import traverse_util
import jax
import numpy as np
import orbax.checkpoint as ocp

from clwe_jax import registry
from clwe_jax.training import checkpoint, finish, paths
from clwe_jax.training.orbax_extras import quiet

_KINDS = ("run", "npz")


@dataclasses.dataclass(frozen=True)
class Initial:
    """Parameters of another source.

    Attributes:
      parameters: 'run:DIR', the newest checkpoint of a run's folder; 'npz:FILE', arrays by the
        paths of parameters; or a mapping path -> array.
      parts: regular expressions of the paths to take, with commas between them; '': all paths.
    """

    parameters: str | Mapping[str, Any]
    parts: str = ""

    def into(self, params: Any) -> tuple[Any, dict[str, Any]]:
        """Replaces the chosen parts by the source's arrays.

        Args:
          params: initialised parameters, placed on their devices.

        Returns:
          The parameters, on the same devices; a record for metadata and report: 'source', 'step'
          (of a run; else None), 'parts', and the numbers of replaced 'arrays' and 'parameters'.

        Raises:
          FileNotFoundError: the source does not exist.
          checkpoint.Mismatch: a part's name or shape differs between source and model.
        """
        step = None
        if isinstance(self.parameters, str):
            kind, _, where = self.parameters.partition(":")
            name = self.parameters
            if kind == "run":
                step, arrays = _of_run(where, params, self.parts, name)
            else:
                if not os.path.isfile(where):
                    raise FileNotFoundError(f"config.init.parameters={name}: the file is absent")
                with np.load(where, allow_pickle=False) as file:
                    arrays = {path: file[path] for path in file.files}
        else:
            name, arrays = "arrays", self.parameters
        params, taken = _placed(params, arrays, self.parts, name)
        count = sum(paths.flat(params)[path].size for path in taken)
        logging.info("%s parameters in %d arrays come from %s", f"{count:,}", len(taken), name)
        return params, {
            "source": name, "step": step, "parts": self.parts, "arrays": len(taken),
            "parameters": count,
        }  # fmt: skip


def from_config(spec: Mapping[str, Any]) -> Initial | None:
    """The source that `config.init` describes; None where it names no source. Nothing is read yet.

    Raises:
      ValueError: an unknown option or kind of source, or parts without a source.
    """
    registry.check_keys(Initial, spec, where="config.init")
    parameters, parts = spec.get("parameters", ""), spec.get("parts", "")
    if not parameters:
        if parts:
            raise ValueError(
                f"config.init.parts={parts!r} needs a source: give "
                "--config.init.parameters=run:DIR or npz:FILE."
            )
        return None
    kind, _, where = parameters.partition(":")
    if kind not in _KINDS or not where:
        raise ValueError(f"config.init.parameters={parameters!r}: expected run:DIR or npz:FILE")
    return Initial(parameters, parts)


def _placed(
    params: Any, arrays: Mapping[str, Any], parts: str, source: str
) -> tuple[Any, list[str]]:
    """The parameters with the wanted arrays in their places, and the paths of these arrays."""
    shapes = {path: tuple(np.shape(array)) for path, array in arrays.items()}
    taken = set(_wanted(params, shapes, parts, source))

    def one(path: str, old: jax.Array) -> jax.Array:
        new = arrays[path] if path in taken else old
        if isinstance(new, jax.Array) and new.sharding == old.sharding:
            return new.astype(old.dtype)
        new = np.asarray(new, old.dtype)
        return jax.make_array_from_callback(old.shape, old.sharding, lambda index: new[index])

    return paths.mapped(one, params), sorted(taken)


def _of_run(workdir: str, params: Any, parts: str, source: str) -> tuple[int, dict[str, jax.Array]]:
    """The step of a run's newest checkpoint, and its wanted parameters, sharded like `params`."""
    directory = os.path.join(finish.final_folder(os.path.abspath(workdir)), "checkpoints")
    steps = checkpoint.complete_steps(directory)
    if not steps:
        raise FileNotFoundError(f"config.init.parameters={source}: {directory} has no checkpoint")
    quiet()
    folder = os.path.join(directory, str(steps[-1]), "params")
    with ocp.PyTreeCheckpointer() as reader:
        found = reader.metadata(folder)
        shapes = paths.flat(getattr(found, "item_metadata", found).tree)
        shapes = {path: tuple(array.shape) for path, array in shapes.items()}
        ours = paths.flat(params)
        target = traverse_util.unflatten_dict(
            {
                path: jax.ShapeDtypeStruct(
                    ours[path].shape, ours[path].dtype, sharding=ours[path].sharding
                )
                for path in _wanted(params, shapes, parts, source)
            },
            sep="/",
        )
        arguments = ocp.args.PyTreeRestore(
            target,
            restore_args=ocp.checkpoint_utils.construct_restore_args(target),
            partial_restore=True,
        )
        return steps[-1], paths.flat(reader.restore(folder, args=arguments))


def _wanted(
    params: Any, shapes: Mapping[str, tuple[int, ...]], parts: str, source: str
) -> list[str]:
    """The paths that `parts` match; model and source must have them with the same shapes."""
    ours = {path: tuple(array.shape) for path, array in paths.flat(params).items()}
    known = sorted(ours.keys() | shapes.keys())
    wanted = {
        path
        for pattern in (part.strip() for part in (parts or ".*").split(","))
        for path in paths.matching(pattern, known, where="config.init.parts")
    }
    lines = []
    for path in sorted(wanted):
        if path not in shapes:
            lines.append(f"{path}: absent in the source. {paths.near(path, shapes)}")
        elif path not in ours:
            lines.append(f"{path}: absent in the model. {paths.near(path, ours)}")
        elif ours[path] != shapes[path]:
            found, expected = list(shapes[path]), list(ours[path])
            lines.append(f"{path}: {found} in the source, {expected} in the model")
    if lines:
        raise checkpoint.Mismatch(
            f"The parameters of {source} do not fit the model:{paths.listed(lines)}\n"
            "Name the parts that fit with --config.init.parts=PATTERN,PATTERN."
        )
    return sorted(wanted)
