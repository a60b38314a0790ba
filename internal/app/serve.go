package app

import (
	"context"
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
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"holdfast/internal/api"
	"holdfast/internal/config"
	"holdfast/internal/console"
	"holdfast/internal/demo"
	"holdfast/internal/metrics"
	"holdfast/internal/web"
)

// readiness is what /readyz tells a balancer.
type readiness struct{ draining atomic.Bool }

// collectAt is how far the heap may grow between two collections, in per cent of
// what lives. At Go's own 100 a server with little that lives spends a tenth of
// its time collecting. GOGC in the environment is stronger.
const collectAt = 200

// Terminal is where a server shows how to reach it.
type Terminal struct {
	Out     io.Writer
	Command string // by which a shell calls this program for the same installation
}

// Serve runs the server until ctx ends. The banner goes to the terminal; load
// reads the configuration again when the process is told to (SIGHUP).
func Serve(ctx context.Context, c *config.Config, t Terminal, load func() (*config.Config, error)) error {
	start := time.Now()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	asked := *c
	logs, restore := openLog(c, os.Stderr)
	defer restore()
	// A reader of the output that goes away is no reason to stop.
	signal.Ignore(syscall.SIGPIPE)
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("app: listen on %s: %w; is another server running there?", c.Listen, err)
	}
	defer l.Close()
	c.Listen = l.Addr().String()
	if c.PublicURL == "" {
		c.PublicURL = localAddress(c)
	}
	a, err := Open(ctx, c, Server)
	if err != nil {
		return err
	}
	defer a.Close()
	s := &serving{app: a, asked: asked, logs: logs}
	if err := a.Identity.Passwords.HashApart(s.answered.Load); err != nil {
		return err
	}
	if err := a.refuseDemo(ctx); err != nil {
		return err
	}
	if c.Demo {
		if err := a.SeedDemo(ctx, demo.Whole); err != nil {
			return err
		}
		if err := demo.Upload(ctx, a.Store, a.Imports); err != nil {
			return err
		}
	}
	a.metrics.Watch(metrics.Value{Name: "holdfast_log_dropped_total",
		Help: "Log lines lost because nobody read them or they could not be written.", Counter: true,
		Read: func() float64 { return float64(logs.queue.lost.Load()) }}, s.certificateMetric())
	l = s.wrapListener(l)
	if err := s.applyConfig(c); err != nil {
		return err
	}
	if err := a.printBanner(ctx, t, time.Since(start)); err != nil {
		slog.Warn("the banner was not read", "error", err)
	}
	warnOfExposure(ctx, c)
	warnOfRoom(c)
	warnOfLostCommits(ctx, a.DB)
	defer s.announceServer()()
	if err := a.serveAdmin(ctx); err != nil {
		return err
	}
	defer s.onHangup(load)()
	challenges, err := s.acme.serveChallenges(c.ACMEListen)
	if err != nil {
		return err
	}
	defer challenges()
	defer web.NotifySystemd(ctx)()
	return s.runServer(ctx, l)
}

// runServer answers on l, with the work of the background beside it, until ctx ends.
func (s *serving) runServer(ctx context.Context, l net.Listener) error {
	a := s.app
	background := make(chan struct{})
	defer func() { <-background }()
	upkeep, end := context.WithCancel(context.Background())
	defer end()
	// An attempt of a webhook that began at the end of the drain would keep the
	// server ten seconds longer; what is due is sent after the next start.
	sending, endSending := context.WithCancel(upkeep)
	defer endSending()
	go func() {
		defer close(background)
		a.runBackground(upkeep, sending)
	}()
	return web.Serve(ctx, l, s, func() {
		a.ready.draining.Store(true)
		endSending()
		a.notifier.Close() // open streams would hold the server up
		slog.Info("stopping: no new requests, finishing those in flight")
	}, a.Config.StopDelay)
}

func (a *App) printBanner(ctx context.Context, t Terminal, took time.Duration) error {
	keys, err := a.Identity.Keyring.Keys(ctx)
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
	line("Console", u+console.Prefix)
	line("API", u)
	line("Collections", u+"/v1/  and  "+u+"/rest/v1/")
	line("Functions", u+"/functions/v1/")
	line("OpenAPI", u+"/openapi.json")
	line("Engine", fmt.Sprintf("%s %s", a.DB.Engine(), a.DB.Version()))
	line("Data", dir)
	line("Anon key", keys.PublishableKey)
	line("Mail", a.mailLine())
	if reason := a.guard.HeldReason(); reason != "" {
		line("Held", reason)
	}
	if a.Config.Demo {
		line("Sign in", "owner@north.example, manager@north.example, safety@north.example, ...")
		line("Password", "holdfast-demo")
	} else if has, err := a.Identity.Admin.HasAdministrator(ctx); err != nil {
		return err
	} else if !has {
		line("Set-up link", a.Identity.Admin.FirstSetupLink())
		line("", "makes the first administrator; it works once, within 30 minutes. Or:")
		line("First step", t.Command+" admin create YOU@EXAMPLE.COM --tenant NAME")
	}
	fmt.Fprintf(&b, "\n  All keys: %s status -o env     Stop: Ctrl-C\n\n", t.Command)
	_, err = io.WriteString(t.Out, b.String())
	return err
}

func (a *App) mailLine() string {
	if a.sink != nil {
		return "kept at " + a.Config.PublicURL + "/dev/mail"
	}
	if a.Config.SMTPURL != "" {
		return "sent by SMTP"
	}
	return "none configured: confirmation and recovery need HOLDFAST_SMTP_URL"
}

// alive is the answer of a process that lives.
type alive struct {
	Status string `json:"status" doc:"ok."`
}

func serveHealthz(w http.ResponseWriter, _ *http.Request) {
	web.JSON(w, http.StatusOK, alive{"ok"})
}

// servable is the answer of a server that takes requests.
type servable struct {
	Status   string `json:"status" doc:"ready."`
	Engine   string `json:"engine" oneof:"SQLite PostgreSQL"`
	Nodes    string `json:"nodes,omitempty" doc:"How many there are, where there are several."`
	Degraded string `json:"degraded,omitempty" doc:"What does not work as it should."`
}

func (a *App) serveReadyz(w http.ResponseWriter, r *http.Request) {
	reason, _ := notReady(r.Context(), a)
	w.Header().Set("Cache-Control", "no-store")
	if reason != "" {
		w.Header().Set("Retry-After", "1")
		web.JSON(w, http.StatusServiceUnavailable, map[string]string{"status": "not ready", "reason": reason})
		return
	}
	ready := servable{Status: "ready", Engine: string(a.DB.Engine()),
		Degraded: joinReasons(a.fleet.degradedReason(), a.guard.HeldReason())}
	if n := a.fleet.countNodes(); n > 1 {
		ready.Nodes = strconv.Itoa(n)
	}
	web.JSON(w, http.StatusOK, ready)
}

// describeServer is what administrators read of the program. The database is asked each time: after a failover it
// may be another version.
func (a *App) describeServer() api.ServerAnswer {
	return api.ServerAnswer{Version: Version, Engine: string(a.DB.Engine()), EngineVersion: a.DB.Version()}
}

// joinReasons joins what works less well than it should though requests are served.
func joinReasons(reasons ...string) string {
	return strings.Join(slices.DeleteFunc(reasons, func(r string) bool { return r == "" }), "; ")
}

// AdminHandler answers what only the operator on this machine may see.
func (a *App) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", a.metrics.Handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	return mux
}

// serveAdmin serves AdminHandler on a listener of its own.
func (a *App) serveAdmin(ctx context.Context) error {
	if a.Config.AdminListen == "" {
		return nil
	}
	l, err := net.Listen("tcp", a.Config.AdminListen)
	if err != nil {
		return fmt.Errorf("app: admin_listen: %w", err)
	}
	srv := &http.Server{Handler: web.ForHosts(web.IsThisMachine, a.AdminHandler()), ReadHeaderTimeout: 5 * time.Second}
	go srv.Serve(l)
	context.AfterFunc(ctx, func() { srv.Close() })
	return nil
}
