"""Packaging of clwe_jax."""

import pathlib
import re

from setuptools import find_packages, setup

HERE = pathlib.Path(__file__).parent
VERSION = re.search(
    r'__version__ = "(.*?)"', (HERE / "clwe_jax" / "__init__.py").read_text(encoding="utf-8")
).group(1)

setup(
    name="clwe_jax",
    version=VERSION,
    description="Cross-lingual word and contextual representations in JAX.",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    packages=find_packages(include=["clwe_jax", "clwe_jax.*"]),
    license="Apache-2.0",
    license_files=["LICENSE"],
    author="The authors of clwe_jax",
    keywords="cross-lingual, multilingual, word embeddings, language models, JAX",
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
        "Typing :: Typed",
    ],
    package_data={"clwe_jax": ["py.typed", "pocket/*", "pocket/**/*", "report/templates/*"]},
    # The versions that are tested.
    python_requires=">=3.11,<3.13",
    install_requires=[
        "absl-py>=2.0",
        "adjustText>=1.3",
        "flax>=0.12",
        "gensim>=4.4",
        # tensorflow-datasets imports it without asking for it.
        "importlib_resources>=6.0",
        "jax>=0.10",
        "jinja2>=3.1",
        "matplotlib>=3.8",
        "ml_collections>=1.0",
        "numpy>=1.26",
        "opencc>=1.1",
        "optax>=0.2.5",
        "optuna>=4.0",
        # Its interface changes with 1.0.
        "orbax-checkpoint>=0.11.30,<1",
        "pyarrow>=15.0",
        "rich>=13.0",
        "sacrebleu>=2.4",
        "safetensors>=0.5",
        "scipy>=1.15",
        "sentencepiece>=0.2",
        "seqio>=0.0.19",
        "tensorboard>=2.18",
        "tensorflow-datasets>=4.9.7",
        # Brings the TensorFlow of its own version; naming another one beside it only conflicts.
        "tensorflow-text>=2.18",
    ],
    extras_require={
        "test": ["pytest>=8.0", "pytest-xdist>=3.8", "sacremoses>=0.1", "jieba>=0.42"],
        # libtpu contains the TPU compiler, with which --plan and slow tests plan runs without a TPU.
        "plan": ["jax[tpu]>=0.10; platform_system == 'Linux' and platform_machine == 'x86_64'"],
        "bench": ["torch>=2.4", "transformers>=4.45"],
        "gpu": ["jax[cuda12]>=0.10"],
        "gpu_cuda13": ["jax[cuda13]>=0.10"],
        "tpu": ["jax[tpu]>=0.10"],
        # Moses' tokenizer, which XLM's vocabularies need.
        "xlm": ["sacremoses>=0.1"],
        # The programs with which LASER's release cuts text.
        "laser": [
            "ipadic>=1.0",
            "jieba>=0.42",
            "mecab-python3>=1.0",
            "sacremoses>=0.1",
            "transliterate>=1.10",
        ],
    },
)
