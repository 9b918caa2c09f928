// How series are told apart: by colour and, for grey print, by hatching (bars), dashes and marker (lines).
import { range, select } from "d3";

const kLooks = 8;
const kHatchings = [[], ["rising"], ["dots"], ["rising", "falling"], ["flat"], [], ["upright"], ["falling"]];
const kGap = 7; // px between lines

export const colour = (index) => `var(--c${index % kLooks})`;
export const barFill = (index) => (index % kLooks === 0 ? colour(index) : `var(--t${index % kLooks})`);
export const symbol = (index) => ["circle", "square", "triangle", "diamond2", "star", "wye", "cross", "asterisk"][index % kLooks];
export const dashes = (index) => [null, "7 3", "2 3", "9 3 2 3", "14 4", "4 2", "2 2 6 2", "1 4"][index % kLooks];

// Multiples of `step` between two numbers.
const between = (from, to, step = kGap) => range(Math.ceil(from / step) * step, to, step);
const line = (x1, y1, x2, y2) => `M${x1.toFixed(1)},${y1.toFixed(1)}L${x2.toFixed(1)},${y2.toFixed(1)}`;

// Hatching of a box as one path. (An SVG pattern would do, but browsers print patterns as coarse bitmaps.)
const kPaths = {
  rising: (x, y, w, h) => between(x + y, x + w + y + h).map((sum) => {
    const [left, right] = [Math.max(x, sum - y - h), Math.min(x + w, sum - y)];
    return line(left, sum - left, right, sum - right);
  }),
  falling: (x, y, w, h) => between(x - y - h, x + w - y).map((difference) => {
    const [left, right] = [Math.max(x, difference + y), Math.min(x + w, difference + y + h)];
    return line(left, left - difference, right, right - difference);
  }),
  flat: (x, y, w, h) => between(y, y + h, 6).map((at) => line(x, at, x + w, at)),
  upright: (x, y, w, h) => between(x, x + w, 6).map((at) => line(at, y, at, y + h)),
  dots: (x, y, w, h) => between(y + 1.5, y + h - 1, 4).flatMap((down) => {
    const shift = (down / 4) % 2 ? kGap / 2 : 0;
    return between(x + 1.5 - shift, x + w - 1 - shift).map((across) => `M${(across + shift).toFixed(1)},${down.toFixed(1)}h.01`);
  }),
};

function addHatching(parent, box, kinds, stroke, width) {
  const d = kinds.flatMap((kind) => kPaths[kind](...box)).join("");
  if (d) parent.append("path").attr("d", d).attr("fill", "none").attr("stroke", stroke).attr("stroke-width", width).attr("stroke-linecap", kinds[0] === "dots" ? "round" : "butt");
}

export function hatchBar(parent, box, index) {
  const kinds = kHatchings[index % kLooks];
  addHatching(parent, box, kinds, colour(index), kinds[0] === "dots" ? 2.2 : 1.3);
}

export const hatchGap = (parent, box) => addHatching(parent, box, ["rising"], "var(--faint)", 1);

// A render transform for Plot's rect marks: hatches each rectangle after it is drawn.
export function hatched(hatch) {
  return function (index, scales, values, dimensions, context, next) {
    const group = next(index, scales, values, dimensions, context);
    if (group) select(group).selectAll("rect").each(function () {
      hatch(select(group), ["x", "y", "width", "height"].map((name) => Number(this.getAttribute(name))));
    });
    return group;
  };
}
