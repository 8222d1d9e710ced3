"""Debian's chromium without a window: pictures of a page, what it said on its console, and what it asked the network for."""

import json
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

COMMAND = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-default-apps", "--disable-sync", "--disable-extensions", "--metrics-recording-only",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider", "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr", "--log-level=0", "--virtual-time-budget=2000",
]  # fmt: skip


def visit(page, picture, folder, dark=False, width=1100, height=1600, scale=1):
    """Writes the picture; gives the lines of the console and the URLs that were asked for."""
    net_log = Path(folder) / "net.json"
    done = subprocess.run(
        [COMMAND, *QUIET, f"--user-data-dir={Path(folder) / 'profile'}", f"--log-net-log={net_log}", f"--window-size={width},{height}",
         f"--force-device-scale-factor={scale}", f"--blink-settings=preferredColorScheme={0 if dark else 1}", f"--screenshot={picture}",
         Path(page).resolve().as_uri()],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
    )  # fmt: skip
    assert Path(picture).exists(), done.stderr
    console = re.findall(r"CONSOLE[^\]]*\] (.*)", done.stderr)
    urls = re.findall(r'"url":"([a-z]+:[^"]*)"', net_log.read_text()) if net_log.exists() else []
    own = re.compile(r"(file|data|about|chrome[a-z-]*):|https?://([a-z0-9]+\.)*(google|googleapis|gstatic)\.com/")  # the browser's own errands
    return console, {u for u in urls if not own.match(u)}


def pixels(path):
    """Rows of (r, g, b), of a PNG with 8 bits a channel."""
    data = Path(path).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, header = 8, b"", None
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
        at += 12 + size
    width, height, depth, color = header[:4]
    assert depth == 8 and color in (2, 6) and header[6] == 0
    step = 3 if color == 2 else 4
    raw, out, before = zlib.decompress(packed), [], bytearray(width * step)
    for y in range(height):
        kind = raw[y * (width * step + 1)]
        line = bytearray(raw[y * (width * step + 1) + 1 : (y + 1) * (width * step + 1)])
        for x in range(len(line)):
            a = line[x - step] if x >= step else 0
            b, c = before[x], before[x - step] if x >= step else 0
            if kind == 1:
                line[x] = (line[x] + a) & 255
            elif kind == 2:
                line[x] = (line[x] + b) & 255
            elif kind == 3:
                line[x] = (line[x] + (a + b) // 2) & 255
            elif kind == 4:
                p = a + b - c
                near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
                line[x] = (line[x] + near) & 255
        out.append([tuple(line[x : x + 3]) for x in range(0, len(line), step)])
        before = line
    return out
