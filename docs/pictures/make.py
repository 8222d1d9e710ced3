#!/usr/bin/env python3
"""Makes the pictures of this folder: a table as LanceDB leaves it, looked at by `pilum table`. Needs pylance, Debian's chromium and a
built `pilum` command (see tests/interop/conftest.py).

  docs/pictures/make.py
"""
import html
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "interop"))

import lance  # noqa: E402
import pyarrow as pa  # noqa: E402

import browser  # noqa: E402
from conftest import cli_command  # noqa: E402

PAGE = """<!doctype html><meta charset="utf-8"><style>
body{margin:0;background:#161c24;color:#e4e9f0;font:14px/1.45 "DejaVu Sans Mono",ui-monospace,Menlo,Consolas,monospace}
pre{margin:0;padding:18px 22px;font:inherit}b{color:#6ea2ff;font-weight:600}</style><pre>%s</pre>"""


def table(uri):
    """Many small appends, compacted three times and never cleaned up."""
    draw = random.Random(5)
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), 32)), ("ts", pa.timestamp("us"))])

    def rows(n):
        return pa.table(
            [[f"doc-{draw.randrange(10**9)}" for _ in range(n)], [" ".join(["word"] * draw.randrange(8, 30)) for _ in range(n)],
             [[draw.random() for _ in range(32)] for _ in range(n)], [draw.randrange(1, 10**15) for _ in range(n)]],
            schema=schema,
        )  # fmt: skip

    lance.write_dataset(schema.empty_table(), uri, schema=schema)
    for i in range(251):
        lance.write_dataset(rows(1 + draw.randrange(8)), uri, mode="append")
        if i in (98, 197, 250):
            lance.dataset(uri).optimize.compact_files()


def terminal(command, lines, out, folder, width=1060):
    env = {**os.environ, "COLUMNS": "112"}
    shown = [cli_command(), *command.split()[1:]]
    text = subprocess.run(shown, cwd=folder, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout
    wrapped = [part for line in text.rstrip().split("\n")[:lines] for part in textwrap.wrap(line, 118, subsequent_indent="  ", drop_whitespace=False) or [""]]
    text = "\n".join(wrapped)
    page = folder / "page.html"
    page.write_text(PAGE % f"<b>$ {html.escape(command)}</b>\n{html.escape(text)}")
    browser.visit(page, out, folder, width=width, height=38 + round(14 * 1.45) * (text.count("\n") + 2), scale=1)


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        table(str(folder / "docs.lance"))
        terminal("pilum table log docs.lance -n 12", 30, HERE / "table_log.png", folder)
        terminal("pilum table space docs.lance", 40, HERE / "table_space.png", folder)
        subprocess.run([cli_command(), "table", "report", "docs.lance", "--html", "report.html"], cwd=folder, check=True)
        for dark in (False, True):
            browser.visit(folder / "report.html", HERE / f"table_report{'_dark' if dark else ''}.png", folder, dark=dark, width=1080, height=1180)
    for picture in sorted(HERE.glob("*.png")):
        size = picture.stat().st_size
        print(picture.name, size)
        assert size < 150_000, "too large for a README"


if __name__ == "__main__":
    main()
