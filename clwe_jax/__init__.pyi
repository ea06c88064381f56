from clwe_jax import api as api
from clwe_jax.api import LoadedModel as LoadedModel
from clwe_jax.api import load as load

__version__: str
