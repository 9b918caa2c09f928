// Lines: one per series over numbers or names; markers at the points, bars or a band for the intervals.
import { areaY, axisX, axisY, dot, gridY, lineY, plot, pointer, ruleX, ruleY, tip } from "@observablehq/plot";
import { colour, dashes, symbol } from "./look.js";
import { commonOptions, hasValue, labelAbove, labelBelow, rowsOf, valueDomain, valueLabel, valueScale, valueTicks } from "./layout.js";
import { number } from "./numbers.js";

const kMarginLeft = 56;
const kMostMarkers = 30; // beyond, markers and interval bars would touch

export function lines(figure, width) {
  const place = placesOf(figure);
  const rows = rowsOf(figure).map((row) => ({ ...row, place: place.of(row) }));
  const few = figure.x.length <= kMostMarkers;
  const base = valueDomain(figure, rows)[0];
  const ticks = valueTicks(figure, rows);
  const options = commonOptions(figure, width);
  options.marks.push(
    gridY({ ...ticks, stroke: "var(--grid)", strokeOpacity: 1 }),
    axisY({ ...ticks, tickSize: 0, label: null }),
    axisX({ ...place.axis, tickSize: 4, label: null }),
    ruleY([figure.log_y ? base : Math.min(0, Math.max(base, 0))], { stroke: "currentColor" }),
    ...figure.series.flatMap((_, index) => oneLine(rows.filter((row) => row.series === index), index, few, base)),
    labelAbove(valueLabel(figure), kMarginLeft),
    labelBelow(figure.x_title, 38),
    tip(rows.filter(hasValue), pointer({ x: "place", y: "value", title: "title", lineHeight: 1.3 })),
  );
  return plot({
    ...options,
    height: 356, marginLeft: kMarginLeft, marginRight: 20, marginTop: 36, marginBottom: 46,
    x: { ...place.scale, label: null },
    y: valueScale(figure, rows),
  });
}

function oneLine(rows, index, few, base) {
  const place = { x: "place", y: "value" };
  const withInterval = rows.filter((row) => hasValue(row) && row.hasInterval);
  const marks = [];
  if (!few && withInterval.length) marks.push(areaY(rows, { x: "place", y1: "low", y2: "high", fill: colour(index), fillOpacity: 0.16 }));
  marks.push(lineY(rows, { ...place, stroke: colour(index), strokeWidth: 2, strokeDasharray: dashes(index) ?? "none" }));
  if (!few) return marks;
  marks.push(ruleX(withInterval, { x: "place", y1: (row) => Math.max(row.low, base), y2: "high", stroke: colour(index), strokeWidth: 1.2, marker: "tick-x" }));
  marks.push(dot(rows, { ...place, symbol: symbol(index), r: 4, fill: index % 2 ? "var(--paper)" : colour(index), stroke: colour(index), strokeWidth: 1.6 }));
  return marks;
}

// Where x stands: by number (in powers, when the points double or the like), else one place per name.
function placesOf(figure) {
  const numbers = figure.x.map(Number);
  const distinct = [...new Set(numbers)].sort((a, b) => a - b);
  if (!figure.x_is_number || numbers.some((value) => !Number.isFinite(value)))
    return { of: (row) => row.at, scale: { type: "point", domain: figure.x.map((_, at) => at), padding: 0.4 }, axis: { tickFormat: (at) => figure.x[at] } };
  const of = (row) => numbers[row.at];
  if (geometric(distinct)) return { of, scale: { type: "log", base: 2 }, axis: { ticks: distinct, tickFormat: number } };
  return { of, scale: { type: "linear", nice: true }, axis: { ticks: 8, tickFormat: number } };
}

function geometric(sorted) {
  if (sorted.length < 4 || sorted[0] <= 0 || sorted.at(-1) / sorted[0] < 16) return false;
  const ratios = sorted.slice(1).map((value, at) => value / sorted[at]);
  return Math.min(...ratios) > 1.25 && Math.max(...ratios) <= 4;
}
