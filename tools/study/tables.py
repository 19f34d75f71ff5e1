"""Rows of runs, and tables of them in Markdown. A row is a dict; row["summary"] is the run's summary.json."""
import statistics

from intervals import mean_sd


def select(rows, **wanted):
    """The rows with these values, in the order of their seeds."""
    return sorted((row for row in rows if all(row[key] == value for key, value in wanted.items())),
                  key=lambda row: row["seed"])


def values_of(rows, key):
    """The different values, ascending; participations descending."""
    return sorted({row[key] for row in rows}, reverse=key == "participations")


def figures(rows, group, metric="rmse"):
    """A figure of the final evaluation, for each row."""
    return [row["summary"]["eval"][group][metric] for row in rows]


def bins(rows, metric="rmse"):
    """Seen users by how often they took part. Per bin: (least, most, share of the users, figure per row)."""
    seen = [row["summary"]["eval"]["seen"] for row in rows]
    collected = []
    for same in zip(*(group["by_participation"] for group in seen)):
        share = statistics.mean(one["clients"] / group["clients"] for one, group in zip(same, seen))
        collected.append((min(one["least"] for one in same), max(one["most"] for one in same), share,
                          [one[metric] for one in same]))
    return collected


def number(value):
    return f"{value:g}"


def text(values, sign=False, spread=mean_sd, digits=4):
    if not values:
        return "-"
    mean, width = spread(values)
    return f"{mean:{'+' if sign else ''}.{digits}f} ± {width:.{digits}f}"


def table(header, lines):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *lines]) + "\n"


def sections(titled):
    """Tables with their titles, as (title, body)."""
    return "\n".join(f"### {title}\n\n{body}" for title, body in titled)
