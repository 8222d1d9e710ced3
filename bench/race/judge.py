"""Ours and a peer's work by turns in one process, judged by the ratio of CPU time."""

import argparse
import gc
import json
import statistics
import time


def cost(work):
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


class Race:
    """Jobs with goals: a JSON line each, and a last one that counts."""

    def __init__(self, name, n, only):
        self.name, self.n, self.only, self.met, self.missed = name, n, only, 0, []

    def judge(self, line, ratio):
        goal = line.get("goal")
        if goal is not None:
            line["met"] = ratio <= goal
            if ratio <= goal:
                self.met += 1
            else:
                self.missed.append(line["job"])
        print(json.dumps(line), flush=True)

    def run(self, job, ours, theirs, goal=None, peer="pylance", **facts):
        job = f"{job} | {peer}"
        if self.only not in job:
            return
        ours(), theirs()
        turns = [(cost(ours), cost(theirs)) for _ in range(self.n)]
        (cpu, wall), (their_cpu, their_wall) = (
            [statistics.median(t[who][what] for t in turns) for what in (0, 1)] for who in (0, 1))
        cpu_ratio = round(cpu / max(their_cpu, 1e-9), 3)
        self.judge({"race": self.name, "job": job, "n": self.n, "cpu": round(cpu, 6), "wall": round(wall, 6),
                    "peer": peer, "peer_cpu": round(their_cpu, 6), "peer_wall": round(their_wall, 6),
                    "cpu_ratio": cpu_ratio, "wall_ratio": round(wall / max(their_wall, 1e-9), 3),
                    "goal": goal, **facts}, cpu_ratio)

    def bytes(self, job, ours, theirs, goal, peer):
        job = f"{job} | {peer}"
        if self.only in job:
            ratio = round(ours / max(theirs, 1), 4)
            self.judge({"race": self.name, "job": job, "bytes": ours, "peer": peer, "peer_bytes": theirs,
                        "bytes_ratio": ratio, "goal": goal}, ratio)

    def end(self):
        print(json.dumps({"race": self.name, "met": self.met, "missed": self.missed}))


def run_jobs(doc, make, kinds):
    """The command of a race: `make(arguments)` has a Race named `race`, and of `kinds`, by name, the jobs that are asked for."""
    ap = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", default="", help="jobs whose name holds this")
    ap.add_argument("--rows", type=int, default=1_000_000)
    ap.add_argument("--n", type=int, default=7)
    ap.add_argument("--module", default="pilum")
    ap.add_argument("--jobs", default=",".join(kinds))
    a = ap.parse_args()
    jobs = make(a)
    for name, work in kinds.items():
        if name in a.jobs.split(","):
            work(jobs)
    jobs.race.end()
