// Timeline: one row per tenant over time, each value holding until the next; a hatched stretch has no value.
import { areaY, axisFy, axisX, axisY, gridX, gridY, lineY, plot, pointer, rect, ruleY, tip } from "@observablehq/plot";
import { colour, hatchGap, hatched } from "./look.js";
import { commonOptions, ems, hasValue, labelAbove, labelBelow, longest, rowsOf, valueDomain, valueLabel, valueScale, valueTicks } from "./layout.js";
import { commonKind, nameWithKind, number } from "./numbers.js";

export function timeline(figure, width) {
  const times = figure.x.map(Number);
  const known = times.every(Number.isFinite);
  const at = (index) => (known ? times[index] : index);
  const rows = rowsOf(figure).map((row) => ({ ...row, from: at(row.at), to: at(Math.min(row.at + 1, times.length - 1)) }));
  const names = figure.series.map((series) => (commonKind(figure) ? series.name : nameWithKind(series)));
  const marginRight = Math.min(width * 0.3, longest(names) + 14);
  const base = valueDomain(figure, rows)[0];
  const ticks = figure.log_y ? outermost(valueTicks(figure, rows)) : { ticks: 2 };
  const options = commonOptions(figure, width);
  options.marks.push(
    gridX({ stroke: "var(--grid)", strokeOpacity: 1 }),
    gridY({ ...ticks, stroke: "var(--grid)", strokeOpacity: 1 }),
    axisY({ ...ticks, tickSize: 0, label: null }),
    axisX({ ticks: 8, tickSize: 4, label: null, tickFormat: known ? number : (index) => figure.x[index] ?? "" }),
    axisFy({ anchor: "right", label: null, tickSize: 0, tickFormat: (index) => names[index], lineWidth: ems(marginRight - 8), fontVariant: "normal" }),
    rect(rows.filter((row) => !hasValue(row) && row.to > row.from), { fy: "series", x1: "from", x2: "to", fill: "none", render: hatched(hatchGap) }),
    ...figure.series.flatMap((_, index) => steps(rows.filter((row) => row.series === index), index, base)),
    ruleY([base], { stroke: "currentColor" }),
    labelAbove(valueLabel(figure), 52),
    labelBelow(figure.x_title, 38),
    tip(rows, pointer({ fy: "series", x: (row) => (row.from + row.to) / 2, y: (row) => (hasValue(row) ? row.value : base), title: "title", lineHeight: 1.3 })),
  );
  const rowHeight = figure.series.length > 16 ? 30 : figure.series.length > 7 ? 44 : 64;
  return plot({
    ...options,
    height: figure.series.length * rowHeight + 84,
    marginLeft: 52, marginRight, marginTop: 36, marginBottom: 46,
    fy: { domain: figure.series.map((_, index) => index), padding: 0.16, label: null },
    x: { type: "linear", domain: [at(0), at(times.length - 1)], label: null },
    y: valueScale(figure, rows),
  });
}

function steps(rows, index, base) {
  const corners = rows.flatMap((row) => (hasValue(row) ? [{ ...row, x: row.from }, { ...row, x: row.to }] : [{ ...row, x: row.from }]));
  return [
    areaY(corners, { fy: "series", x: "x", y1: () => base, y2: "value", fill: colour(index), fillOpacity: 0.25 }),
    lineY(corners, { fy: "series", x: "x", y: "value", stroke: colour(index), strokeWidth: 1.8 }),
  ];
}

// A row is too low for more than two.
const outermost = ({ ticks, tickFormat }) => ({ ticks: [ticks[0], ticks.at(-1)], tickFormat });
