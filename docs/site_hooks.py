"""Hooks of mkdocs: pages and files of the project outside docs/, at the same relative links."""

from __future__ import annotations

import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Page of the site -> its file. In docs/ they are `../FILE`, in these files themselves `docs/FILE`.
PAGES = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "benchmarks/README.md": "benchmarks/README.md",
}


def on_files(files, config):
    """Adds the pages, and the ledger that the pages of figures link to."""
    for page, file in PAGES.items():
        files.append(
            File.generated(config, page, content=(ROOT / file).read_text(encoding="utf-8"))
        )
    for path in sorted((ROOT / "benchmarks" / "ledger").glob("*")):
        name = f"benchmarks/ledger/{path.name}"
        files.append(File.generated(config, name, content=path.read_bytes()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Leads links to those pages, from where the page lies on the site."""
    path = page.file.src_uri
    up = "../" * path.count("/")
    if path in PAGES:
        inside = "../docs/" if "/" in path else "docs/"
        markdown = markdown.replace(f"]({inside}", f"]({up}")
    for target, file in PAGES.items():
        for link in (f"../{file}", file):
            markdown = re.sub(rf"\]\({re.escape(link)}(?=[)#])", f"]({up}{target}", markdown)
    markdown = re.sub(r"\]\(\.\./(benchmarks/ledger/)", r"](\1", markdown)
    # Other files of the checkout are named and not linked.
    return re.sub(
        r"\[([^\]]+)\]\((?:\.\./)?(?:README\.md|LICENSE|CITATION\.cff|[\w/.]+\.py)\)",
        r"\1",
        markdown,
    )
