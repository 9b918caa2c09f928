// How series are told apart: by colour and, for grey print, by pattern (bars), dashes and marker (lines).
import { create } from "d3";

const kColours = 8;
export const colour = (index) => `var(--c${index % kColours})`;
export const symbol = (index) => ["circle", "square", "triangle", "diamond2", "star", "wye", "cross", "asterisk"][index % 8];
export const dashes = (index) => [null, "7 3", "2 3", "9 3 2 3", "14 4", "4 2", "2 2 6 2", "1 4"][index % 8];

// Lines of each pattern, in a square of 8 units; the first series is solid.
const kPatterns = [
  [],
  ["M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4"],
  ["M2,2 h.01 M6,6 h.01"],
  ["M0,0 l8,8 M8,0 l-8,8"],
  ["M0,4 h8"],
  null, // outline only
  ["M4,0 v8"],
  ["M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4"],
];

export const patternFill = (id, index) => (index % 8 === 0 ? colour(index) : `url(#${id}-p${index % 8})`);
export const gapFill = (id) => `url(#${id}-gap)`;

// <defs> with the patterns of one figure. Each figure has its own, so that it can be taken out of the page.
export function patternDefs(id, count) {
  const defs = create("svg:defs");
  for (let index = 1; index < Math.min(count, kColours); ++index) {
    const tile = addTile(defs, `${id}-p${index}`);
    tile.append("rect").attr("width", 8).attr("height", 8).attr("fill", "var(--paper)");
    tile.append("rect").attr("width", 8).attr("height", 8).attr("fill", colour(index)).attr("fill-opacity", 0.22);
    addLines(tile, kPatterns[index] ?? [], colour(index), index === 2 ? 2.6 : 1.8);
  }
  addLines(addTile(defs, `${id}-gap`), kPatterns[1], "var(--faint)", 1);
  return defs.node();
}

function addTile(defs, id) {
  return defs.append("pattern").attr("id", id).attr("width", 8).attr("height", 8).attr("patternUnits", "userSpaceOnUse");
}

function addLines(tile, lines, stroke, width) {
  for (const d of lines)
    tile.append("path").attr("d", d).attr("stroke", stroke).attr("stroke-width", width).attr("stroke-linecap", "round");
}
