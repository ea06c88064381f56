"""The packages of clwe_jax; pyproject.toml has the rest, and cannot name packages of two places."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["clwe_jax", "clwe_jax.*"]),
        "clwe_jax.configs",
        "clwe_jax.docs",
        # Folders of data, which setuptools warns about where they are not named.
        "clwe_jax.pocket.lexicon",
        "clwe_jax.report.templates",
    ]
)
