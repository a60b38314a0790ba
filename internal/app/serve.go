package app

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/web"
)

// readiness is what /readyz tells a balancer.
type readiness struct{ draining atomic.Bool }

// collectAt is how far the heap may grow between two collections, in per cent of
// what lives. At Go's own 100 a server with little that lives spends a tenth of
// its time collecting. GOGC in the environment is stronger.
const collectAt = 200

// Serve runs the server until ctx ends. The banner goes to out.
func Serve(ctx context.Context, c *config.Config, out io.Writer) error {
	start := time.Now()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("app: listen on %s: %w; is another server running there?", c.Listen, err)
	}
	defer l.Close()
	c.Listen = l.Addr().String()
	if c.PublicURL == "" {
		c.PublicURL = scheme(c) + "://" + c.Listen
	}
	a, err := Open(ctx, c, Server)
	if err != nil {
		return err
	}
	defer a.Close()
	if c.Demo {
		if err := a.SeedDemo(ctx); err != nil {
			return err
		}
	}
	if c.TLSCert != "" {
		if l, err = withTLS(l, c); err != nil {
			return err
		}
	}
	if err := a.banner(ctx, out, time.Since(start)); err != nil {
		return err
	}
	defer a.announce()()
	if err := a.admin(ctx); err != nil {
		return err
	}
	logs, stop := serverLog(c)
	defer stop()
	defer a.onHangup()()
	background := make(chan struct{})
	defer func() { <-background }()
	upkeep, end := context.WithCancel(context.Background())
	defer end()
	go func() {
		defer close(background)
		a.upkeep(upkeep)
	}()
	h, err := a.Handler(logs)
	if err != nil {
		return err
	}
	return web.Serve(ctx, l, h, func() {
		a.ready.draining.Store(true)
		a.notifier.Close() // open streams would hold the server up
		slog.Info("stopping: no new requests, finishing those in flight")
	})
}

func scheme(c *config.Config) string {
	if c.TLSCert != "" {
		return "https"
	}
	return "http"
}

func withTLS(l net.Listener, c *config.Config) (net.Listener, error) {
	cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("app: certificate: %w", err)
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}

func (a *App) banner(ctx context.Context, out io.Writer, took time.Duration) error {
	keys, err := a.Identity.Keys(ctx)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(a.Config.Data)
	if err != nil {
		dir = a.Config.Data
	}
	u := a.Config.PublicURL
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "  %-14s %s\n", name, value) }
	fmt.Fprintf(&b, "\nHoldfast %s is ready after %d ms\n\n", Version, took.Milliseconds())
	line("API", u)
	line("Collections", u+"/v1/  and  "+u+"/rest/v1/")
	line("Functions", u+"/functions/v1/")
	line("OpenAPI", u+"/openapi.json")
	line("Engine", fmt.Sprintf("%s %s", a.DB.Engine(), a.DB.Version()))
	line("Data", dir)
	line("Anon key", keys.PublishableKey)
	line("Mail", a.mailLine())
	if a.Config.Demo {
		line("Sign in", "owner@north.example, manager@north.example, safety@north.example, ...")
		line("Password", "holdfast-demo")
	} else {
		line("First step", "holdfast admin create YOU@EXAMPLE.COM --tenant NAME")
	}
	b.WriteString("\n  All keys: holdfast status -o env     Stop: Ctrl-C\n\n")
	_, err = io.WriteString(out, b.String())
	return err
}

func (a *App) mailLine() string {
	switch {
	case a.sink != nil:
		return "kept at " + a.Config.PublicURL + "/dev/mail"
	case a.Config.SMTPURL != "":
		return "sent by SMTP"
	}
	return "none configured: confirmation and recovery need HOLDFAST_SMTP_URL"
}

// server.json tells the tools of the same data directory where the server is.
type serverFile struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
}

func serverPath(c *config.Config) string { return filepath.Join(c.Data, "server.json") }

func (a *App) announce() (remove func()) {
	path := serverPath(a.Config)
	b, err := json.Marshal(serverFile{URL: scheme(a.Config) + "://" + a.Config.Listen, PID: os.Getpid()})
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		slog.Warn("other commands will not find this server", "error", err)
	}
	return func() { os.Remove(path) }
}

// RunningURL is the address of the server on this data directory, or the one
// it would have.
func RunningURL(c *config.Config) string {
	var s serverFile
	if b, err := os.ReadFile(serverPath(c)); err == nil && json.Unmarshal(b, &s) == nil && s.URL != "" {
		return s.URL
	}
	if c.PublicURL != "" {
		return c.PublicURL
	}
	return scheme(c) + "://" + c.Listen
}

func (a *App) healthz(w http.ResponseWriter, _ *http.Request) {
	web.JSON(w, http.StatusOK, map[string]string{"status": "ok", "version": Version})
}

func (a *App) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	reason := ""
	switch err := a.DB.Ping(ctx); {
	case a.ready.draining.Load():
		reason = "the server is stopping"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		reason = "the database does not answer"
	case err != nil:
		slog.Warn("not ready", "error", err)
		reason = "the database cannot be used"
	}
	w.Header().Set("Cache-Control", "no-store")
	if reason != "" {
		w.Header().Set("Retry-After", "1")
		web.JSON(w, http.StatusServiceUnavailable, map[string]string{"status": "not ready", "reason": reason})
		return
	}
	ready := map[string]string{"status": "ready", "engine": string(a.DB.Engine()), "engine_version": a.DB.Version()}
	if n := a.nodes(); n > 1 {
		ready["nodes"] = strconv.Itoa(n)
	}
	if why := a.degraded(); why != "" {
		ready["degraded"] = why
	}
	web.JSON(w, http.StatusOK, ready)
}

// onHangup answers SIGHUP, which would end the process: what is kept is
// forgotten, so that what an operator changed beside the server counts at once.
// Settings are read at start.
func (a *App) onHangup() (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	go func() {
		for range c {
			slog.Info("hangup: forgetting cached answers and sessions; settings are read at start only")
			a.forgetAll()
		}
	}()
	return func() {
		signal.Stop(c)
		close(c)
	}
}

// AdminHandler answers what only the operator on this machine may see.
func (a *App) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", a.metrics.Handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	return mux
}

// admin serves AdminHandler on a listener of its own.
func (a *App) admin(ctx context.Context) error {
	if a.Config.AdminListen == "" {
		return nil
	}
	l, err := net.Listen("tcp", a.Config.AdminListen)
	if err != nil {
		return fmt.Errorf("app: admin_listen: %w", err)
	}
	srv := &http.Server{Handler: a.AdminHandler(), ReadHeaderTimeout: 5 * time.Second}
	go srv.Serve(l)
	context.AfterFunc(ctx, func() { srv.Close() })
	return nil
}
