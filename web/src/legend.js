// The legend of a figure: a sample of each series' mark, its name and how its numbers came about.
import { create, symbol as path, symbolAsterisk, symbolCircle, symbolCross, symbolDiamond2, symbolSquare, symbolStar, symbolTriangle, symbolWye } from "d3";
import { barFill, colour, dashes, hatchBar, hatchGap, symbol } from "./look.js";
import { nameWithKind } from "./numbers.js";

const kSymbols = {
  circle: symbolCircle, square: symbolSquare, triangle: symbolTriangle, diamond2: symbolDiamond2,
  star: symbolStar, wye: symbolWye, cross: symbolCross, asterisk: symbolAsterisk,
};

export function legend(figure) {
  const list = create("ul").attr("class", "legend");
  if (figure.shape === "timeline") {
    if (figure.series.some((series) => series.values.some((cell) => cell == null)))
      addItem(list, "no value", (svg) => hatchGap(svg, [0, 2, 26, 12]));
  } else {
    figure.series.forEach((series, index) => addItem(list, nameWithKind(series), (svg) => sample(svg, figure, index)));
  }
  if (figure.series.some((series) => series.values.some((cell) => cell?.low != null || cell?.high != null)))
    addItem(list, "interval", (svg) => svg.append("path").attr("d", "M13,2 v12 M9,2 h8 M9,14 h8").attr("stroke", "currentColor").attr("stroke-width", 1.4));
  return list.selectAll("li").empty() ? undefined : list.node();
}

function addItem(list, words, draw) {
  const item = list.append("li");
  draw(item.append("svg").attr("width", 26).attr("height", 16).attr("aria-hidden", "true"));
  item.append("span").text(words);
}

function sample(svg, figure, index) {
  if (figure.shape !== "lines") {
    svg.append("rect").attr("x", 4).attr("y", 1).attr("width", 18).attr("height", 14).attr("fill", barFill(index)).attr("stroke", colour(index));
    hatchBar(svg, [4, 1, 18, 14], index);
    return;
  }
  svg.append("path").attr("d", "M0,8 h26").attr("stroke", colour(index)).attr("stroke-width", 2).attr("stroke-dasharray", dashes(index));
  svg.append("path").attr("transform", "translate(13,8)").attr("d", path(kSymbols[symbol(index)], 46)())
    .attr("fill", index % 2 ? "var(--paper)" : colour(index)).attr("stroke", colour(index)).attr("stroke-width", 1.6);
}
