// Bars: one group per x, one bar per series; upright where the labels fit below, else lying. Groups stand at 0-1, 1-2, …
// on their axis, so that grid and base line run through.
import { axisX, axisY, gridX, gridY, plot, pointer, rectX, rectY, ruleX, ruleY, text, tip } from "@observablehq/plot";
import { barFill, colour, hatchBar, hatched } from "./look.js";
import { commonOptions, ems, hasValue, labelAbove, labelBelow, linesIn, longest, rowsOf, valueDomain, valueLabel, valueScale, valueTicks } from "./layout.js";
import { number } from "./numbers.js";

const kMarginLeft = 52;
const kWidestBar = 76;
const kGrid = { stroke: "var(--grid)", strokeOpacity: 1 };
const kHalo = { stroke: "var(--paper)", strokeWidth: 4, strokeOpacity: 0.85 }; // keeps the interval legible on a dark bar
const kInterval = { stroke: "currentColor", strokeWidth: 1.4 };
const kNumber = { text: (row) => number(row.value), fontSize: 11, fill: "currentColor", stroke: "var(--paper)", strokeWidth: 3 };
const kNone = { text: () => "–", fontSize: 14, fill: "var(--quiet)" };

export function bars(figure, width) {
  const group = (width - kMarginLeft - 10) / figure.x.length;
  const lines = Math.max(1, ...figure.x.map((label) => linesIn(label, group - 6)));
  return lines <= 3 ? upright(figure, width, group, lines) : lying(figure, width);
}

// The rows with the place of their bar in its group: {from, to, middle}.
function placed(figure, padding) {
  const size = (1 - padding) / Math.max(1, figure.series.length);
  return rowsOf(figure).map((row) => {
    const from = row.at + padding / 2 + row.series * size;
    return { ...row, from, to: from + size, middle: from + size / 2 };
  });
}

const baseOf = (figure, rows) => (figure.log_y ? valueDomain(figure, rows)[0] : 0);
const look = (index) => ({
  fill: barFill(index), stroke: colour(index), strokeWidth: 1, inset: 0.8,
  render: hatched((group, box) => hatchBar(group, box, index)),
});
const groupTicks = (figure) => ({ ticks: figure.x.map((_, at) => at + 0.5), tickFormat: (at) => figure.x[Math.floor(at)], tickSize: 0, lineHeight: 1.15, label: null });
const bySeries = (figure, rows, mark) => figure.series.map((_, index) => mark(rows.filter((row) => row.series === index), index));

function upright(figure, width, group, lines) {
  const padding = Math.max(0.18, 1 - (kWidestBar * figure.series.length) / group);
  const rows = placed(figure, padding);
  const known = rows.filter(hasValue);
  const base = baseOf(figure, rows);
  const ticks = valueTicks(figure, rows);
  const withInterval = known.filter((row) => row.hasInterval);
  const interval = { x: "middle", y1: (row) => Math.max(row.low, base), y2: "high" };
  const options = commonOptions(figure, width);
  options.marks.push(
    gridY({ ...ticks, ...kGrid }),
    axisY({ ...ticks, tickSize: 0, label: null }),
    axisX({ ...groupTicks(figure), lineWidth: ems(group - 4) }),
    ...bySeries(figure, known, (own, index) => rectY(own, { x1: "from", x2: "to", y1: () => base, y2: "value", ...look(index) })),
    ruleX(withInterval, { ...interval, ...kHalo }),
    ruleX(withInterval, { ...interval, ...kInterval, marker: "tick-x" }),
    ruleY([base], { stroke: "currentColor" }),
    text(rows.filter((row) => !hasValue(row)), { x: "middle", y: () => base, dy: -8, ...kNone }),
  );
  if ((group * (1 - padding)) / figure.series.length >= longest(known.map((row) => number(row.value))) * 0.92)
    options.marks.push(text(known, { x: "middle", y: "high", dy: -9, ...kNumber }));
  options.marks.push(
    labelAbove(valueLabel(figure), kMarginLeft),
    labelBelow(figure.x_title, 22 + 14 * lines),
    tip(rows, pointer({ x: "middle", y: (row) => (hasValue(row) ? row.value : base), title: "title", lineHeight: 1.3 })),
  );
  return plot({
    ...options,
    height: 346 + 15 * lines,
    marginLeft: kMarginLeft, marginRight: 10, marginTop: 36, marginBottom: 30 + 15 * lines,
    x: { domain: [0, figure.x.length], label: null },
    y: valueScale(figure, rows),
  });
}

function lying(figure, width) {
  const many = figure.series.length > 1;
  const rows = placed(figure, many ? 0.2 : 0.3);
  const known = rows.filter(hasValue);
  const base = baseOf(figure, rows);
  const ticks = valueTicks(figure, rows);
  const marginLeft = Math.min(width * 0.36, longest(figure.x) + 16);
  const withInterval = known.filter((row) => row.hasInterval);
  const interval = { y: "middle", x1: (row) => Math.max(row.low, base), x2: "high" };
  const options = commonOptions(figure, width);
  options.marks.push(
    gridX({ ...ticks, ...kGrid }),
    axisX({ ...ticks, tickSize: 0, label: null }),
    axisY({ ...groupTicks(figure), lineWidth: ems(marginLeft - 12) }),
    ...bySeries(figure, known, (own, index) => rectX(own, { y1: "from", y2: "to", x1: () => base, x2: "value", ...look(index) })),
    ruleY(withInterval, { ...interval, ...kHalo }),
    ruleY(withInterval, { ...interval, ...kInterval, marker: "tick-y" }),
    ruleX([base], { stroke: "currentColor" }),
    text(known, { y: "middle", x: "high", dx: 7, textAnchor: "start", ...kNumber }),
    text(rows.filter((row) => !hasValue(row)), { y: "middle", x: () => base, dx: 9, ...kNone }),
    labelBelow(valueLabel(figure), 36),
    tip(rows, pointer({ y: "middle", x: (row) => (hasValue(row) ? row.value : base), title: "title", lineHeight: 1.3 })),
  );
  return plot({
    ...options,
    height: figure.x.length * (many ? figure.series.length * 17 + 12 : 32) + 56,
    marginLeft, marginRight: 48, marginTop: 8, marginBottom: 46,
    y: { domain: [figure.x.length, 0], label: null },
    x: valueScale(figure, rows),
  });
}
