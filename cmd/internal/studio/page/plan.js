// SPDX-License-Identifier: Apache-2.0

// The page of plans: a workload to a request, what was found to a table and a picture.
"use strict";

(() => {
  const { $, form, study, status } = talk;
  const { plot, table } = charts;
  let made = null;

  function request() {
    const fields = talk.fields(), kind = $("kind").value;
    fields.workload = kind === "marginals" ? `marginals:${$("columns").value.trim()}:${$("order").value.trim()}` : `${kind}:${$("cells").value.trim()}`;
    if (fields["max-error"]) delete fields.epsilon;
    return { kind: "plan", fields };
  }

  function show() {
    talk.clear();
    study(request(), {
      started: () => status("Planning…"),
      warning: talk.warn,
      planned: (p) => { showPlan(p); status("Comparing the candidates…"); },
      errors: showErrors,
      failed: (f) => { status("Stopped."); $("results").classList.toggle("stale", made !== null); talk.complain(f); },
      end: () => status("Done."),
    });
  }

  function showPlan(p) {
    made = p;
    $("results").classList.remove("stale");
    $("figures").hidden = $("cards").hidden = $("headline").hidden = false;
    $("card-errors").hidden = true;
    const less = Math.floor(1000 * (1 - p.mean.value / p.one_by_one)) / 10; // not more than there is
    $("headline").textContent = `${$("max-error").value.trim() ? `Epsilon ${p.epsilon}: ` : ""}${less >= 0.5 ? `${less >= 10 ? Math.floor(less) : less} % less squared error than one by one` : "Nothing is gained on releases one by one"}, with ${p.strategy}.`;
    $("mean").textContent = `≤ ${p.mean.text}`;
    $("queries").textContent = `of ${p.queries} answers`;
    $("largest").textContent = `≤ ${p.largest.text}`;
    $("one-by-one").textContent = charts.approximate(p.one_by_one);
    $("gaussian").textContent = p.gaussian ? p.gaussian.text : "–";
    $("candidates").replaceChildren(table("Squared error of an answer, on average; the plan is the candidate with the least proved one", ["candidate", "squared error", "note"], p.candidates.map((c) => [c.name, c.text, c.note]), { right: [1], own: [p.candidates.findIndex((c) => c.name === p.strategy)] }));
    $("command").textContent = p.command;
  }

  // showErrors draws the error of each query. The plan is the first curve, releases one by one the last one.
  function showErrors({ curves, names }) {
    $("card-errors").hidden = false;
    const kind = $("kind").value, styles = ["c1", "c2", "c3", "c4", "c5", "c7", "c8"];
    plot($("errors"), {
      name: "Error of each answer", summary: "Expected squared error of each answer by the plan, by the other candidates and one by one.",
      x: { name: { prefix: "total up to this cell", ranges: "cells in the range, mean over all of this length", identity: "cell", marginals: "table" }[kind], short: kind === "marginals" ? "table" : "answer", snap: true, label: kind === "marginals" ? (v) => names[v - 1] ?? "" : undefined },
      y: { name: "squared error", log: true, room: true }, height: 320,
      series: curves.map((c, i) => ({ name: c.name, style: i === curves.length - 1 ? "c6" : styles[i], dots: i === 0 && c.points.length < 40, points: c.points.map((p) => [p[0], p[1]]) })),
    });
  }

  let timer = 0;
  function changed() {
    talk.choose($("kind").value);
    clearTimeout(timer);
    talk.stop();
    if (made) $("results").classList.add("stale");
    document.documentElement.dataset.state = "busy";
    timer = setTimeout(show, 150);
  }

  form.addEventListener("input", changed);
  $("cancel").addEventListener("click", () => { talk.stop(); talk.busy(false); status("Cancelled."); });
  $("download").addEventListener("click", () => made && charts.download(made.name, made.file, "application/json"));
  changed();
})();
