// Prints the licences of the packages that a bundle holds: each text once, with the packages and notices it covers.
//
// usage: node licenses.mjs META.json  (esbuild's metafile, in the folder that holds node_modules)
import { readFileSync, readdirSync } from "node:fs";

const meta = JSON.parse(readFileSync(process.argv[2], "utf8"));
const folders = new Set();
for (const output of Object.values(meta.outputs))
  for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
    const found = input.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//);
    if (found && bytesInOutput > 0) folders.add(found[1]);
  }

const texts = new Map(); // licence text without its notices -> packages
for (const folder of [...folders].sort()) {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file`);
  const lines = readFileSync(`${folder}/${file}`, "utf8").replace(/\r/g, "").trim().split("\n").map((line) => line.trim());
  const notices = lines.filter((line) => /^copyright\b.*\d{4}/i.test(line));
  const text = lines.filter((line) => !notices.includes(line)).join("\n").replace(/\n{3,}/g, "\n\n").trim().replaceAll("*/", "* /");
  if (!texts.has(text)) texts.set(text, []);
  texts.get(text).push(`${name} ${version} (${license}): ${notices.join("; ")}`);
}

console.log("The figures are drawn by these libraries, under the licences printed below them.");
for (const [text, packages] of texts) console.log(`\n${"-".repeat(72)}\n${packages.join("\n")}\n\n${text}`);
