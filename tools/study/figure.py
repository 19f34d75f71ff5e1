"""Figures of studies as SVG, drawn on a white card: they read the same on light and dark pages."""
import math
from collections import namedtuple

from intervals import mean_sd

WIDTH = 960
LEFT, RIGHT = 62, 552  # of the two columns of panels
PANEL_WIDTH, PANEL_HEIGHT, PANEL_STEP = 388, 258, 344
INK, GRID = "#222222", "#e4e4e4"
STEPS = (0.01, 0.02, 0.05, 0.1, 0.5, 1, 2, 5, 10, 20)
SHAPES = {"square": "M-4-4H4V4H-4Z", "diamond": "M0-5.5L5.5 0L0 5.5L-5.5 0Z", "triangle": "M0-5.5L5 4H-5Z",
          "circle": "M-4.5 0A4.5 4.5 0 1 0 4.5 0A4.5 4.5 0 1 0-4.5 0Z", "cross": "M-4-4L4 4M-4 4L4-4",
          "plus": "M-5 0H5M0-5V5"}

# style: (colour, shape); points: (x, values over the seeds)
Curve = namedtuple("Curve", "style points dashed", defaults=(False,))


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
                              f'<text x="{self.left - 7}" y="{y + 4:.1f}" text-anchor="end">'
                              f'{value:.{2 if y_step < 1 else 0}f}</text>')
        self.parts.append(f'<path d="M{self.left} {self.top}V{bottom}H{right}" fill="none" stroke="{INK}"/>')

    def level(self, value, name):
        """A horizontal line across the panel."""
        y, right = self.y(value), self.left + PANEL_WIDTH
        self.parts.append(f'<path d="M{self.left} {y:.1f}H{right}" stroke="{INK}" stroke-dasharray="2 3"/>'
                          f'<text x="{right - 4}" y="{y - 5:.1f}" text-anchor="end">{name}</text>')

    def curve(self, curve, spread):
        """Mean, and a bar of the spread each way."""
        colour, shape = curve.style
        dash = ' stroke-dasharray="5 4"' if curve.dashed else ""
        places, bars = [], []
        for value, seeds in curve.points:
            mean, width = spread(seeds)
            x, y = self.x(value), self.y(mean)
            places.append((x, y))
            bars.append(f"M{x:.1f} {self.y(mean - width):.1f}V{self.y(mean + width):.1f}")
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        self.parts.append(f'<g clip-path="url(#{self.clip})"><path d="M{line}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
                          f'<path d="{"".join(bars)}" stroke="{colour}" stroke-width="1.2"/></g>')
        bottom = self.top + PANEL_HEIGHT
        self.parts += [marker(shape, x, y, colour, hollow=curve.dashed) for x, y in places
                       if self.top - 1 <= y <= bottom + 1]


def marker(shape, x, y, colour, hollow=False):
    fill = "#ffffff" if hollow else colour
    return (f'<path transform="translate({x:.1f} {y:.1f})" d="{SHAPES[shape]}" fill="{fill}" stroke="{colour}" '
            f'stroke-width="1.8"/>')


def bounds(curves, step, spread):
    """A range of whole steps around all points and their bars."""
    lows, highs = [], []
    for curve in curves:
        for _, seeds in curve.points:
            mean, width = spread(seeds)
            lows.append(mean - width)
            highs.append(mean + width)
    return step * math.floor(min(lows) / step), step * math.ceil(max(highs) / step)


def drawn(place, title, x_label, curves, ticks, log_x=False, margin=0.0, lowest=-math.inf, highest=math.inf,
          spread=mean_sd, level=None):
    """A panel with these curves, cut at `lowest` and `highest`. `spread` gives mean and half a bar of a point's values;
    `level`, (value, name), is a line across the panel."""
    low, high = bounds(curves, 0.01, spread)
    low, high = max(low, lowest), min(high, highest)
    step = next(one for one in STEPS if high - low <= 9 * one or one == STEPS[-1])
    values = [value for value, _ in ticks]
    x_range = (min(values) / 1.15, max(values) * 1.15) if log_x else (min(values) - margin, max(values) + margin)
    panel = Panel(place, title, x_label, x_range, (low, high), log_x)
    panel.axes(ticks, step)
    if level and low <= level[0] <= high:
        panel.level(*level)
    for curve in curves:
        panel.curve(curve, spread)
    return panel.parts


def legend(entries, y=66):
    """The styles by their names, in as many lines as they need."""
    parts, x = [], LEFT
    for name, (colour, shape) in entries:
        if x + 33 + 6.1 * len(name) > WIDTH - 14:
            x, y = LEFT, y + 20
        parts.append(f'<path d="M{x} {y}h26" stroke="{colour}" stroke-width="2"/>{marker(shape, x + 13, y, colour)}'
                     f'<text x="{x + 33:.1f}" y="{y + 4}">{name}</text>')
        x += 47 + 6.1 * len(name)
    return parts, x, y


def svg(title, note, description, height, parts):
    """The card: a title, a note at its right, what a screen reader says, and what is drawn."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="12" fill="{INK}" role="img" aria-label="{description}">',
        "<style>.title{font-size:14px;font-weight:bold}.label{font-size:12.5px}</style>",
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6" fill="#ffffff" stroke="#cccccc"/>',
        f'<text x="{LEFT}" y="34" font-size="17" font-weight="bold">{title}</text>',
        f'<text x="940" y="34" text-anchor="end" fill="#555555">{note}</text>',
        *parts, "</svg>"]) + "\n"
