// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noisewright/noisewright/lp"
)

// bounded is how long tests wait for what should be at once.
const bounded = 30 * time.Second

// serve starts a server whose program is run, and returns it with a function that stops it
// and waits for its end.
// A patience takes the place of the usual one.
func serve(t *testing.T, run Program, patience ...time.Duration) (s *Server, stop func()) {
	t.Helper()
	s, err := New(run, 0)
	if err != nil {
		t.Fatal(err)
	}
	if patience != nil {
		s.patience = patience[0]
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(bounded):
			t.Error("Serve does not end with its context")
		}
	})
	t.Cleanup(stop)
	return s, stop
}

// failing is a program that refuses everything.
func failing(_ context.Context, _ []string, _ io.Reader, _, stderr io.Writer, _ func(lp.Progress)) int {
	fmt.Fprintln(stderr, "error: epsilon = x, want a number")
	fmt.Fprintln(stderr, "hint: try another one")
	return 2
}

// ask makes a request as the page does, changed by change.
func ask(t *testing.T, s *Server, method, path string, body io.Reader, change func(*http.Request)) (code int, text string) {
	t.Helper()
	code, text, ok := tryAsk(t, s, method, path, body, change)
	if !ok {
		t.Fatalf("%s %s is not answered", method, path)
	}
	return code, text
}

// tryAsk is ask for a request that may not be answered.
func tryAsk(t *testing.T, s *Server, method, path string, body io.Reader, change func(*http.Request)) (code int, text string, ok bool) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.host+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Origin", "http://"+s.host)
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, "", false
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	own := !strings.HasPrefix(string(got), "400 Bad Request") // and not what net/http refuses by itself
	if policy := answer.Header.Get("Content-Security-Policy"); own && (!strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe")) {
		t.Errorf("%s %s: policy %q", method, path, policy)
	}
	return answer.StatusCode, string(got), true
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

const plain = `{"kind":"table","fields":{"epsilon":"1"}}`

// TestNoLastSlash leads an address without its last slash to the page.
func TestNoLastSlash(t *testing.T) {
	s, _ := serve(t, failing)
	answer, err := http.Get("http://" + s.host + "/" + s.token)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := answer.Request.URL.String(); got != s.Address() || answer.StatusCode != http.StatusOK {
		t.Errorf("at %s: %d, want the page at %s", got, answer.StatusCode, s.Address())
	}
	if code, _ := ask(t, s, "GET", "/"+s.token[1:], nil, nil); code != http.StatusForbidden {
		t.Errorf("part of a token: %d", code)
	}
}

// event returns the data of the first event of a name that a request is answered with.
func event(t *testing.T, s *Server, name string, q request, into any) {
	t.Helper()
	body, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	_, text := ask(t, s, "POST", "/"+s.token+"/study", bytes.NewReader(body), nil)
	_, rest, ok := strings.Cut(text, "event: "+name+"\ndata: ")
	line, _, _ := strings.Cut(rest, "\n")
	if err := json.Unmarshal([]byte(line), into); !ok || err != nil {
		t.Fatalf("no event %s in %.300s: %v", name, text, err)
	}
}

// TestFileNames shows a file whose name is words of a shell: what the page says to type means
// this file and nothing else.
func TestFileNames(t *testing.T) {
	text, err := os.ReadFile("../../../docs/example-table.json")
	if err != nil {
		t.Fatal(err)
	}
	s, _ := serve(t, failing)
	for name, want := range map[string]string{
		"":                  "noisewright verify table.json",
		"mine.json":         "noisewright verify mine.json",
		"my table.json":     "noisewright verify 'my table.json'",
		"$(rm x);it's.json": `noisewright verify '$(rm x);it'\''s.json'`,
		"--cpuprofile=x":    "noisewright verify ./--cpuprofile=x",
	} {
		var m struct{ Name, Command, Go, Python string }
		event(t, s, "made", request{Kind: kindFile, File: string(text), Name: name}, &m)
		if m.Command != want {
			t.Errorf("%q: %s, want %s", name, m.Command, want)
		}
		if name == "" {
			name = "table.json"
		}
		if word := fmt.Sprintf("%q", name); m.Name != name || !strings.Contains(m.Go, "ReadFile("+word+", ") || !strings.Contains(m.Python, "load("+word+")") {
			t.Errorf("%q: %q\n%s%s", name, m.Name, m.Go, m.Python)
		}
	}
}

// TestBelow searches for an epsilon with a program whose loss is 1/epsilon and proved to be
// within 1 % of the least. That no noise has the loss below an epsilon is said of one that was
// designed, and not of the total of several releases.
func TestBelow(t *testing.T) {
	designed := map[float64]bool{}
	s, _ := serve(t, func(_ context.Context, args []string, _ io.Reader, stdout, _ io.Writer, _ func(lp.Progress)) int {
		for _, a := range args {
			if text, ok := strings.CutPrefix(a, "--epsilon="); ok {
				epsilon, err := strconv.ParseFloat(text, 64)
				if err != nil {
					t.Error(err)
				}
				designed[epsilon] = true
				fmt.Fprintf(stdout, `{"expected_loss":%v,"lower_bound":%v}`, 1/epsilon, 0.99/epsilon)
			}
		}
		return exitDone
	})
	q := request{Kind: kindTable, Fields: map[string]string{"epsilon": "1", "delta": "1e-6"}, Accept: "0.3"}
	var answer solved
	event(t, s, "found", q, &answer)
	if !designed[answer.Below] || !(answer.Below > 3.2 && answer.Below < 3.3) {
		t.Errorf("below %v, want an epsilon of the designs %v, a little under 3.3", answer.Below, designed)
	}
	q.Together, q.Releases = true, "4"
	answer = solved{}
	event(t, s, "found", q, &answer)
	if answer.Below != 0 || answer.Epsilon == "" {
		t.Errorf("of 4 releases together: %+v, want an epsilon and no bound", answer)
	}
}

// TestTokens starts two servers: their tokens differ and hold 128 bits.
func TestTokens(t *testing.T) {
	a, _ := serve(t, failing)
	b, _ := serve(t, failing)
	if a.token == b.token || len(a.token) != 22 {
		t.Errorf("tokens %q and %q, want different ones of 22 letters", a.token, b.token)
	}
	if !strings.HasPrefix(a.Address(), "http://127.0.0.1:") {
		t.Errorf("address %q, want one on 127.0.0.1", a.Address())
	}
}

// endless counts the programs at work, which end with their contexts alone.
type endless struct{ started, running, most atomic.Int64 }

func (e *endless) run(ctx context.Context, _ []string, _ io.Reader, _, _ io.Writer, _ func(lp.Progress)) int {
	e.started.Add(1)
	now := e.running.Add(1)
	defer e.running.Add(-1)
	for {
		most := e.most.Load()
		if now <= most || e.most.CompareAndSwap(most, now) {
			break
		}
	}
	<-ctx.Done()
	return 130
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(bounded); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so within %s: %s", bounded, what)
		}
	}
}

// TestThousandStudies asks for 1,000 designs at once. Two are at work, eight wait, the others
// are refused, and the page is served beside them. All end when their clients go away.
func TestThousandStudies(t *testing.T) {
	var e endless
	s, _ := serve(t, e.run)
	ctx, leave := context.WithCancel(t.Context())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var refused, ended atomic.Int64
	var all sync.WaitGroup
	asked := int64(1000)
	if testing.Short() {
		asked = 200
	}
	for range asked {
		all.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Address()+"study", strings.NewReader(plain))
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Origin", "http://"+s.host)
			r.Header.Set("Content-Type", "application/json")
			answer, err := client.Do(r)
			if err != nil {
				ended.Add(1) // by leave, or, on a machine that is busy, as it was silent for too long
				return
			}
			defer answer.Body.Close()
			if answer.StatusCode == http.StatusServiceUnavailable {
				refused.Add(1)
				return
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			ended.Add(1)
		})
	}
	eventually(t, "all but those at work and in wait are refused", func() bool { return refused.Load()+ended.Load() == asked-maxStudies-maxWaiting })
	if refused.Load() == 0 {
		t.Error("none was refused")
	}
	if n := e.running.Load(); n != maxStudies {
		t.Errorf("%d at work, want %d", n, maxStudies)
	}
	if code, _ := ask(t, s, "GET", "/"+s.token+"/", nil, nil); code != http.StatusOK {
		t.Errorf("the page beside them: %d", code)
	}
	leave()
	all.Wait()
	eventually(t, "nothing is at work when nobody listens", func() bool { return e.running.Load() == 0 && len(s.studies) == 0 && len(s.waiting) == 0 })
	if n := e.most.Load(); n > maxStudies {
		t.Errorf("%d at work at a time, want at most %d", n, maxStudies)
	}
}

// TestLeavingCancels cancels a study by closing its connection, as the page does when a field
// changes.
func TestLeavingCancels(t *testing.T) {
	var e endless
	s, _ := serve(t, e.run)
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.Address()+"study", strings.NewReader(plain))
	r.Header.Set("Origin", "http://"+s.host)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	if err != nil || line != "event: started\n" {
		t.Fatalf("first line %q, %v", line, err)
	}
	eventually(t, "it is at work", func() bool { return e.running.Load() == 1 })
	leave()
	eventually(t, "it ends", func() bool { return e.running.Load() == 0 })
}

// TestServeEndsAtOnce ends a server whose studies do not end by themselves.
func TestServeEndsAtOnce(t *testing.T) {
	var e endless
	s, stop := serve(t, e.run)
	go func() {
		r, _ := http.NewRequest(http.MethodPost, s.Address()+"study", strings.NewReader(plain))
		r.Header.Set("Origin", "http://"+s.host)
		r.Header.Set("Content-Type", "application/json")
		if answer, err := http.DefaultClient.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	}()
	eventually(t, "a study is at work", func() bool { return e.running.Load() == 1 })
	stop()
	eventually(t, "it was cancelled", func() bool { return e.running.Load() == 0 })
	if c, err := net.Dial("tcp", s.host); err == nil {
		c.Close()
		t.Error("the port is open after the end")
	}
}

// TestSlowClients opens connections that send nothing, or half a head: the page is answered
// though there are more of them than places, and those that were silent for longest are ended.
func TestSlowClients(t *testing.T) {
	s, _ := serve(t, failing, time.Hour)
	const more = 72
	open := make([]net.Conn, maxConnections+more)
	for i := range open {
		c, err := net.Dial("tcp", s.host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 1 {
			fmt.Fprintf(c, "POST /%s/study HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\n", s.token, s.host)
		}
		open[i] = c
	}
	if code, _ := ask(t, s, "GET", "/"+s.token+"/", nil, nil); code != http.StatusOK {
		t.Errorf("the page beside silent clients: %d", code)
	}
	for i, c := range open[:more] {
		_ = c.SetReadDeadline(time.Now().Add(bounded))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d: %v, want that it was ended", i, err)
		}
	}
	last := open[len(open)-1]
	_ = last.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := last.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the last connection: %v, want it open", err)
	}
}

// TestSlowRequests sends a head and a body that never end: the server closes the connection.
func TestSlowRequests(t *testing.T) {
	s, _ := serve(t, failing, 50*time.Millisecond)
	for name, text := range map[string]string{
		"head": fmt.Sprintf("GET /%s/ HTTP/1.1\r\nHost: %s\r\n", s.token, s.host),
		"body": fmt.Sprintf("POST /%s/study HTTP/1.1\r\nHost: %s\r\nOrigin: http://%[2]s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", s.token, s.host),
	} {
		c, err := net.Dial("tcp", s.host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(bounded))
		got, err := io.ReadAll(c)
		if err != nil || strings.Contains(string(got), "200 OK") {
			t.Errorf("%s: %.200q, %v, want a closed connection", name, got, err)
		}
	}
}

func TestCommandLine(t *testing.T) {
	q, err := readRequest(strings.NewReader(`{"kind":"table","fields":{"epsilon":"1","loss":"l1:0.5 + l2:0.5","support":"-1,1","symmetric":"true","step":""}}`))
	if err != nil {
		t.Fatal(err)
	}
	args, err := q.design(nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `noisewright design --epsilon 1 --loss 'l1:0.5 + l2:0.5' --symmetric --support=-1,1`
	if got := commandLine(args); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for in, want := range map[string]string{"": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "a.json": "a.json"} {
		if got := quoted(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	q.Together, q.Releases = true, "12"
	if args, err = q.design(nil); err != nil || args[0] != "calibrate" || args[1] != "--releases=12" {
		t.Errorf("of 12 releases together: %v, %v", args, err)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(plain))
	f.Add([]byte(`{"kind":"local","fields":{"range":"0,1","loss":"pwl:x"},"releases":"3","together":true,"accept":"1","sweep":true}`))
	f.Add([]byte(releasing()))
	f.Add([]byte(`{"kind":"plan","fields":{"workload":"marginals:a=2,b=3:2","epsilon":"1","delta":"0"}}`))
	f.Add([]byte(`{"kind":"release","statistic":"histogram","fields":{"by":"a","keys":"x,y\n--output=z\n\n","ledger":"a"},"data":"YQ=="}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		q, err := readRequest(bytes.NewReader(text))
		if err != nil {
			return
		}
		args, err := q.design(nil)
		if err != nil {
			return
		}
		if q.Kind == kindRelease {
			args = q.args(q.Statistic, nil)
		}
		for _, a := range args[1:] {
			name, _, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
			if !strings.HasPrefix(a, "--") || slices.Contains([]string{"output", "costs", "weight", "data", "plan", "tables", "force"}, name) {
				t.Errorf("%q: the word %q", text, a)
			}
		}
		if _, err := json.Marshal(commandLine(args)); err != nil {
			t.Error(err)
		}
	})
}

// TestShares: the request for shares is one command, whose categories are a number and name no file, and what it is
// compared with has the variance of the objective.
func TestShares(t *testing.T) {
	q, err := readRequest(strings.NewReader(`{"kind":"shares","fields":{"epsilon":"1","categories":"200","objective":"largest"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if args, err := q.design(nil); err != nil || commandLine(args) != "noisewright local design --epsilon 1 --categories 200 --objective largest" {
		t.Errorf("%v, %v", args, err)
	}
	q.Together, q.Releases = true, "4"
	if args, err := q.design(nil); err == nil {
		t.Errorf("%v for 4 releases together", args)
	}
	for text, want := range map[string]string{
		`{"kind":"shares","fields":{"categories":"/etc/passwd"}}`: "categories = /etc/passwd, want a number: the studio reads no files",
		`{"kind":"shares","fields":{"categories":"a,b"}}`:         "categories = a,b, want a number: the studio reads no files",
		`{"kind":"shares","fields":{"loss":"l1"}}`:                "field = loss, want a flag of this kind",
	} {
		if _, err := readRequest(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for objective, want := range map[string]string{"total": "3", "largest": "0.5"} {
		var c comparison
		if err := json.Unmarshal([]byte(`{"objective":"`+objective+`","lower_bound":0.4,"mechanisms":[{"name":"selection","total_variance":3,"largest_variance":0.5,"ratio_to_bound":1.25,"source":"certified"}]}`), &c); err != nil {
			t.Fatal(err)
		}
		if got := c.show().Mechanisms[0]; got.Name != "this selection" || got.Text != want || got.Above != "25 %" || got.Note != "certified" {
			t.Errorf("%s: %+v", objective, got)
		}
	}
}
