#!/usr/bin/env python3
"""Draws the plots of docs/benchmarks.md from committed results.

  bench/plots.py [--results bench/results] [--quality docs/eval] [--out docs/img]

Reads every *.json there: what `ingot bench attn --json` wrote, OUTPUT.json of bench/peers/compare.py (one attention
operation), and report.json of `ingot eval report`, told apart by their keys. Needs matplotlib. Writes SVG; the same results
give the same files.
"""
import argparse
import json
import os
import re
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
plt.rcParams.update({"svg.hashsalt": "ingot", "svg.fonttype": "none", "font.size": 10, "axes.grid": True, "grid.alpha": 0.3, "figure.figsize": (8, 5), "lines.markersize": 4})


def documents(folders):
    """(path, object) of every JSON object below the folders, in order."""
    for folder in folders:
        for base, names, files in sorted(os.walk(folder)):
            names.sort()
            for name in sorted(files):
                if not name.endswith(".json"):
                    continue
                path = os.path.join(base, name)
                with open(path, encoding="utf-8") as f:
                    document = json.load(f)
                if isinstance(document, dict):
                    yield path, document


def own_rows(document):
    """Rows of `ingot bench attn`."""
    if document.get("bench") != "attn":
        return []
    return [{**r, "engine": ""} for r in document["rows"] if not r["partial"] and r["n_queries"] == 1]


def peer_rows(document):
    """Medians over the rounds of a comparison with other engines, with the point's geometry in them. Where Ingot did not run there is no ceiling, and no row."""
    if document.get("what") != "attn" or "points" not in document:
        return []
    groups = {}
    for r in document["rows"]:
        groups.setdefault((r["point"], r["engine"], r["method"]), []).append(r)
    ceilings = {p: [r["copy_gb_s"] for r in document["rows"] if r["point"] == p and r.get("copy_gb_s")] for p in range(len(document["points"]))}
    rows = []
    for (p, engine, method), some in groups.items():
        point, us = document["points"][p], median([r["median_us"] for r in some])
        if not ceilings[p]:
            continue
        gb_s, ceiling = 1e-3 * some[0]["bytes"] / us, median(ceilings[p])
        rows.append({"engine": "" if engine == "ingot" else engine, "method": method, "attn": some[0].get("attn", "precise"), "n_tokens": point["ctx"], "n_heads": point["heads"],
                     "n_kv_heads": point["kv_heads"], "head_dim": point["head_dim"], "threads": point["threads"], "median_us": us, "bytes": some[0]["bytes"], "share": gb_s / ceiling})
    return rows


def median(values):
    v = sorted(values)
    return (v[(len(v) - 1) // 2] + v[len(v) // 2]) / 2


def label(r):
    fast = " fast" if r["attn"] == "fast" and "fast" not in r["method"] else ""
    return f"{r['engine']} {r['method']}{fast}".strip()


def by_geometry(rows):
    groups = {}
    for r in rows:
        groups.setdefault((r["n_heads"], r["n_kv_heads"], r["head_dim"], r["threads"]), []).append(r)
    return sorted(groups.items())


def lines_of(rows):
    """Label -> rows by context, of those with at least two."""
    lines = {}
    for r in rows:
        lines.setdefault(label(r), {})[r["n_tokens"]] = r
    return {name: [at[n] for n in sorted(at)] for name, at in lines.items() if len(at) > 1}


def tokens(n, _=None):
    return f"{n / 1024:.0f}K" if n >= 1024 else f"{n:.0f}"


def context_axis(ax, lines):
    ax.set_xscale("log", base=2)
    ax.set_xticks(sorted({r["n_tokens"] for rows in lines.values() for r in rows}))
    ax.xaxis.set_major_formatter(FuncFormatter(tokens))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("tokens of context")


def style(rows, colors):
    """A colour for each method of each engine; fast attention dotted, other engines dashed."""
    r = rows[0]
    color = colors.setdefault((r["engine"], r["method"].replace(" attn=fast", "")), f"C{len(colors)}")
    return {"color": color, "marker": "x" if r["engine"] else "o", "linestyle": "--" if r["engine"] else ":" if r["attn"] == "fast" else "-"}


def draw(path, title, lines, value, ylabel, scale):
    fig, ax = plt.subplots()
    colors = {}
    for name, rows in lines.items():
        ax.plot([r["n_tokens"] for r in rows], [value(r) for r in rows], label=name, **style(rows, colors))
    context_axis(ax, lines)
    ax.set_yscale(scale)
    if scale == "linear":
        ax.set_ylim(0, max(1.0, ax.get_ylim()[1]))
    ax.set_ylabel(ylabel)
    ax.set_title(title)
    ax.legend(fontsize=8, loc="best")
    save(fig, path)


def save(fig, path):
    fig.tight_layout()
    fig.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(fig)
    print(os.path.relpath(path, ROOT))


def draw_attention(out, stem, rows):
    for (heads, kv_heads, dim, threads), group in by_geometry(rows):
        lines = lines_of(group)
        if not lines:
            continue
        name = os.path.join(out, f"{stem}-{heads}-{kv_heads}-{dim}-t{threads}")
        title = f"decode attention, {heads} / {kv_heads} heads of {dim}, {threads} thread{'s' if threads > 1 else ''}"
        draw(f"{name}-latency.svg", title, lines, lambda r: r["median_us"], "microseconds (median)", "log")
        draw(f"{name}-share.svg", title, lines, lambda r: r["share"], "share of the bandwidth of a plain read", "linear")


def quality_points(document):
    """Context -> [(bits per packed element, mean KLD, plan)] of a report, plans with exact tokens left out."""
    found = {}
    if "how" not in document:
        return found
    for row in document["rows"]:
        if re.search(r"\b(window|sinks|policy)=", row["plan"]):
            continue
        for n, c in row.get("contexts", {}).items():
            memory = c.get("memory", {})
            bits = memory.get("packed_bits_per_element") or memory.get("bits_per_element")
            if bits and c.get("mean") and row["plan"] != "f16":
                found.setdefault(int(n), []).append((bits, c["mean"], row["plan"]))
    return found


def front(points):
    """Those that nothing with as few bits beats."""
    kept, least = [], float("inf")
    for p in sorted(points):
        if p[1] < least:
            kept.append(p)
            least = p[1]
    return kept


def draw_quality(out, stem, document):
    for n, points in sorted(quality_points(document).items()):
        fig, ax = plt.subplots()
        best = front(points)
        ax.scatter([p[0] for p in points], [p[1] for p in points], s=14, alpha=0.5)
        ax.plot([p[0] for p in best], [p[1] for p in best], marker="o")
        for bits, kld, plan in best:
            ax.annotate(plan, (bits, kld), textcoords="offset points", xytext=(5, 4), fontsize=7)
        ax.set_yscale("log")
        ax.set_xlabel("bits of a packed element, as allocated")
        ax.set_ylabel("mean KL divergence from f16, nats")
        ax.set_title(f"{document.get('about', {}).get('name', stem)}, contexts of {n} tokens")
        save(fig, os.path.join(out, f"{stem}-{n}-quality.svg"))


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument("--results", default=os.path.join(ROOT, "bench", "results"))
    a.add_argument("--quality", default=os.path.join(ROOT, "docs", "eval"))
    a.add_argument("--out", default=os.path.join(ROOT, "docs", "img"))
    o = a.parse_args()
    os.makedirs(o.out, exist_ok=True)
    for path, document in documents([o.results, o.quality]):
        stem = os.path.splitext(os.path.basename(path))[0]
        if stem == "report":
            stem = os.path.basename(os.path.dirname(path))
        rows = own_rows(document) + peer_rows(document)
        if rows:
            draw_attention(o.out, stem, rows)
        draw_quality(o.out, stem, document)


if __name__ == "__main__":
    sys.exit(main())
