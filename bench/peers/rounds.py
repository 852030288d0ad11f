"""Runs engines by turns and condenses what they answered: medians over rounds, ratios taken within each round."""
import os
import resource
import statistics
import time


def busy_seconds():
    """Processor time that the whole machine has spent since it started (user, nice, system, steal)."""
    with open("/proc/stat", encoding="ascii") as f:
        n = [int(x) for x in f.readline().split()[1:]]
    return (n[0] + n[1] + n[2] + n[7]) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class Others:
    """The share of the processors that other programs took between start and `share` (children must have ended)."""

    def __init__(self):
        self.start = time.monotonic(), busy_seconds(), own_seconds()

    def share(self):
        wall = time.monotonic() - self.start[0]
        return max(0.0, (busy_seconds() - self.start[1]) - (own_seconds() - self.start[2])) / (wall * os.cpu_count())


def idle_share(seconds=1.0):
    watch = Others()
    time.sleep(seconds)
    return 1 - watch.share()


def turns(engines, points, n_rounds, measure, keep, say):
    """For each point all rounds, in each round every engine once; the order is turned by one from round to round.
    `measure(engine, point)` gives rows, `keep(row)` takes them with the point's and the round's number in them."""
    for p, point in enumerate(points):
        for r in range(n_rounds):
            for e in range(len(engines)):
                engine = engines[(e + r) % len(engines)]
                say(point, r, engine.name)
                for row in measure(engine, point):
                    keep({"point": p, "round": r, **row})


def condense(rows, points):
    """One row for each point, engine and method, in the order of first appearance, with `us` (median over rounds of the
    rounds' medians), `us_min`, `us_max`, `rounds`, and `by_round` for ratios."""
    out = {}
    for row in rows:
        key = row["point"], row["engine"], row["method"]
        c = out.setdefault(key, {**points[row["point"]], "point": row["point"], "engine": row["engine"], "method": row["method"], "by_round": {}, "first": row})
        c["by_round"][row["round"]] = row
    for c in out.values():
        us = [row["median_us"] for row in c["by_round"].values()]
        c.update(us=statistics.median(us), us_min=min(us), us_max=max(us), us_best=min(row["best_us"] for row in c["by_round"].values()), rounds=len(us))
    return sorted(out.values(), key=lambda c: c["point"])


def ratio(slow, fast):
    """How many times as fast: the median of the ratios of those rounds that both have; None without any."""
    both = slow["by_round"].keys() & fast["by_round"].keys()
    return statistics.median(slow["by_round"][r]["median_us"] / fast["by_round"][r]["median_us"] for r in both) if both else None


def best(rows):
    return min(rows, key=lambda c: c["us"], default=None)


def read_gb_s(rows, point):
    """Ingot's plain read of its bytes in the same rounds: the ceiling for everybody. None where Ingot did not run."""
    seen = [r["copy_gb_s"] for c in rows if c["point"] == point for r in c["by_round"].values() if r.get("copy_gb_s")]
    return statistics.median(seen) if seen else None
