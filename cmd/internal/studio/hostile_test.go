// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noisewright/noisewright/lp"
)

// counting counts the commands that are run.
func counting(runs *atomic.Int64) Program {
	return func(ctx context.Context, args []string, in io.Reader, out, stderr io.Writer, watch func(lp.Progress)) int {
		runs.Add(1)
		return failing(ctx, args, in, out, stderr, watch)
	}
}

// secret is in the data of all requests, and is to be in no answer.
const secret = "Jena,1957-03-02,rare-diagnosis"

// releasing is a request for a release, with what is in the place of its fields.
func releasing(change ...string) string {
	data := base64.StdEncoding.EncodeToString([]byte("city,born,diagnosis\n" + secret + "\n"))
	text := `{"kind":"release","statistic":"count","fields":{"epsilon":"1","delta":"0","ledger":"people.ledger"},"name":"people.csv","data":"` + data + `"}`
	return strings.NewReplacer(change...).Replace(text)
}

// hostile is a request that is refused with a code and a text, before any command runs.
type hostile struct {
	name, method, path, body string
	change                   func(*http.Request)
	code                     int
	text                     string
}

// requestsFromElsewhere are those of other pages, hosts and people.
func requestsFromElsewhere(s *Server) []hostile {
	home, study := "/"+s.token+"/", "/"+s.token+"/study"
	port := s.host[strings.LastIndexByte(s.host, ':'):]
	const otherHost, otherPage, noToken = "the host is another one", "comes from another page", "the token is missing or wrong"
	list := []hostile{
		{"no origin", "POST", study, releasing(), func(r *http.Request) { r.Header.Del("Origin") }, 403, otherPage},
		{"no token", "GET", "/", "", nil, 403, noToken},
		{"no token, file", "GET", "/studio.js", "", nil, 403, noToken},
		{"no token, page", "GET", "/release.html", "", nil, 403, noToken},
		{"wrong token", "GET", "/" + strings.Repeat("A", len(s.token)) + "/", "", nil, 403, noToken},
		{"part of a token", "GET", "/" + s.token[:5] + "/", "", nil, 403, noToken},
		{"token and more", "GET", "/" + s.token + "A/", "", nil, 403, noToken},
		{"token in other letters", "POST", "/" + swapCase(s.token) + "/study", releasing(), nil, 403, noToken},
		{"token as a query", "POST", "/study?token=" + s.token, releasing(), nil, 403, noToken},
		{"token behind", "POST", "/study/" + s.token, releasing(), nil, 403, noToken},
		{"study without token", "POST", "/study", releasing(), nil, 403, noToken},
		{"token escaped", "POST", "/%2f" + s.token + "/study", releasing(), nil, 403, noToken},
	}
	for _, host := range []string{
		"evil.example" + port, "localhost" + port, "127.0.0.1", "127.0.0.1:1", "127.1" + port, "0.0.0.0" + port, "[::1]" + port, "2130706433" + port,
		s.host + ".evil.example", "127.0.0.1.evil.example" + port, "user@" + s.host, "",
	} {
		reason := otherHost
		change := func(r *http.Request) { r.Host = host }
		if host == "" {
			change = func(r *http.Request) { r.Host = " " }
			reason = ""
		}
		code := http.StatusMisdirectedRequest
		if reason == "" || strings.Contains(host, "@") {
			code, reason = 0, "" // the library refuses them by itself, with whatever code
		}
		list = append(list, hostile{"host " + host, "POST", study, releasing(), change, code, reason}, hostile{"page by host " + host, "GET", home + "release.html", "", change, code, reason})
	}
	for _, origin := range []string{
		"http://evil.example", "https://evil.example", "http://127.0.0.1:1", "http://127.0.0.1", "null", "https://" + s.host, "http://localhost" + port,
		"http://" + s.host + ".evil.example", "http://evil.example/" + s.host, "file://", "http://" + s.host + "/", "HTTP://" + s.host,
	} {
		list = append(list, hostile{"origin " + origin, "POST", study, releasing(), header("Origin", origin), 403, otherPage})
	}
	for _, site := range []string{"cross-site", "same-site", "x"} {
		list = append(list,
			hostile{"study from " + site, "POST", study, releasing(), header("Sec-Fetch-Site", site), 403, otherPage},
			hostile{"page from " + site, "GET", home, "", header("Sec-Fetch-Site", site), 403, otherPage})
	}
	return list
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r ^ 0x20
		}
		return r
	}, s)
}

// requestsMalformed are of the right page, and wrong.
func requestsMalformed(s *Server) (list []hostile) {
	home, study := "/"+s.token+"/", "/"+s.token+"/study"
	for _, path := range []string{
		"../../server.go", "%2e%2e/%2e%2e/etc/passwd", `..%5c..%5cserver.go`, "/etc/passwd", "page/", "page/studio.js", "study/", "study/../index.html", "release.html/", "release.html%00.js", "people.ledger", "plan.json", ".", "..",
	} {
		list = append(list, hostile{"path " + path, "GET", home + path, "", nil, 404, "no such page"})
	}
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
		text := "want POST"
		if method == "HEAD" {
			text = ""
		}
		list = append(list, hostile{"study by " + method, method, study, releasing(), header("Origin", "http://"+s.host), 405, text})
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		list = append(list, hostile{"page by " + method, method, home + "release.html", "", header("Origin", "http://"+s.host), 405, "want GET"})
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/csv", "application/jsonp", "text/plain; application/json", ""} {
		list = append(list, hostile{"content type " + kind, "POST", study, releasing(), header("Content-Type", kind), 415, "want application/json"})
	}
	for _, c := range []struct{ name, body, text string }{
		{"no JSON", "epsilon=1", "request: "},
		{"nothing", "", "request: "},
		{"half an object", releasing()[:40], "request: "},
		{"a list", "[" + releasing() + "]", "request: "},
		{"two objects", plain + plain, "more than one object"},
		{"very deep", strings.Repeat(`{"fields":`, 20000), "request: "},
		{"unknown key", `{"kind":"table","command":"rm"}`, "unknown field"},
		{"unknown kind", `{"kind":"rm"}`, "kind = rm, want table, kernel, local, shares, file, plan, release or ledger"},
		{"no kind", `{}`, "kind = , want table"},
		{"NaN without quotes", releasing(`"1"`, `NaN`), "request: "},
		{"a number for a text", releasing(`"1"`, `1`), "request: "},
		{"data that are no base64", releasing(`"data":"`, `"data":"!`), "request: "},
		{"unknown flag", `{"kind":"table","fields":{"output":"/etc/passwd"}}`, "field = output, want a flag of this kind"},
		{"flag of another kind", `{"kind":"table","fields":{"costs":"a.csv"}}`, "want a flag of this kind"},
		{"loss of a file", `{"kind":"table","fields":{"loss":"l1 + pwl:/etc/passwd"}}`, "the studio reads no files"},
		{"nodes of a file", `{"kind":"kernel","fields":{"nodes":"/etc/passwd"}}`, "the studio reads no files"},
		{"too many releases", `{"kind":"table","releases":"100001"}`, "releases = 100001, want an integer from 1 to 100000"},

		{"no ledger", releasing(`,"ledger":"people.ledger"`, ``), "ledger is missing"},
		{"empty ledger", releasing(`people.ledger`, ``), "ledger is missing"},
		{"ledger above", releasing(`people.ledger`, `../people.ledger`), "want the name of a file in the folder where the studio was started"},
		{"ledger far above", releasing(`people.ledger`, `a/../../people.ledger`), "want the name of a file in the folder"},
		{"absolute ledger", releasing(`people.ledger`, `/home/people.ledger`), "want the name of a file in the folder"},
		{"ledger that is a flag", releasing(`people.ledger`, `--force`), "want the name of a file in the folder"},
		{"ledger of two lines", releasing(`people.ledger`, `a\nb`), "want the name of a file in the folder"},
		{"ledger with a zero", releasing(`people.ledger`, `a\u0000b`), "want the name of a file in the folder"},
		{"look at a ledger above", `{"kind":"ledger","fields":{"ledger":"../people.ledger"}}`, "want the name of a file in the folder"},
		{"data file by name", releasing(`"epsilon":"1"`, `"data":"/etc/passwd"`), "field = data, want a flag of this kind"},
		{"plan file by name", releasing(`"epsilon":"1"`, `"plan":"/etc/passwd"`), "field = plan, want a flag of this kind"},
		{"tables by name", releasing(`"epsilon":"1"`, `"tables":"/tmp"`), "field = tables, want a flag of this kind"},
		{"answer to a file", releasing(`"epsilon":"1"`, `"output":"x.json"`), "field = output, want a flag of this kind"},
		{"rows of data in an error", releasing(`"epsilon":"1"`, `"strict-not-private":"true"`), "field = strict-not-private, want a flag of this kind"},
		{"a weak promise allowed", releasing(`"epsilon":"1"`, `"allow-delta":"true"`), "field = allow-delta, want a flag of this kind"},
		{"another statistic", releasing(`"count"`, `"batch"`), "statistic = batch, want count, sum, mean"},
		{"a command for a statistic", releasing(`"count"`, `"count --output=x"`), `statistic = "count --output=x", want count`},
		{"no data", `{"kind":"release","statistic":"count","fields":{"ledger":"a"}}`, "data is missing"},
		{"a plan for a count", releasing(`"name"`, `"file":"{}","name"`), "plan is for the answers of a plan"},
		{"no plan for its answers", releasing(`"count"`, `"workload"`), "plan is for the answers of a plan"},
		{"data for a design", releasing(`"release"`, `"table"`, `,"delta":"0","ledger":"people.ledger"`, ``), "data and statistic are of a release"},
		{"data for a look at a ledger", releasing(`"release"`, `"ledger"`, `"epsilon":"1","delta":"0",`, ``), "data and statistic are of a release"},

		{"huge workload", `{"kind":"plan","fields":{"workload":"prefix:2000"}}`, "want at most 128 cells"},
		{"more than huge", `{"kind":"plan","fields":{"workload":"ranges:99999999999999999999"}}`, "workload = "},
		{"workload below 0", `{"kind":"plan","fields":{"workload":"prefix:-1"}}`, "workload"},
		{"huge tables", `{"kind":"plan","fields":{"workload":"marginals:a=1000,b=1000:2"}}`, "want at most 128 cells and 20000 answers"},
		{"tables beyond all", `{"kind":"plan","fields":{"workload":"marginals:a=1000000000,b=1000000000,c=1000000000:3"}}`, "workload"},
		{"workload of a file", `{"kind":"plan","fields":{"workload":"matrix:/etc/passwd"}}`, "the studio reads no files"},
		{"no workload", `{"kind":"plan","fields":{}}`, "workload = "},
		{"plan to a file", `{"kind":"plan","fields":{"workload":"prefix:2","output":"x"}}`, "field = output, want a flag of this kind"},
		{"plan without an end", `{"kind":"plan","fields":{"workload":"prefix:2","time-limit":"9999h"}}`, "field = time-limit, want a flag of this kind"},
	} {
		list = append(list, hostile{c.name, "POST", study, c.body, nil, 400, c.text})
	}
	for _, kind := range []string{"file", "release"} {
		list = append(list, hostile{"huge " + kind, "POST", study, `{"kind":"` + kind + `","file":"` + strings.Repeat("x", maxBody) + `"}`, nil, 413, "want at most 16 MiB"})
	}
	return list
}

// TestHostileRequests: none runs a command, and none is answered with what it brought.
func TestHostileRequests(t *testing.T) {
	var runs atomic.Int64
	s, _ := serve(t, counting(&runs))
	list := append(requestsFromElsewhere(s), requestsMalformed(s)...)
	t.Logf("%d requests", len(list))
	if len(list) < 80 {
		t.Errorf("%d requests", len(list))
	}
	for _, c := range list {
		code, text, ok := tryAsk(t, s, c.method, c.path, strings.NewReader(c.body), c.change)
		switch {
		case c.code == 0 && !ok: // it was not even sent
		case c.code == 0 && code < 400, c.code != 0 && code != c.code, !strings.Contains(text, c.text):
			t.Errorf("%s: %d %.200q, want %d with %q", c.name, code, text, c.code, c.text)
		case strings.Contains(text, "rare-diagnosis"), strings.Contains(text, s.token):
			t.Errorf("%s: %q has what is secret", c.name, text)
		}
		if n := runs.Load(); n > 0 {
			t.Fatalf("%s: ran %d commands", c.name, n)
		}
	}
}

// TestFriendlyRequests: what the hostile ones are variations of is answered.
func TestFriendlyRequests(t *testing.T) {
	var runs atomic.Int64
	s, _ := serve(t, counting(&runs))
	home, study := "/"+s.token+"/", "/"+s.token+"/study"
	const refused = "event: failed\ndata: {\"code\":2,\"errors\":[\"epsilon = x, want a number\"],\"hint\":\"try another one\"}\n\n"
	for _, c := range []hostile{
		{"page", "GET", home, "", nil, 200, "<!doctype html>"},
		{"page, typed", "GET", home, "", header("Sec-Fetch-Site", "none"), 200, "<!doctype html>"},
		{"page of plans", "GET", home + "plan.html", "", header("Sec-Fetch-Site", "same-origin"), 200, "<!doctype html>"},
		{"page of releases", "GET", home + "release.html", "", nil, 200, "<!doctype html>"},
		{"script", "GET", home + "studio.js", "", header("Sec-Fetch-Site", "same-origin"), 200, "use strict"},
		{"shared script", "GET", home + "charts.js", "", nil, 200, "use strict"},
		{"study", "POST", study, plain, nil, 200, refused},
		{"plan", "POST", study, `{"kind":"plan","fields":{"workload":"prefix:128"}}`, nil, 200, refused},
		{"release", "POST", study, releasing(), nil, 200, refused},
		{"ledger below", "POST", study, `{"kind":"ledger","fields":{"ledger":"a/b.ledger"}}`, nil, 200, refused},
	} {
		code, text := ask(t, s, c.method, c.path, strings.NewReader(c.body), c.change)
		if code != c.code || !strings.Contains(text, c.text) {
			t.Errorf("%s: %d %.200q, want %d with %q", c.name, code, text, c.code, c.text)
		}
	}
	if n := runs.Load(); n != 4 {
		t.Errorf("%d commands, want 4", n)
	}
}

// TestSlowReleases sends the heads and the beginnings of 200 releases: all are ended, none is charged, and the page is
// there beside them.
func TestSlowReleases(t *testing.T) {
	var runs atomic.Int64
	s, _ := serve(t, counting(&runs), 100*time.Millisecond)
	const clients = 200
	ended := make(chan string, clients)
	for range clients {
		go func() {
			c, err := net.Dial("tcp", s.host)
			if err != nil {
				ended <- err.Error()
				return
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(bounded))
			fmt.Fprintf(c, "POST /%s/study HTTP/1.1\r\nHost: %s\r\nOrigin: http://%[2]s\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n%s", s.token, s.host, releasing()[:60])
			text, _ := io.ReadAll(c)
			ended <- string(text)
		}()
	}
	for range clients {
		if text := <-ended; strings.Contains(text, "200 OK") {
			t.Errorf("half a request is answered with %q", text)
		}
	}
	if code, _ := ask(t, s, "GET", "/"+s.token+"/release.html", nil, nil); code != http.StatusOK {
		t.Errorf("the page after them: %d", code)
	}
	if n := runs.Load(); n != 0 {
		t.Errorf("%d commands were run", n)
	}
}
