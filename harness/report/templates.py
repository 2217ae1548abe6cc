"""Pages that need nothing else: no network, no script (one helps if it may run)."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from harness.report.text import one_line, plural, printable

HERE = Path(__file__).parent


def rendered(name: str, **values: Any) -> str:
    """Return the page `name` as an HTML document, with its style and its script in it.

    Args:
        name: its template, style and script are `<name>.html`, `<name>.css` and `<name>.js`.
        values: what the template shows; every text among them is made printable and escaped.
    """
    # The only text that is not escaped: files of this package.
    style, script = _file("common.css") + _file(f"{name}.css"), _file(f"{name}.js")
    template = _environment().get_template(f"{name}.html")
    return template.render(
        style=Markup(style), script=Markup(script), policy=_policy(style, script), **values
    )


@functools.cache
def _file(name: str) -> str:
    return (HERE / name).read_text("utf-8")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    environment.filters["plural"] = plural
    environment.filters["line"] = one_line
    environment.filters["address"] = lambda name: quote(name, errors="replace")
    return environment


def _shown(value: object) -> object:
    """Every expression of a template passes here: text is made printable before it is escaped."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value


def _policy(style: str, script: str) -> str:
    """A content security policy: this style and this script, and nothing from anywhere."""
    return f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
