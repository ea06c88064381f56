from clwe_jax import api as api
from clwe_jax.api import Model as Model
from clwe_jax.api import load as load
from clwe_jax.api import mteb as mteb

__version__: str
