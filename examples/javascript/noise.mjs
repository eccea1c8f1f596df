// SPDX-License-Identifier: Apache-2.0
// Reads table files of noisewright and draws from them, in JavaScript: the draws of the program from the
// same words of randomness (docs/catalogue.md). It checks that a file is well-formed, not that its promise
// holds: noisewright verify does, once, before the file is used.
//
//   node noise.mjs [--add X] [--words FILE] N TABLE…
//
// prints N draws of each table as numbers of steps, or X with noise N times. --words takes the words from a
// file, one to a line and from the first one for each table: for tests only, as who knows them knows the noise.
import { randomBytes } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

const TWO64 = 1n << 64n;
const LIMIT = 2n ** 53n; // results beyond so many steps are no exact numbers

const fields = {
  "": ["format", "version", "optional", "privacy", "query", "total", "loss", "constraints", "grid", "weights", "atom", "tail_ratio", "certificate"],
  grid: ["granularity_exponent", "unit", "points_per_cell", "offset", "cells_per_sensitivity", "first_cell"],
};

// load reads a table from the text of its file, and throws an Error that names what is wrong.
export function load(text) {
  const file = JSON.parse(text);
  const is = (found, name, want) => {
    if (!found) throw new Error(`${name}, want ${want}`);
  };
  is(file?.format === "noisewright-table" && file.version === 1, "format and version", "noisewright-table and 1");
  const optional = file.optional ?? [];
  for (const name of Object.keys(file)) is(fields[""].includes(name) || optional.includes(name), name, "no field of this name");
  is(typeof file.grid === "object" && file.grid !== null, "grid", "an object");
  for (const name of Object.keys(file.grid)) is(fields.grid.includes(name), `grid.${name}`, "no field of this name");
  const integer = (value, name, least, most) => {
    is(Number.isInteger(value) && value >= least && value <= most, `grid.${name} = ${value}`, `an integer from ${least} to ${most}`);
    return value;
  };
  const weight = (value, name) => {
    is(/^(0|[1-9][0-9]{0,19})$/.test(value) && typeof value === "string" && BigInt(value) < TWO64, name, "an integer below 2^64 in quotes");
    return BigInt(value);
  };
  const query = file.query ?? "real";
  is(["real", "integer", "lattice"].includes(query), "query", "real, integer or lattice");
  const g = file.grid;
  const exponent = integer(g.granularity_exponent, "granularity_exponent", -900, 900);
  is(g.unit === undefined || typeof g.unit === "number", "grid.unit", "a number");
  const points = integer(g.points_per_cell, "points_per_cell", 1, 2 ** 40);
  is(points % 2 === 1, "grid.points_per_cell", "an odd integer");
  const period = integer(g.cells_per_sensitivity, "cells_per_sensitivity", 1, 2 ** 18);
  const first = integer(g.first_cell, "first_cell", -(2 ** 18), 2 ** 18);
  const offset = integer(g.offset ?? 0, "offset", -(2 ** 52), 2 ** 52);
  is(Array.isArray(file.weights) && file.weights.length >= 1 && file.weights.length <= 2 ** 18, "weights", "1 to 2^18 of them");
  const cells = file.weights.length;
  const ends = []; // the sums of the weights so far: cells ascending, then the atom
  let sum = 0n;
  [...file.weights, file.atom].forEach((w, i) => ends.push((sum += weight(w, i < cells ? `weights[${i}]` : "atom"))));
  is(sum === TWO64, "the sum of weights and atom", "2^64");
  const ratio = file.tail_ratio === undefined ? 0n : weight(file.tail_ratio, "tail_ratio");
  is(ratio === 0n || cells > 2 * period, "weights", "more than both blocks of the tail");
  return {
    query, ends, cells, ratio, points: BigInt(points),
    step: 2 ** exponent * (g.unit || 1), // exact: unit is 1, or exponent is 0
    first: BigInt(offset) + BigInt(first) * BigInt(points) - BigInt((points - 1) / 2),
    reject: TWO64 % BigInt(points), period: BigInt(period) * BigInt(points), block: period,
  };
}

// systemWords gives fresh words of the system's cryptographic generator.
export function systemWords() {
  let block = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at === block.length) [block, at] = [randomBytes(4096), 0];
    const word = block.readBigUInt64LE(at);
    block.fill(0, at, (at += 8)); // used once
    return word;
  };
}

// draw returns noise as a number of steps, a BigInt, from the words that word() gives. The rules are those
// of noisewright export; docs/proofs/sampling.md proves that they are exact. Its time depends on the draw.
export function draw(table, word) {
  const u = word();
  let low = 0; // the first entry with u below its end
  for (let high = table.ends.length - 1; low < high; ) {
    const middle = (low + high) >> 1;
    if (u < table.ends[middle]) high = middle;
    else low = middle + 1;
  }
  let product;
  do product = word() * table.points;
  while (product % TWO64 < table.reject);
  if (low === table.cells) return 0n; // the atom
  const n = table.first + BigInt(low) * table.points + product / TWO64;
  const side = low < table.block ? -1n : low >= table.cells - table.block ? 1n : 0n;
  let periods = 0n;
  if (table.ratio > 0n && side !== 0n) while (word() < table.ratio) periods++;
  return n + side * periods * table.period;
}

// addNoise rounds x to the grid as the proof wants it, and adds noise. It throws if x is not one that the
// promise is about, and if the result would not be exact.
export function addNoise(table, x, word) {
  if (table.query === "lattice") throw new Error("query = lattice, which rounds at random, want real or integer");
  const t = x / table.step; // a power of two: exact
  if (!(Math.abs(t) <= Number(LIMIT) / 2) || (table.query === "integer" && !Number.isInteger(x))) {
    throw new Error(`the value, want ${table.query === "integer" ? "an integer" : "a number"} of at most 2^52 steps`);
  }
  let n = Math.floor(t);
  if (t - n >= 0.5) n++;
  const sum = BigInt(n) + draw(table, word);
  if (sum > LIMIT || sum < -LIMIT) throw new Error("the result, want one of at most 2^53 steps");
  return Number(sum) * table.step;
}

function main(args) {
  const options = {};
  while (args[0] === "--add" || args[0] === "--words") options[args.shift()] = args.shift();
  const [count, ...paths] = args;
  const x = options["--add"] === undefined ? undefined : Number(options["--add"]);
  if (!/^[0-9]+$/.test(count ?? "") || paths.length === 0 || Number.isNaN(x)) {
    throw new Error("arguments, want [--add X] [--words FILE] N TABLE…");
  }
  const given = options["--words"] && readFileSync(options["--words"], "utf8").trim().split("\n").map(BigInt);
  for (const path of paths) {
    const table = load(readFileSync(path, "utf8"));
    let at = 0;
    const fixed = () => {
      if (at === given.length) throw new Error("--words, want more of them");
      return given[at++];
    };
    const word = given ? fixed : systemWords();
    const draws = Array.from({ length: Number(count) }, () => (x === undefined ? draw(table, word) : addNoise(table, x, word)));
    console.log(draws.join(" "));
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    main(process.argv.slice(2));
  } catch (err) {
    console.error(`noise.mjs: ${err.message}`);
    process.exitCode = 2;
  }
}
