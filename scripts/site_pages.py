"""mkdocs hooks: pages of the documentation site that are files elsewhere in the checkout.

The README is the home page. Links between files of the checkout become links between pages; a link
to a file that is not a page becomes its text. `mkdocs.yml` names this file.
"""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File  # type: ignore[import-not-found, unused-ignore]

from scripts.site_text import PAGES, ROOT, convert_links


def on_files(files: Any, config: Any) -> Any:  # noqa: ANN401 - of mkdocs
    """Add the pages that are files outside `docs/`."""
    for page, file in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / file)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401 - of mkdocs
    """Return a page's text with its links as links of the site."""
    return convert_links(markdown, page.file.src_uri)
