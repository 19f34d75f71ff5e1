"""The figure of docs/crossover.md as SVG, drawn on a white card: it reads the same on light and dark pages."""
import math

from crossover_tables import BINNED, NAMES, bins, differences, mean_sd, number, rmse, select, values_of

# Colour (Okabe and Ito: told apart by colour-blind people too), marker.
STYLE = {"furl": ("#d55e00", "square"), "furl-cold-start": ("#b8860b", "diamond"), "fedrecon": ("#0072b2", "circle"),
         "fedrecon-sgd": ("#009e73", "triangle"), "fedavg": ("#cc79a7", "plus"), "fedavg-shared": ("#666666", "cross")}
PERSONAL = [a for a in STYLE if a != "fedavg-shared"]  # that one is far above the others: it would flatten them
WIDTH, HEIGHT = 960, 1124
PANEL_WIDTH, PANEL_HEIGHT = 388, 258
INK, GRID = "#222222", "#e4e4e4"


class Panel:
    """Axes with a title; x and y in the units of the data."""

    def __init__(self, place, title, x_label, x_range, y_range, log_x=False):
        self.left, self.top = place
        self.clip = f"clip-{self.left}-{self.top}"
        self.x_range, self.y_range, self.log_x = x_range, y_range, log_x
        self.parts = [f'<text x="{self.left}" y="{self.top - 14}" class="title">{title}</text>',
                      f'<text x="{self.left + PANEL_WIDTH / 2}" y="{self.top + PANEL_HEIGHT + 36}" '
                      f'class="label" text-anchor="middle">{x_label}</text>']

    def x(self, value):
        low, high = self.x_range
        if self.log_x:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return self.left + PANEL_WIDTH * (value - low) / (high - low)

    def y(self, value):
        low, high = self.y_range
        return self.top + PANEL_HEIGHT * (high - value) / (high - low)

    def axes(self, x_ticks, y_step):
        right, bottom = self.left + PANEL_WIDTH, self.top + PANEL_HEIGHT
        self.parts.append(f'<clipPath id="{self.clip}"><rect x="{self.left}" y="{self.top}" width="{PANEL_WIDTH}" '
                          f'height="{PANEL_HEIGHT}"/></clipPath>')
        for value, name in x_ticks:
            x = self.x(value)
            self.parts.append(f'<line x1="{x:.1f}" y1="{self.top}" x2="{x:.1f}" y2="{bottom}" stroke="{GRID}"/>'
                              f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="middle">{name}</text>')
        steps = range(math.ceil(self.y_range[0] / y_step - 1e-9), math.floor(self.y_range[1] / y_step + 1e-9) + 1)
        for value in (i * y_step for i in steps):
            y = self.y(value)
            self.parts.append(f'<line x1="{self.left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{GRID}"/>'
                              f'<text x="{self.left - 7}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>')
        self.parts.append(f'<path d="M{self.left} {self.top}V{bottom}H{right}" fill="none" stroke="{INK}"/>')

    def curve(self, algorithm, points, dashed=False):
        """Points (x, values over the seeds): mean, and a bar of one standard deviation each way."""
        colour, shape = STYLE[algorithm]
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        places, bars = [], []
        for value, seeds in points:
            mean, sd = mean_sd(seeds)
            x, y = self.x(value), self.y(mean)
            places.append((x, y))
            bars.append(f"M{x:.1f} {self.y(mean - sd):.1f}V{self.y(mean + sd):.1f}")
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        self.parts.append(f'<g clip-path="url(#{self.clip})"><path d="M{line}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
                          f'<path d="{"".join(bars)}" stroke="{colour}" stroke-width="1.2"/></g>')
        self.parts += [marker(shape, x, y, colour, hollow=dashed) for x, y in places if y >= self.top - 1]


def marker(shape, x, y, colour, hollow=False):
    paths = {"square": "M-4-4H4V4H-4Z", "diamond": "M0-5.5L5.5 0L0 5.5L-5.5 0Z", "triangle": "M0-5.5L5 4H-5Z",
             "circle": "M-4.5 0A4.5 4.5 0 1 0 4.5 0A4.5 4.5 0 1 0-4.5 0Z", "cross": "M-4-4L4 4M-4 4L4-4",
             "plus": "M-5 0H5M0-5V5"}
    fill = "#ffffff" if hollow else colour
    return (f'<path transform="translate({x:.1f} {y:.1f})" d="{paths[shape]}" fill="{fill}" stroke="{colour}" '
            f'stroke-width="1.8"/>')


def bounds(curves, step):
    """A range of whole steps around all points and their bars."""
    lows, highs = [], []
    for _, points, _ in curves:
        for _, seeds in points:
            mean, sd = mean_sd(seeds)
            lows.append(mean - sd)
            highs.append(mean + sd)
    return step * math.floor(min(lows) / step), step * math.ceil(max(highs) / step)


def drawn(place, title, x_label, curves, ticks, log_x=False, margin=0.0, highest=math.inf):
    """A panel with these curves: (algorithm, points, dashed); cut at `highest`."""
    low, high = bounds(curves, 0.01)
    high = min(high, highest)
    step = next(one for one in (0.01, 0.02, 0.05, 0.1, 0.5) if high - low <= 9 * one or one == 0.5)
    values = [value for value, _ in ticks]
    x_range = (min(values) / 1.15, max(values) * 1.15) if log_x else (min(values) - margin, max(values) + margin)
    panel = Panel(place, title, x_label, x_range, (low, high), log_x)
    panel.axes(ticks, step)
    for curve in curves:
        panel.curve(*curve)
    return panel.parts


def participation_panel(rows, place, group, title):
    plain = select(rows, dropout=0)
    points = values_of(plain, "participations")
    curves = [(a, [(p, rmse(select(plain, algorithm=a, participations=p), group)) for p in points], False)
              for a in NAMES]
    return drawn(place, title, "p, mean participations a user", curves, [(p, number(p)) for p in points], log_x=True)


def difference_panel(rows, place):
    points = values_of(select(rows, dropout=0), "participations")
    curves = [(a, [(p, differences(rows, a, "fedrecon", p)) for p in points], False) for a in PERSONAL]
    return drawn(place, "Seen users: RMSE minus that of FedRecon, exact", "p, mean participations a user", curves,
                 [(p, number(p)) for p in points], log_x=True, highest=0.05)


def dropout_panel(rows, place, participations):
    here = select(rows, participations=participations)
    rates = values_of(here, "dropout")
    curves = []
    for a in PERSONAL:
        for commit in ("after-training", "after-ack"):
            points = [(rate, rmse(select(here, algorithm=a, dropout=rate, commit=commit), "seen")) for rate in rates]
            curves.append((a, [point for point in points if point[1]], commit == "after-ack"))
    curves = [curve for curve in curves if curve[1]]
    return drawn(place, f"Seen users under dropout, p = {number(participations)}", "dropout, % of the tasks", curves,
                 [(rate, number(rate)) for rate in rates], margin=2.5)


def bins_panel(rows, place, participations):
    """Differences: the users of two bins differ by chance, those of one bin are the same under every algorithm."""
    exact = bins(rows, "fedrecon", participations)
    ticks = [(i, number(least) if least == most else f"{least}–{most}") for i, (least, most, _, _) in enumerate(exact)]
    curves = []
    for a in PERSONAL:
        found = zip(bins(rows, a, participations), exact)
        curves.append((a, [(i, [x - y for x, y in zip(one[3], base[3])]) for i, (one, base) in enumerate(found)],
                       False))
    return drawn(place, f"Seen users, p = {number(participations)}: RMSE minus FedRecon, exact",
                 "how often the user took part", curves, ticks, margin=0.3)


def legend():
    parts, x = [], 62
    for a, name in NAMES.items():
        colour, shape = STYLE[a]
        parts.append(f'<path d="M{x} 66h26" stroke="{colour}" stroke-width="2"/>{marker(shape, x + 13, 66, colour)}'
                     f'<text x="{x + 33:.1f}" y="70">{name}</text>')
        x += 47 + 6.1 * len(name)
    parts.append(f'<path d="M{x} 66h26" stroke="{INK}" stroke-width="2" stroke-dasharray="5 4"/>'
                 f'<text x="{x + 33:.1f}" y="70">commit after-ack</text>')
    return parts


def svg(rows):
    sparse, dense = BINNED
    left, right, rows_at = 62, 552, (122, 466, 810)
    seeds = len({row["seed"] for row in rows})
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="sans-serif" font-size="12" fill="{INK}" role="img" aria-label="RMSE of FURL, FedRecon and FedAvg '
        'by mean participations, dropout and how often a user took part">',
        "<style>.title{font-size:14px;font-weight:bold}.label{font-size:12.5px}</style>",
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="6" fill="#ffffff" stroke="#cccccc"/>',
        '<text x="62" y="34" font-size="17" font-weight="bold">Keeping a private part, or rebuilding it: MovieLens-1M'
        "</text>",
        f'<text x="940" y="34" text-anchor="end" fill="#555555">RMSE, lower is better; mean ± sd, {seeds} seeds</text>',
        *legend(),
        *participation_panel(rows, (left, rows_at[0]), "seen", "Seen users"),
        *difference_panel(rows, (right, rows_at[0])),
        *participation_panel(rows, (left, rows_at[1]), "unseen", "Unseen users"),
        *dropout_panel(rows, (right, rows_at[1]), sparse),
        *bins_panel(rows, (left, rows_at[2]), sparse),
        *bins_panel(rows, (right, rows_at[2]), dense),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
