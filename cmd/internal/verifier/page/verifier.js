// SPDX-License-Identifier: Apache-2.0

// The verifier page. The program runs in a worker, so that a long check does not stop the page.
"use strict";

(() => {
  const $ = (id) => document.getElementById(id);
  const { element } = charts;
  let made = null, draws = [], worker = null;

  // start unpacks the program and runs it.
  async function start() {
    const packed = Uint8Array.from(atob($("program").textContent), (c) => c.charCodeAt(0));
    const bytes = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    worker = new Worker(URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" })));
    await ask(bytes);
    $("file").disabled = false;
    $("status").textContent = "Ready. Nothing leaves this page.";
    document.documentElement.dataset.state = "ready";
  }

  // ask sends one message to the worker and waits for its answer: one at a time.
  let queue = Promise.resolve();
  function ask(message) {
    const next = queue.then(() => new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => (data === undefined ? reject(new Error("the program has ended: open this page again")) : resolve(JSON.parse(data)));
      worker.onerror = (event) => reject(new Error(event.message || "the program stopped"));
      worker.postMessage(message);
    }));
    queue = next.catch(() => {});
    return next;
  }

  // ended is the answer of a program that gives none: a file was too large for it.
  const ended = (error) => ({ errors: [String(error.message)], ended: true });

  function fail(sentences) {
    $("failure").replaceChildren(...sentences.map((s) => element("p", {}, s)));
    $("failure").hidden = sentences.length === 0;
  }

  async function take(file) {
    if (!file || $("file").disabled) return;
    fail([]);
    $("results").hidden = true;
    document.documentElement.dataset.state = "busy";
    $("status").textContent = `Verifying ${file.name}…`;
    const began = performance.now();
    const answer = await file.text().then((text) => ask({ verify: text })).catch(ended);
    const ms = Math.round(performance.now() - began);
    if (answer.errors) {
      $("status").textContent = `${file.name} is not ${answer.ended ? "verified" : "valid"}.`;
      fail(answer.errors.map((e) => `${file.name}: ${e}`));
    } else {
      $("status").textContent = `${file.name}: every claim holds.`;
      $("took").textContent = `${file.name}, ${ms} ms`;
      show(answer.portrait);
    }
    document.documentElement.dataset.state = "ready";
  }

  function show(p) {
    made = p;
    draws = [];
    $("results").hidden = false;
    $("expected").textContent = `≤ ${p.expected.text}`;
    $("unit").textContent = `${p.loss}: ${p.loss_unit}`;
    $("bound").textContent = p.bound.value > 0 ? p.bound.text : "none";
    $("facts").replaceChildren(portraits.facts(p));
    const isTable = p.kind === "table";
    $("card-density").hidden = $("card-intervals").hidden = !isTable;
    $("card-laws").hidden = isTable;
    $("histogram").replaceChildren();
    $("drawn").textContent = "";
    $("save").hidden = true;
    $("value").value = p.laws ? p.laws.values[Math.floor(p.laws.values.length / 2)] : "0";
    if (isTable) {
      portraits.density($("density"), p, []);
      $("intervals").replaceChildren(portraits.intervals(p));
    } else {
      $("which").max = p.laws.values.length - 1;
      $("which").value = Math.floor((p.laws.values.length - 1) / 2);
      law();
    }
  }

  function law() {
    const i = Number($("which").value);
    $("which-shown").textContent = ` ${made.laws.values[i]}`;
    $("which").setAttribute("aria-valuetext", made.laws.values[i]);
    portraits.law($("laws"), made, i);
  }

  async function draw(event) {
    event.preventDefault();
    fail([]);
    const began = performance.now();
    const answer = await ask({ value: $("value").value.trim(), count: $("count").value.trim() }).catch(ended);
    if (answer.errors) return fail(answer.errors);
    draws = answer.draws;
    const some = draws.slice(0, 6).join(", ");
    $("drawn").textContent = `${draws.length} answers in ${Math.round(performance.now() - began)} ms: ${some}${draws.length > 6 ? ", …" : ""}`;
    $("save").hidden = false;
    histogram();
  }

  // histogram counts the draws, by label or in bins.
  function histogram() {
    if (made.kind === "subset") return void (document.documentElement.dataset.drawn = draws.length); // too many answers
    const labels = made.laws?.labels;
    let points;
    if (labels) points = labels.map((l, i) => [i, draws.filter((d) => d === l).length]);
    else {
      const values = [...new Set(draws)].sort((a, b) => a - b);
      const bins = 60, low = values[0], high = values.at(-1), width = (high - low) / bins || 1;
      const counts = new Map();
      for (const d of draws) {
        const at = values.length <= bins ? d : low + (Math.min(bins - 1, Math.floor((d - low) / width)) + 0.5) * width;
        counts.set(at, (counts.get(at) || 0) + 1);
      }
      points = [...counts].sort((a, b) => a[0] - b[0]);
    }
    charts.plot($("histogram"), {
      name: "Answers drawn", summary: `How often answers were drawn, of ${draws.length}.`,
      x: { name: labels ? "answer, by its number" : "answer", short: "answer", snap: true }, y: { name: "draws", zero: true, room: true },
      series: [{ name: "draws", bars: true, points }],
    });
    document.documentElement.dataset.drawn = draws.length;
  }

  $("draw").addEventListener("submit", draw);
  $("which").addEventListener("input", law);
  $("save").addEventListener("click", () => charts.download("draws.csv", `answer\n${draws.join("\n")}\n`, "text/csv"));
  $("file").addEventListener("change", (event) => take(event.target.files[0]));
  addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dragging"); });
  addEventListener("dragleave", () => document.body.classList.remove("dragging"));
  addEventListener("drop", (event) => { event.preventDefault(); document.body.classList.remove("dragging"); take(event.dataTransfer.files[0]); });
  start().catch((error) => { $("status").textContent = "The program does not run in this browser."; fail([String(error.message)]); });
})();
