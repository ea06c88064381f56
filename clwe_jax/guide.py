"""Reads the guides that come with the package: clwe-jax guide [NAME]."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.markdown import Markdown

from clwe_jax.options import shipped
from clwe_jax.options.section import nearest


def titles() -> dict[str, str]:
    """Name of each guide -> its title."""
    first_lines = {}
    for path in sorted(shipped.folder(shipped.GUIDES).glob("*.md")):
        lines = path.read_text(encoding="utf-8").splitlines()
        first_lines[path.stem] = next(line[2:] for line in lines if line.startswith("# "))
    return first_lines


def main() -> None:
    """Prints the list of guides, or the guide that the argument names."""
    title_of = titles()
    arguments = sys.argv[1:]
    console = Console()
    if not arguments or arguments[0].startswith("-"):
        width = max(map(len, title_of))
        for name, title in title_of.items():
            print(f"{name:<{width}}  {title}")
        print(
            "\nclwe-jax guide NAME shows one. `python -c 'help(\"clwe_jax.api.load\")'`: the interface."
        )
        return
    name = arguments[0].removesuffix(".md")
    if name not in title_of:
        sys.exit(f"error: there is no guide {name!r}. {nearest(name, title_of)}")
    text = (shipped.folder(shipped.GUIDES) / f"{name}.md").read_text(encoding="utf-8")
    console.print(Markdown(text, hyperlinks=False))


if __name__ == "__main__":
    main()
