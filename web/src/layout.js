// What the shapes share: cells of a figure as flat rows, options of the plot, room for labels.
import { text } from "@observablehq/plot";
import { range } from "d3";
import { commonKind, interval, nameWithKind, number } from "./numbers.js";

const kLetter = 6.9; // px, mean width at 12 px

// One row per series and x: {series, at, x, value, low, high, title}; value is NaN where there is none.
export function rowsOf(figure) {
  // A logarithmic axis has no place for zero and below: such a value is told, not drawn.
  const place = (value) => (value == null || (figure.log_y && value <= 0) ? NaN : value);
  return figure.series.flatMap((series, index) =>
    figure.x.map((x, at) => {
      const cell = series.values[at] ?? null;
      return {
        series: index, at, x,
        value: place(cell?.value),
        low: cell?.low > 0 || !figure.log_y ? (cell?.low ?? cell?.value ?? NaN) : place(cell?.value),
        high: place(cell?.high ?? cell?.value),
        hasInterval: cell?.low != null || cell?.high != null,
        title: cellTitle(figure, series, x, cell),
      };
    }),
  );
}

function cellTitle(figure, series, x, cell) {
  const lines = [nameWithKind(series), `${figure.x_title || "at"}: ${x}`];
  lines.push(`${figure.y_title || "value"}: ${cell?.value == null ? "no value" : number(cell.value)}`);
  const range = cell ? interval(cell) : "";
  if (range) lines.push(`interval: ${range}`);
  return lines.join("\n");
}

// The axis says the kind too, where one word fits all: it stays true when the figure is cut out of the page.
export function valueLabel(figure) {
  const kind = commonKind(figure);
  return [figure.y_title, kind].filter(Boolean).join(", ");
}

export const hasValue = (row) => Number.isFinite(row.value);

// Domain of the values: from zero (or below), or for a logarithmic axis from the decade below the smallest.
export function valueDomain(figure, rows) {
  const known = rows.filter(hasValue);
  const top = Math.max(0, ...known.map((row) => row.high));
  if (figure.log_y) {
    const positive = known.flatMap((row) => [row.low, row.value]).filter((value) => value > 0);
    const least = positive.length ? Math.min(...positive) : 1;
    return [10 ** Math.floor(Math.log10(least * 0.999)), Math.max(top * 1.2, least * 1.2)];
  }
  const bottom = Math.min(0, ...known.map((row) => row.low));
  return top === bottom ? [0, 1] : [bottom * 1.06, top * 1.08];
}

export function valueScale(figure, rows) {
  return { type: figure.log_y ? "log" : "linear", domain: valueDomain(figure, rows), nice: !figure.log_y, label: null };
}

// Ticks of the value axis: {ticks, tickFormat} for Plot. Logarithmic: 1 2 5 10 …, or decades alone where there are many.
export function valueTicks(figure, rows) {
  if (!figure.log_y) return { ticks: 5 };
  const [bottom, top] = valueDomain(figure, rows);
  const decades = range(Math.floor(Math.log10(bottom)), Math.ceil(Math.log10(top)) + 1);
  const steps = decades.length > 5 ? [1] : [1, 2, 5];
  const ticks = decades.flatMap((decade) => steps.map((step) => step * 10 ** decade));
  return { ticks: ticks.filter((tick) => tick >= bottom * 0.999 && tick <= top), tickFormat: number };
}

export function commonOptions(figure, width) {
  return {
    width,
    style: { fontSize: "12px", overflow: "visible" },
    ariaLabel: `${figure.title}: ${figure.series.map(nameWithKind).join(", ")}`,
    marks: [],
  };
}

// The label of a value axis stands above it, horizontal, to be read without turning the head.
export function labelAbove(label, marginLeft) {
  return text([label], { frameAnchor: "top-left", dx: -marginLeft, dy: -21, textAnchor: "start", fill: "currentColor", facet: "super" });
}

// The label of the axis below, centred.
export function labelBelow(label, dy) {
  return text([label], { frameAnchor: "bottom", dy, fill: "currentColor", facet: "super" });
}

export const textWidth = (words) => words.length * kLetter;
export const longest = (texts) => Math.max(0, ...texts.map(textWidth));

// Lines that `words` needs when wrapped at spaces to `width` px; Infinity when one word is wider.
export function linesIn(words, width) {
  let lines = 1;
  let used = 0;
  for (const word of words.split(/\s+/)) {
    const size = textWidth(word);
    if (size > width) return Infinity;
    if (used > 0 && used + kLetter + size > width) {
      ++lines;
      used = 0;
    }
    used += (used > 0 ? kLetter : 0) + size;
  }
  return lines;
}

export const ems = (px) => px / 12;
