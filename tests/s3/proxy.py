"""A TCP proxy in front of an S3 server that spoils chosen answers, for tests. One request a connection: it asks both sides to
close."""

import re
import socket
import threading
import time


class Proxy:
    """``spoil(n, method, target)`` gives, for the n-th request (from 0), what to do with it:

    None                nothing
    "refuse"            the connection is closed before the server sees anything
    "lose"              the server does it, the answer is dropped
    "cut"               the body is cut in half, the connection closed
    "short"             half of the body with a content-length that says so
    "long"              more body than asked for
    "garbage"           200 and a body that makes no sense
    "503", "500"        that status, nothing is done
    ("delay", seconds)  the answer comes late
    a function          it is called before the server sees anything, of several requests at once
    """

    def __init__(self, endpoint, spoil=None):
        self.to = (re.match(r"http://([^:]+):(\d+)", endpoint).group(1), int(endpoint.rsplit(":", 1)[1]))
        self.spoil = spoil or (lambda n, method, target: None)
        self.requests = []
        self._lock = threading.Lock()
        self._listen = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.endpoint = f"http://127.0.0.1:{self._listen.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listen.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listen.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    @staticmethod
    def _read_head(file):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = file.readline()
            if not line:
                return None
            head += line
        return head

    @staticmethod
    def _length(head):
        found = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        return int(found.group(1)) if found else 0

    def _serve(self, client):
        try:
            with client:
                file = client.makefile("rb")
                head = self._read_head(file)
                if head is None:
                    return
                body = file.read(self._length(head))
                method, target = head.split(b" ")[0].decode(), head.split(b" ")[1].decode()
                with self._lock:
                    how = self.spoil(len(self.requests), method, target)
                    self.requests.append((method, target))
                self._answer(client, method, head, body, how)
        except OSError:
            pass

    def _answer(self, client, method, head, body, how):
        if how == "refuse":
            return
        if how in ("500", "503"):
            text = b"<Error><Code>SlowDown</Code><Message>later</Message></Error>"
            client.sendall(b"HTTP/1.1 " + how.encode() + b" X\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(text) + text)
            return
        if how == "garbage":
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\n<html>&")
            return
        if callable(how):
            how()
        with socket.create_connection(self.to) as server:
            server.sendall(head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1) + body)
            file = server.makefile("rb")
            head = self._read_head(file) or b""
            answer = file.read() if method != "HEAD" else b""
        if isinstance(how, tuple):
            time.sleep(how[1])
        if how == "lose":
            return
        if how in ("short", "cut", "long"):
            answer = answer + b"x" * 10 if how == "long" else answer[: len(answer) // 2]
        if how in ("short", "long"):
            head = re.sub(rb"(?i)\r\ncontent-length: *\d+", b"\r\nContent-Length: %d" % len(answer), head)
        client.sendall(head + answer)
