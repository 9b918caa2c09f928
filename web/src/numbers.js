// Numbers and kinds in words; the same rules as src/report/words.cpp, so that figure and table agree.

// Four significant digits below 1000, whole numbers with thousands separators above; very small ones with an exponent.
export function number(value) {
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en-US");
  if (size !== 0 && size < 0.001) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

export function interval(cell) {
  if (cell.low == null && cell.high == null) return "";
  return `${cell.low == null ? "…" : number(cell.low)} – ${cell.high == null ? "…" : number(cell.high)}`;
}

export const nameWithKind = (series) => (series.name ? `${series.name} (${series.kind})` : series.kind);

// The kind that all series share, or nothing.
export function commonKind(figure) {
  const kinds = new Set(figure.series.map((series) => series.kind));
  return kinds.size === 1 ? [...kinds][0] : undefined;
}
