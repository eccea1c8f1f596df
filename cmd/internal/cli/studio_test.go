// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// event is one that the studio sends.
type event struct {
	name string
	data map[string]any // nil if it is no object
}

// startStudio starts the program and returns the address of its page.
func startStudio(t *testing.T) (address string, cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	stderr = new(bytes.Buffer)
	cmd = exec.Command("noisewright", "studio")
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), cmd, stderr
}

// studySays asks a studio and returns its events.
func studySays(t *testing.T, address string, request any) (events []event) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, address+"study", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", strings.Join(strings.Split(address, "/")[:3], "/"))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%d %.200s, %v", answer.StatusCode, text, err)
	}
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		name, data, _ := strings.Cut(strings.TrimPrefix(part, "event: "), "\ndata: ")
		e := event{name: name}
		_ = json.Unmarshal([]byte(data), &e.data) // lists have none
		events = append(events, e)
	}
	return events
}

// named returns the events of a name.
func named(events []event, name string) (out []map[string]any) {
	for _, e := range events {
		if e.name == name {
			out = append(out, e.data)
		}
	}
	return out
}

// TestStudio asks for what the page asks for, holds it against what the commands print, and
// ends the program as Ctrl-C does.
func TestStudio(t *testing.T) {
	address, cmd, stderr := startStudio(t)
	if !strings.HasPrefix(address, "http://127.0.0.1:") {
		t.Errorf("address %q, want one on 127.0.0.1", address)
	}
	port, _, _ := strings.Cut(strings.TrimPrefix(address, "http://127.0.0.1:"), "/")
	other := exec.Command("noisewright", "studio", "--port", port) //nolint:gosec // a port
	if out, err := other.CombinedOutput(); other.ProcessState.ExitCode() != 2 || string(out) != "error: port = "+port+" is in use, want another one\n" {
		t.Errorf("a second studio on the port: %v, %s", err, out)
	}
	fields := map[string]string{"epsilon": "1", "delta": "1e-3", "sensitivity": "1", "loss": "l1", "gap": "0.05"}
	events := studySays(t, address, map[string]any{"kind": "table", "fields": fields, "sweep": true})
	if weak := named(events, "warning"); len(weak) != 1 || !strings.HasPrefix(weak[0]["errors"].([]any)[0].(string), "delta = 0.001 is large: ") {
		t.Errorf("a large delta: %v", weak)
	}
	made := named(events, "made")
	if last := events[len(events)-1].name; last != "end" || len(made) != 1 || len(named(events, "point")) < 10 || len(named(events, "progress")) == 0 {
		t.Fatalf("events %v", events)
	}

	// The file is the one of the command, and so are the numbers.
	dir := t.TempDir()
	command := strings.Fields(made[0]["command"].(string))[1:]
	file := filepath.Join(dir, "table.json")
	again := append(command[:len(command)-1], file)
	if _, text, code := run(t, "", again...); code != 0 {
		t.Fatalf("%v: exit code %d, %s", again, code, text)
	}
	want, err := os.ReadFile(file)
	if err != nil || made[0]["file"] != string(want) {
		t.Errorf("the file of the page is not that of %v, %v", again, err)
	}
	out, _, _ := run(t, "", "verify", "--json", file)
	var verdict map[string]any
	if err := json.Unmarshal([]byte(out), &verdict); err != nil {
		t.Fatal(err)
	}
	if got := made[0]["expected"].(map[string]any)["value"]; got != verdict["expected_loss"] {
		t.Errorf("expected loss %v, want %v", got, verdict["expected_loss"])
	}
	if got := made[0]["bound"].(map[string]any)["value"]; got != verdict["lower_bound"] {
		t.Errorf("lower bound %v, want %v", got, verdict["lower_bound"])
	}
	// Shown digits are rounded so that they stay true.
	for name, sign := range map[string]float64{"expected": 1, "bound": -1} {
		b := made[0][name].(map[string]any)
		var shown float64
		if err := json.Unmarshal([]byte(b["text"].(string)), &shown); err != nil || sign*shown < sign*b["value"].(float64) {
			t.Errorf("%s: %v is shown as %v", name, b["value"], b["text"])
		}
	}
	rows := named(events, "composed")[0]["rows"].([]any)
	out, _, _ = run(t, "", "account", file, "--times", "10", "--delta", "0.01", "--json")
	var account map[string]any
	if err := json.Unmarshal([]byte(out), &account); err != nil {
		t.Fatal(err)
	}
	if got := rows[len(rows)-1].(map[string]any)["upper"].(map[string]any)["value"]; got != account["epsilon"] {
		t.Errorf("10 releases cost %v, account says %v", got, account["epsilon"])
	}

	// A dropped file, a false one, a wrong field, a search.
	events = studySays(t, address, map[string]any{"kind": "file", "file": string(want), "releases": "100"})
	if len(named(events, "made")) != 1 || len(named(events, "compared")) != 1 || len(named(events, "point")) != 0 {
		t.Errorf("a dropped file: %v", events)
	}
	for text, sentence := range map[string]string{
		strings.Replace(string(want), `"delta":0.001`, `"delta":0.0001`, 1): "delta = 0.0001 is promised but only",
		"{}": "is missing",
		"":   "ends early",
	} {
		failed := named(studySays(t, address, map[string]any{"kind": "file", "file": text}), "failed")
		if len(failed) != 1 || !strings.Contains(failed[0]["errors"].([]any)[0].(string), sentence) {
			t.Errorf("%.20q: %v, want a sentence with %q", text, failed, sentence)
		}
	}
	fields["epsilon"] = "x"
	failed := named(studySays(t, address, map[string]any{"kind": "table", "fields": fields}), "failed")
	if len(failed) != 1 || failed[0]["code"] != 2.0 || !strings.HasPrefix(failed[0]["errors"].([]any)[0].(string), "epsilon = x, want 0, or a number") {
		t.Errorf("a bad epsilon: %v", failed)
	}
	fields["epsilon"] = "1"
	found := named(studySays(t, address, map[string]any{"kind": "table", "fields": fields, "accept": "0.8"}), "found")
	if len(found) != 1 || found[0]["loss"].(map[string]any)["value"].(float64) > 0.8 || found[0]["below"].(float64) <= 0 {
		t.Errorf("the epsilon of an error of 0.8: %v", found)
	}

	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.HasPrefix(stderr.String(), "studio: open this address") || strings.Contains(stderr.String(), "error") {
		t.Errorf("after Ctrl-C: %v, %q, want exit code 0 and no error", err, stderr)
	}
}
