#!/usr/bin/env python3
"""Cuts a dataset of ratings into folders of nodes, each with a ratings.csv for the data source hosted-ratings.

usage: split_ratings.py RATINGS --out DIR (--nodes N | --clients FIRST-LAST...) [--users N]

RATINGS is ratings.dat (user::item::rating::timestamp), u.data (the same between tabs), or a CSV file with a header whose
first three columns are user, item and rating and whose fourth, if any, is a timestamp.

Users and items are numbered from 0 by ascending id, as the source "movielens" numbers them, so that a run on the pieces
ends with the model of a run on the whole. DIR gets node-FIRST-LAST/ratings.csv for each node, and items.csv and
users.csv with the original ids; what the scenario must say of [data] is printed.
"""
import argparse
import csv
import math
import sys
from pathlib import Path

Rating = tuple[int, int, str, str]  # user, item, rating, timestamp: the latter as written, "" where there is none


class Problem(Exception):
    """Where, what is wrong, what to do about it."""


def parse(fields: list[str], place: str, columns: int) -> Rating:
    try:
        if len(fields) != columns:
            raise ValueError
        user, item, rating = int(fields[0]), int(fields[1]), float(fields[2])
        if columns == 4:
            int(fields[3])
    except ValueError:
        raise Problem(f"{place}: found {','.join(fields)[:60]!r}; expected user, item, rating"
                      f"{' and timestamp' if columns == 4 else ''}, all numbers") from None
    if user < 0 or item < 0 or not math.isfinite(rating):
        raise Problem(f"{place}: found {','.join(fields)[:60]!r}; expected ids from 0 and a finite rating")
    return user, item, fields[2], fields[3] if columns == 4 else ""


def read_ratings(path: Path) -> list[Rating]:
    """All ratings in the order of the file."""
    try:
        lines = path.read_text(encoding="latin-1").splitlines()
    except OSError as why:
        raise Problem(f"{path}: {why.strerror}; name a file of ratings") from None
    if not lines:
        raise Problem(f"{path}: the file is empty; expected one rating a line")
    separator = "::" if "::" in lines[0] else "\t" if "\t" in lines[0] else ","
    begin = 1 if separator == "," else 0
    columns = 4 if separator != "," else len(lines[0].split(","))
    if columns not in (3, 4):
        raise Problem(f"{path}:1: found {lines[0][:60]!r}; expected a header of user, item, rating and maybe timestamp")
    if begin and lines[0].split(",")[0].strip().lstrip("-").isdigit():
        raise Problem(f"{path}:1: found {lines[0][:60]!r}; expected a header")
    ratings = [parse(line.split(separator), f"{path}:{number}", columns)
               for number, line in enumerate(lines[begin:], begin + 1)]
    if not ratings:
        raise Problem(f"{path}: has a header and no ratings; expected one rating a line")
    return ratings


def read_ranges(words: list[str], users: int) -> list[tuple[int, int]]:
    """Ranges of clients that cover 0 to users - 1, each once."""
    ranges = []
    for word in words:
        first, dash, last = word.partition("-")
        if not (dash and first.isdigit() and last.isdigit() and int(first) <= int(last)):
            raise Problem(f"--clients {word}: is not FIRST-LAST; write 0-49, for example")
        ranges.append((int(first), int(last)))
    ranges.sort()
    expected = 0
    for first, last in ranges:
        if first != expected:
            raise Problem(f"--clients {first}-{last}: client {min(first, expected)} is in "
                          f"{'no range' if first > expected else 'two ranges'}; every client lives on one node")
        expected = last + 1
    if expected != users:
        raise Problem(f"--clients: the ranges end at client {expected - 1}, and clients are 0 to {users - 1}; "
                      "every client lives on one node")
    return ranges


def share(users: int, nodes: int) -> list[tuple[int, int]]:
    """`nodes` ranges of about the same number of clients."""
    if nodes < 1 or nodes > users:
        raise Problem(f"--nodes {nodes}: there are {users} users; give each node at least one")
    edges = [users * i // nodes for i in range(nodes + 1)]
    return [(edges[i], edges[i + 1] - 1) for i in range(nodes)]


def write_ids(path: Path, column: str, ids: list[int]) -> None:
    with path.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([column, "id"])
        writer.writerows(enumerate(ids))


def write_nodes(out: Path, ratings: list[Rating], ranges: list[tuple[int, int]], users: dict[int, int],
                items: dict[int, int]) -> None:
    timed = any(time for *_, time in ratings)
    node_of = [node for node, (first, last) in enumerate(ranges) for _ in range(first, last + 1)]
    rows: list[list[str]] = [[] for _ in ranges]
    for user, item, rating, time in ratings:
        client = users[user]
        rows[node_of[client]].append(f"{client},{items[item]},{rating}{',' + time if timed else ''}\n")
    for (first, last), lines in zip(ranges, rows):
        folder = out / f"node-{first}-{last}"
        folder.mkdir()
        with (folder / "ratings.csv").open("w") as file:
            file.write("user,item,rating,timestamp\n" if timed else "user,item,rating\n")
            file.writelines(lines)


def split(options: argparse.Namespace) -> str:
    """Does it; what the scenario must say."""
    if options.users is not None and options.users < 1:
        raise Problem(f"--users {options.users}: leaves nobody; keep at least one")
    ratings = read_ratings(options.ratings)
    user_ids = sorted({rating[0] for rating in ratings})[:options.users]
    kept = set(user_ids)
    ratings = [rating for rating in ratings if rating[0] in kept]
    item_ids = sorted({rating[1] for rating in ratings})
    ranges = read_ranges(options.clients, len(user_ids)) if options.clients else share(len(user_ids), options.nodes)
    if options.out.exists() and any(options.out.iterdir()):
        raise Problem(f"{options.out}: is not empty; name a new folder with --out")
    options.out.mkdir(parents=True, exist_ok=True)
    write_nodes(options.out, ratings, ranges, {id: n for n, id in enumerate(user_ids)},
                {id: n for n, id in enumerate(item_ids)})
    write_ids(options.out / "users.csv", "user", user_ids)
    write_ids(options.out / "items.csv", "item", item_ids)
    values = [float(rating[2]) for rating in ratings]
    return (f'[data]\nsource = "hosted-ratings"\nusers = {len(user_ids)}\nitems = {len(item_ids)}\n'
            f"rating_low = {min(values):g}\nrating_high = {max(values):g}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Cut a dataset of ratings into folders of nodes.")
    parser.add_argument("ratings", type=Path, help="ratings.dat, u.data or a CSV file with a header")
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--nodes", type=int, help="so many nodes with about the same number of clients")
    how.add_argument("--clients", nargs="+", metavar="FIRST-LAST", help="the clients of each node")
    parser.add_argument("--users", type=int, help="keep only so many users, those with the lowest ids")
    try:
        print(split(parser.parse_args()))
    except Problem as why:
        print(f"split_ratings.py: {why}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
