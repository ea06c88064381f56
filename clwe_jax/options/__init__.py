"""Every option once: frozen dataclasses without jax, their help, and the file that keeps them."""

from clwe_jax.options.derived import (
    MBERT_LANGUAGES,
    languages,
    list_files,
    max_predictions,
    named_files,
    padded_rows,
    vector_files,
)
from clwe_jax.options.folder import (
    FILE,
    LAYOUT,
    check_folder,
    claim_workdir,
    differences,
    resolve_path,
    start_folder,
    read_config,
    write_config,
)
from clwe_jax.options.section import OptionError, Options, to_dict
from clwe_jax.options.static import hub_of, pairs
from clwe_jax.options.systems import (
    SCALES,
    Run,
    config_dict,
    from_file,
    load,
    section_of,
    parse,
    with_values,
)
from clwe_jax.options.text import SOURCE
from clwe_jax.options.training import MINED, TRAINED_STARTS

__all__ = [
    "FILE",
    "LAYOUT",
    "MBERT_LANGUAGES",
    "MINED",
    "SCALES",
    "SOURCE",
    "TRAINED_STARTS",
    "OptionError",
    "Run",
    "Options",
    "check_folder",
    "claim_workdir",
    "config_dict",
    "differences",
    "from_file",
    "hub_of",
    "languages",
    "list_files",
    "load",
    "max_predictions",
    "section_of",
    "named_files",
    "padded_rows",
    "pairs",
    "parse",
    "resolve_path",
    "start_folder",
    "read_config",
    "to_dict",
    "vector_files",
    "with_values",
    "write_config",
]
