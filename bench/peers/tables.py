"""Markdown from condensed rows."""
import rounds

SHORT = {"llama.cpp": "llama", "ik_llama.cpp": "ik"}


def figure(x, digits=2):
    return "" if x is None else f"{x:,.{digits}f}".replace(",", " ")


def grid(head, lines):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(line) + " |" for line in lines)])


def peer_columns(rows):
    """What Ingot's rows are compared with: the best of each peer, and its 4-bit cache, which holds about as many bytes."""
    columns = []
    for engine in dict.fromkeys(c["engine"] for c in rows if c["engine"] != "ingot"):
        columns.append((f"x {SHORT[engine]} best", engine, None))
        if any(c["engine"] == engine and c["method"] == "q4_0" for c in rows):
            columns.append((f"x {SHORT[engine]} q4_0", engine, "q4_0"))
    return columns


def against(rows, c, engine, method):
    candidates = [r for r in rows if r["point"] == c["point"] and r["engine"] == engine and (method is None or r["method"] == method)]
    other = rounds.best(candidates)
    return rounds.ratio(other, c) if other else None


def ratios(rows, c, columns):
    return [figure(against(rows, c, engine, method)) if c["engine"] == "ingot" else "" for _, engine, method in columns]


def attn(rows, points):
    """A table for each geometry and context: times, what a plain read of the bytes would take, and the ratios."""
    columns = peer_columns(rows)
    parts = []
    for p, cell in enumerate(points):
        here, read = [c for c in rows if c["point"] == p], rounds.read_gb_s(rows, p)
        if not here:
            continue
        lines = []
        for c in here:
            first = c["first"]
            plain = None if read is None else first["bytes"] / read / 1e3
            error = first.get("rel_error", first.get("error"))
            lines.append([c["engine"], c["method"], figure(c["us"], 0), f"{figure(c['us_min'], 0)}..{figure(c['us_max'], 0)}", figure(first["bytes"] / 2**20),
                          figure(plain and c["us"] / plain), "" if error is None else f"{error:.2g}", *ratios(rows, c, columns)])
        parts.append(f"### {cell['ctx']} tokens, {cell['heads']} / {cell['kv_heads']} heads of {cell['head_dim']}, {cell['threads']} thread{'s'[: cell['threads'] > 1]}\n\n"
                     f"Plain read: {figure(read, 1) or 'not measured'} GB/s.\n\n"
                     + grid(["engine", "K:V:path", "median us", "min..max", "MiB", "x plain read", "error", *(name for name, _, _ in columns)], lines))
    return "\n\n".join(parts)


def model(rows, points):
    """A table for each test: tokens per second and the ratios."""
    columns = peer_columns(rows)
    parts = []
    for p, test in enumerate(points):
        here = [c for c in rows if c["point"] == p]
        if not here:
            continue
        lines = [[c["engine"], c["method"], figure(1e6 / c["us"], 1), f"{figure(1e6 / c['us_max'], 1)}..{figure(1e6 / c['us_min'], 1)}", figure(1e6 / c["us_best"], 1),
                  *ratios(rows, c, columns)] for c in here]
        what = f"prefill of {test['n_tokens']} tokens" if test["test"] == "prefill" else f"decode behind {test['depth']} tokens"
        parts.append(f"### {what}, {test['threads']} thread{'s'[: test['threads'] > 1]}\n\n"
                     + grid(["engine", "K:V:path", "tokens/s (median)", "min..max of rounds", "best", *(name for name, _, _ in columns)], lines))
    return "\n\n".join(parts)


def heading(run):
    machine, others = run["machine"] or {}, run["others_share"]
    lines = [f"{machine.get('processor', 'unknown processor')}, {machine.get('cores', '?')} cores, {machine.get('system', '')}; {run['rounds']} rounds by turns, {run['clock']} time; "
             f"before the run the machine was {100 * run['idle_before']:.0f} % idle"
             + ("." if others is None else f", during it other programs took {100 * others:.0f} % of it.")]
    for name, e in run["engines"].items():
        lines.append(f"- {name}: {'commit ' + e['commit'][:12] if e['commit'] else 'no commit known'}{' with changes' if e['changed'] else ''}")
    if run["partial"]:
        lines.append(f"- **Partial**: {run['partial']}")
    return "\n".join(lines)
