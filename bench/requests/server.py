"""A loopback object store as S3 speaks it, as far as reading one file needs: HEAD and ranged GET of the files of one folder, each
after a fixed latency. It counts; `GET /-/counts` gives the counts since the last one and begins anew. Prints its port.

    server.py FOLDER [LATENCY_MS]
"""

import json
import re
import sys
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[1])
LATENCY = float(sys.argv[2]) / 1e3 if len(sys.argv) > 2 else 0.02
LOCK = threading.Lock()
COUNTS = {"heads": 0, "requests": 0, "bytes": 0}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, code, body=b"", size=None, **headers):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body) if size is None else size))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def file(self):
        path = FOLDER / self.path.split("?")[0].rsplit("/", 1)[-1]
        return path if path.is_file() else None

    def do_HEAD(self):
        time.sleep(LATENCY)
        path = self.file()
        with LOCK:
            COUNTS["heads"] += 1
        if path is None:
            return self.answer(404)
        self.answer(200, size=path.stat().st_size, ETag='"1"', Last_Modified=formatdate(path.stat().st_mtime, usegmt=True))

    def do_GET(self):
        if self.path == "/-/counts":
            with LOCK:
                body = json.dumps(COUNTS).encode()
                COUNTS.update(dict.fromkeys(COUNTS, 0))
            return self.answer(200, body)
        time.sleep(LATENCY)
        path = self.file()
        if path is None:
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        total = path.stat().st_size
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        begin, end = 0, total
        if wanted and wanted[1]:
            begin, end = int(wanted[1]), min(total, int(wanted[2]) + 1 if wanted[2] else total)
        elif wanted:
            begin = max(0, total - int(wanted[2]))
        with path.open("rb") as f:
            f.seek(begin)
            body = f.read(end - begin)
        with LOCK:
            COUNTS["requests"] += 1
            COUNTS["bytes"] += len(body)
        self.answer(206 if wanted else 200, body, ETag='"1"', Last_Modified=formatdate(path.stat().st_mtime, usegmt=True),
                    Accept_Ranges="bytes", Content_Range=f"bytes {begin}-{end - 1}/{total}")


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
