// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/noisewright/noisewright/cmd/internal/portrait"
)

//go:embed page
var page embed.FS

// What a client may take of the server.
const (
	maxConnections = 128                    // open at a time; more wait to be accepted
	maxStudies     = 2                      // at work at a time
	maxWaiting     = 8                      // for one of these to end; more are refused
	maxBody        = 16 << 20               // bytes of a request
	maxHeader      = 16 << 10               // bytes
	patience       = 10 * time.Second       // for a request to come, and for an event or a file to be taken
	silence        = 100 * time.Millisecond // before a request or between two, where others wait for the place
	idleTime       = time.Minute
)

// contentPolicy lets the page load what this server sends and nothing else.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Server answers the page.
type Server struct {
	host     string // its address, as browsers write it
	token    string // the first element of every path
	run      Program
	files    map[string]file
	studies  chan struct{} // a place each
	waiting  chan struct{}
	listener *limited
	patience time.Duration
}

type file struct {
	kind string // its media type
	text []byte
}

// New listens on 127.0.0.1, on the port or, if that is 0, on a free one, and has a new token of 128 bits.
func New(run Program, port int) (*Server, error) {
	files, err := readPage()
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &Server{
		host: l.Addr().String(), token: base64.RawURLEncoding.EncodeToString(secret), run: run, files: files,
		studies: make(chan struct{}, maxStudies), waiting: make(chan struct{}, maxWaiting),
		listener: &limited{Listener: l, places: make(chan struct{}, maxConnections), closed: make(chan struct{})}, patience: patience,
	}, nil
}

func readPage() (map[string]file, error) {
	kinds := map[string]string{".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
	pages, err := template.ParseFS(page, "page/*.html", "page/top.tmpl") // which all of them begin with
	if err != nil {
		return nil, err
	}
	files := map[string]file{}
	for _, from := range []fs.FS{page, portrait.Page} {
		err := fs.WalkDir(from, "page", func(path string, d fs.DirEntry, err error) error {
			name := d.Name()
			kind := kinds[filepath.Ext(name)]
			if err != nil || d.IsDir() || kind == "" {
				return err
			}
			text, err := fs.ReadFile(from, path)
			if made := pages.Lookup(name); err == nil && made != nil {
				var b bytes.Buffer
				err = made.Execute(&b, nil)
				text = b.Bytes()
			}
			files[name] = file{kind + "; charset=utf-8", text}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	files[""] = files["index.html"]
	return files, nil
}

// Address is where the page is, with the token.
func (s *Server) Address() string { return "http://" + s.host + "/" + s.token + "/" }

// Serve answers until ctx ends, which cancels all that is at work.
func (s *Server) Serve(ctx context.Context) error {
	h := &http.Server{
		Handler: s, ConnState: s.listener.note, BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: s.patience, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		// No ReadTimeout and WriteTimeout: they would end long studies. The handlers set a
		// deadline before every read and write.
	}
	defer context.AfterFunc(ctx, func() { _ = h.Close() })()
	if err := h.Serve(s.listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// Close ends a server that does not serve.
func (s *Server) Close() error { return s.listener.Close() }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      contentPolicy,
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "no-referrer", // the address holds the token
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control":                "no-store",
	} {
		w.Header().Set(name, value)
	}
	control := http.NewResponseController(w)
	if err := errors.Join(control.SetReadDeadline(time.Now().Add(s.patience)), control.SetWriteDeadline(time.Now().Add(s.patience))); err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	name, ok := s.admitted(w, r)
	if !ok {
		return
	}
	if name == "study" {
		s.serveStudy(w, r)
		return
	}
	f, ok := s.files[name]
	switch {
	case r.URL.Path == "/"+s.token: // without its last slash, from which the page finds its parts
		http.Redirect(w, r, "/"+s.token+"/", http.StatusPermanentRedirect)
	case !ok:
		refuse(w, http.StatusNotFound, "there is no such page")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "the method is not allowed here, want GET")
	default:
		w.Header().Set("Content-Type", f.kind)
		_, _ = w.Write(f.text)
	}
}

// admitted returns what a request asks for behind the token, or refuses it. The Host is
// checked against names of other sites that resolve to this address, the Origin against
// pages of other sites, and the token against other people and programs of the machine.
func (s *Server) admitted(w http.ResponseWriter, r *http.Request) (name string, ok bool) {
	origin := r.Header.Get("Origin")
	site := r.Header.Get("Sec-Fetch-Site")
	token, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case r.Host != s.host:
		refuse(w, http.StatusMisdirectedRequest, "the host is another one, want "+s.host)
	case origin != "" && origin != "http://"+s.host, origin == "" && r.Method == http.MethodPost,
		site != "" && site != "same-origin" && site != "none":
		refuse(w, http.StatusForbidden, "the request comes from another page")
	case subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1:
		refuse(w, http.StatusForbidden, "the token is missing or wrong, want the address that the program printed")
	default:
		return name, true
	}
	return "", false
}

func refuse(w http.ResponseWriter, code int, sentence string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Connection", "close")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(sentence + "\n"))
}

// limited is a listener with so many open connections at most. Where one waits for a place, those
// that say nothing lose theirs, so that they keep nobody out.
type limited struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once

	mu     sync.Mutex
	silent []silent // the longest first
}

// silent is a connection that is before its first request or between two.
type silent struct {
	conn  net.Conn
	since time.Time
}

// note is the server's ConnState.
func (l *limited) note(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = slices.DeleteFunc(l.silent, func(s silent) bool { return s.conn == c })
	if state == http.StateNew || state == http.StateIdle {
		l.silent = append(l.silent, silent{c, time.Now()})
	}
}

// endSilent closes the connection silent for longest, if too long, and returns when to look again.
func (l *limited) endSilent() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.silent) == 0 {
		return silence
	}
	if left := silence - time.Since(l.silent[0].since); left > 0 {
		return left
	}
	_ = l.silent[0].conn.Close() // which gives its place back
	l.silent = l.silent[1:]
	return 0
}

// Accept implements net.Listener. It waits for a place.
func (l *limited) Accept() (net.Conn, error) {
	look := time.NewTimer(silence)
	defer look.Stop()
	for placed := false; !placed; {
		select {
		case l.places <- struct{}{}:
			placed = true
		case <-l.closed:
			return nil, net.ErrClosed
		case <-look.C:
			look.Reset(l.endSilent())
		}
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &counted{Conn: c, release: sync.OnceFunc(func() { <-l.places })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type counted struct {
	net.Conn
	release func()
}

func (c *counted) Close() error {
	c.release()
	return c.Conn.Close()
}
