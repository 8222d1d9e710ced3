"""`pilum table report --html`: one page that needs nothing beside it and takes no name for markup."""

import html.parser
import re

import lance
import pyarrow as pa
import pytest

import browser
from conftest import cli
from test_table_space import like_lancedb, tags_branches

EVIL = "<script>alert('x')</script><img src=x onerror=alert(1)>\"'&"


def evil(uri):
    data = pa.table({EVIL: [1, 2, 3], "</style><b>": ["a", "b", "c"]})
    lance.write_dataset(data, uri)
    lance.write_dataset(data, uri, mode="append")
    lance.dataset(uri).update_config({EVIL: EVIL})
    (lance_dir := __import__("pathlib").Path(uri) / "data" / "<i>stray&.txt").write_text("x")
    assert lance_dir.exists()


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen, self.links, self.open = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.links += [v for k, v in attrs if k in ("src", "href", "action", "data", "srcset")]
        assert not [k for k, _ in attrs if k.startswith("on")], attrs
        if tag not in ("meta", "link", "br", "line", "rect", "path", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("line", "rect", "path"):
            assert self.open and self.open[-1] == tag, (tag, self.open)
            self.open.pop()


@pytest.mark.parametrize("table", [evil, like_lancedb, tags_branches], ids=lambda f: f.__name__)
def test_the_page(tmp_path, table):
    uri, page = str(tmp_path / "t.lance"), tmp_path / "report.html"
    table(uri)
    cli("table", "report", uri, "--html", page)
    text = page.read_text()
    tags = Tags(text)
    assert not tags.open and tags.links == ["data:,"]
    assert not tags.seen & {"script", "img", "iframe", "object", "i" if table is evil else "script"} - {"i"}
    assert "url(" not in text and "@import" not in text and not re.search(r"https?://", text)
    assert text == cli("table", "report", uri, "--html", "-") or "Made by" in text
    if table is evil:
        assert "&lt;script&gt;" in text and "<script" not in text and "<img" not in text
        assert "&lt;/style&gt;&lt;b&gt;" in text and "&lt;i&gt;stray&amp;.txt" in text


@pytest.mark.skipif(browser.COMMAND is None, reason="no chromium here: apt-get install chromium")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("table", [evil, like_lancedb], ids=lambda f: f.__name__)
def test_in_a_browser(tmp_path, table, dark):
    uri, page, picture = str(tmp_path / "t.lance"), tmp_path / "report.html", tmp_path / "report.png"
    table(uri)
    cli("table", "report", uri, "--html", page)
    console, urls = browser.visit(page, picture, tmp_path, dark=dark)
    assert console == [] and urls == set()
    image = browser.pixels(picture)
    ground = sum(image[2][2]) / 3
    assert ground < 40 if dark else ground > 215
    # The charts are there, in their colours.
    colours = {p for row in image[::3] for p in row[::3]}
    needed = (110, 162, 255) if dark else (47, 107, 216)
    assert any(max(abs(a - b) for a, b in zip(p, needed)) < 12 for p in colours)
    assert len(colours) > 50
