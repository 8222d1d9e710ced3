"""A loopback object store as S3 speaks it, as far as reading files and tables needs: HEAD, ranged GET and lists of a thousand of
the files of one folder, each after a fixed latency. It counts; `GET /-/counts` gives the counts since the last one and begins anew. Prints its port.

    server.py FOLDER [LATENCY_MS]
"""

import json
import re
import sys
import threading
import time
from datetime import datetime, timezone
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

FOLDER = Path(sys.argv[1])
LATENCY = float(sys.argv[2]) / 1e3 if len(sys.argv) > 2 else 0.02
LOCK = threading.Lock()
COUNTS = {"heads": 0, "requests": 0, "bytes": 0, "lists": 0}
PAGE = 1000


def keys(prefix):
    """All below `prefix`, in order, as "a/b/c"."""
    below = FOLDER / prefix.rpartition("/")[0]
    return sorted(k for k in (str(p.relative_to(FOLDER)) for p in below.rglob("*") if p.is_file()) if k.startswith(prefix))


def listing(query):
    """The answer to a ListObjectsV2: XML."""
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    after = query.get("continuation-token") or query.get("start-after", "")
    contents, folders, last, cut = [], [], "", False
    for key in keys(prefix):
        end = key.find(delimiter, len(prefix)) if delimiter else -1
        name = key if end < 0 else key[: end + 1]
        if name <= after or (folders and folders[-1] == name):
            continue
        if len(contents) + len(folders) == int(query.get("max-keys", PAGE)):
            cut = True
            break
        (contents if end < 0 else folders).append(name)
        last = name
    out = f"<ListBucketResult><IsTruncated>{str(cut).lower()}</IsTruncated><KeyCount>{len(contents) + len(folders)}</KeyCount>"
    if cut:
        out += f"<NextContinuationToken>{escape(last)}</NextContinuationToken>"
    for key in contents:
        stat = (FOLDER / key).stat()
        when = datetime.fromtimestamp(stat.st_mtime, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        out += f'<Contents><Key>{escape(key)}</Key><LastModified>{when}</LastModified><ETag>"1"</ETag><Size>{stat.st_size}</Size></Contents>'
    out += "".join(f"<CommonPrefixes><Prefix>{escape(f)}</Prefix></CommonPrefixes>" for f in folders)
    return ('<?xml version="1.0"?>' + out + "</ListBucketResult>").encode()


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
        """Of a path /bucket/a/b."""
        path = FOLDER / unquote(urlsplit(self.path).path).lstrip("/").partition("/")[2]
        return path if path.is_file() and path.resolve().is_relative_to(FOLDER.resolve()) else None

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
        query = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query, keep_blank_values=True).items()}
        if "list-type" in query:
            with LOCK:
                COUNTS["lists"] += 1
            return self.answer(200, listing(query), Content_Type="application/xml")
        path = self.file()
        if path is None:
            with LOCK:
                COUNTS["requests"] += 1
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
