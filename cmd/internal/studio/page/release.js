// SPDX-License-Identifier: Apache-2.0

// The page of releases: a file and a question to a request. Nothing is asked before the button is pressed,
// but what is left of a ledger.
"use strict";

(() => {
  const { $, form, study, status } = talk;
  const { plot, table, element } = charts;
  const mostBytes = 11 * 2 ** 20; // of a file, which is a third longer in a request
  let data = null; // what was dropped: {name, bytes in base64}
  let plan = null; // the file of a plan
  let printed = []; // names and what is said of them, as the program prints it

  function request() {
    const fields = talk.fields();
    fields.ledger ??= ""; // which the program refuses
    return { kind: "release", statistic: $("statistic").value, fields, name: data?.name, data: data?.bytes };
  }

  async function release() {
    talk.clear();
    const body = request();
    if (body.statistic === "workload" && plan) body.file = await plan.text();
    study(body, {
      started: () => status("Releasing…"),
      warning: talk.warn,
      released: showAnswer,
      answers: showAnswers,
      left: showLeft,
      failed: (f) => { status("Refused."); $("results").classList.add("stale"); talk.complain(f); },
      end: () => status("Released."),
    });
  }

  function rows(caption, list) {
    return table(caption, ["what", "is"], list);
  }

  function reveal(...ids) {
    $("welcome").hidden = true;
    $("cards").hidden = false;
    for (const id of ids) $(id).hidden = false;
  }

  function showAnswer(r) {
    printed = r.rows;
    reveal("card-answer", "card-command");
    $("results").classList.remove("stale");
    $("answers").replaceChildren();
    $("answer").replaceChildren(rows("As the program prints it", r.rows));
    const said = r.rows.filter(([name]) => /^(answer|place \d+)$/.test(name)).map(([, text]) => text);
    $("headline").textContent = said.join(", ");
    $("headline").hidden = $("headline").textContent === "";
    $("command").textContent = r.command;
  }

  // showAnswers draws several answers with their intervals.
  function showAnswers({ kind, level, answers }) {
    if (["quantile", "top"].includes(kind) || answers.length < 2) return;
    const names = answers.map((a) => a.key || (a.of ?? []).filter((s) => s).join(", ") || "all");
    plot($("answers"), {
      name: "Answers with their intervals", summary: `Answers, each with an interval that has the exact one with a probability of at least ${level}.`,
      x: { name: "answer", snap: true, low: 0.5, high: answers.length + 0.5, label: (v) => (Number.isInteger(v) ? names[v - 1] ?? "" : "") },
      y: { name: "answer, with its interval", room: true, zero: !["mean", "variance"].includes(kind), also: answers.flatMap((a) => [a.lower, a.upper]) }, height: 320,
      series: [{ name: `answers, exact within the lines with at least ${100 * level} %`, whiskers: true, style: "c1", points: answers.map((a, i) => [i + 1, a.value, `${names[i]}: ${printed.find(([name]) => name === names[i])?.[1] ?? charts.approximate(a.value)}`, a.lower, a.upper]) }],
    });
  }

  function showLeft(l) {
    reveal("card-left");
    $("left").replaceChildren(rows(`What is left of ${l.ledger}, and what was spent`, l.rows));
  }

  function open(id, file) {
    $(id).textContent = file ? `Open: ${file.name}` : "";
    $(id).hidden = !file;
  }

  function takePlan(file) {
    plan = file;
    open("plan-name", file);
  }

  // drop takes data, or a plan, whose answers are then what is wanted.
  function drop(file) {
    if (!file?.name.endsWith(".json")) return take(file);
    takePlan(file);
    $("statistic").value = "workload";
    talk.choose("workload");
  }

  async function take(file) {
    if (!file) return;
    talk.clear();
    data = null;
    open("data-name", null);
    if (file.size > mostBytes) return talk.complain({ errors: [`data: ${file.name} is larger than 11 MiB, want a smaller file, or the command line`] });
    const bytes = await new Promise((done, failed) => {
      const reader = new FileReader();
      reader.onload = () => done(reader.result.split(",", 2)[1] ?? "");
      reader.onerror = failed;
      reader.readAsDataURL(file);
    });
    data = { name: file.name, bytes };
    open("data-name", file);
    status(`${file.name} is open. Nothing is charged before you say so.`);
    const [header] = (await file.slice(0, 65536).text()).split(/\r?\n/, 1);
    $("columns").replaceChildren(...header.split(/[,;\t]/).slice(0, 200).map((name) => element("option", { value: name.replace(/^"|"$/g, "").trim() })));
  }

  // look shows what is left of a ledger.
  function look() {
    if ($("ledger").value.trim() === "") return;
    talk.clear();
    study({ kind: "ledger", fields: { ledger: $("ledger").value.trim() } }, { left: showLeft, failed: (f) => talk.complain(f), end: () => status("Nothing is charged before you say so.") });
  }

  $("statistic").addEventListener("input", () => talk.choose($("statistic").value));
  $("ledger").addEventListener("change", look);
  $("release").addEventListener("click", release);
  $("file").addEventListener("change", (event) => take(event.target.files[0]));
  $("cancel").addEventListener("click", () => { talk.stop(); talk.busy(false); status("Cancelled. What was charged stays charged."); });
  form.addEventListener("input", talk.clear);
  $("plan").addEventListener("change", (event) => takePlan(event.target.files[0]));
  talk.dropped(drop);
  talk.choose($("statistic").value);
  talk.busy(false);
})();
