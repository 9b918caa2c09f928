// Draws every figure of the page from the data inside it, and again when the page changes its width. When all are drawn,
// <html data-figures="drawn 3 of 3"> says so.
import { bars } from "./bars.js";
import { legend } from "./legend.js";
import { lines } from "./lines.js";
import { timeline } from "./timeline.js";

const kShapes = { bars, grouped_bars: bars, lines, timeline };
const kLeastWidth = 300;

const source = document.getElementById("partita-data");
const reports = JSON.parse(source.textContent);

function draw(place) {
  const { report, section, part } = place.dataset;
  const figure = reports[report].sections[section].parts[part];
  const width = Math.max(kLeastWidth, place.clientWidth);
  if (!figure.series.some((series) => series.values.some((cell) => cell?.value != null))) {
    place.textContent = "There is no value to draw.";
    return true;
  }
  try {
    const chart = kShapes[figure.shape](figure, width);
    chart.setAttribute("role", "img");
    place.replaceChildren(...[legend(figure), chart].filter(Boolean));
    place.dataset.width = width;
    return true;
  } catch (error) {
    place.textContent = `this figure could not be drawn (${error.message}); its numbers are in the table below`;
    console.error(error);
    return false;
  }
}

function drawAll() {
  const places = [...document.querySelectorAll(".chart")];
  const drawn = places.filter(draw).length;
  document.documentElement.dataset.figures = `drawn ${drawn} of ${places.length}`;
}

function redrawOnResize() {
  let pending;
  const stale = (place) => place.clientWidth > 0 && Math.max(kLeastWidth, place.clientWidth) !== Number(place.dataset.width);
  addEventListener("resize", () => {
    clearTimeout(pending);
    pending = setTimeout(() => [...document.querySelectorAll(".chart")].filter(stale).forEach(draw), 120);
  });
}

function offerData() {
  const button = document.getElementById("partita-save");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(reports, null, 2)], { type: "application/json" }));
    link.download = "report.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

drawAll();
redrawOnResize();
offerData();
