package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of one connection.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 2 * time.Minute // without a body; a body has its MinBodyRate
	writeTimeout  = 2 * time.Minute
	idleTimeout   = 2 * time.Minute
	maxHeader     = 128 << 10 // PostgREST clients send filters of up to 64 KB in the URL
	drainTime     = 20 * time.Second
	silentTime    = 500 * time.Millisecond // a new connection that has said nothing for so long at a stop is closed
)

// newServer is an HTTP server with the limits of a connection.
func newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
}

// Serve answers on l until ctx ends. Then draining is called, so that readiness
// can say no; for goodbye, in which a balancer notices that, requests are still
// taken; and what is in flight is finished within 20 seconds.
func Serve(ctx context.Context, l net.Listener, h http.Handler, draining func(), goodbye time.Duration) error {
	return serveUntil(ctx, l, newServer(h), draining, goodbye)
}

func serveUntil(ctx context.Context, l net.Listener, srv *http.Server, draining func(), goodbye time.Duration) error {
	c := newCensus()
	srv.ConnState = c.noteState
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("web: serve: %w", err)
	case <-ctx.Done():
	}
	draining()
	// Clients learn from their next answer that the connection ends (see
	// Front.Leaving). Closing it under them, as SetKeepAlivesEnabled does, would
	// cut the request they are sending.
	time.Sleep(goodbye)
	l.Close()
	<-failed // the last connections are taken
	stop, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	// Shutdown comes after that: it drops requests which it finds half read.
	silent := time.AfterFunc(silentTime, c.closeSilent)
	defer silent.Stop()
	// A header that is under way has the time that it has always.
	for end := time.Now().Add(srv.ReadHeaderTimeout); !c.isQuiet(time.Now().Before(end)) && stop.Err() == nil; {
		time.Sleep(5 * time.Millisecond)
	}
	err := srv.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		slog.Warn("some requests did not finish in time and were cut off", "seconds", int(drainTime/time.Second))
		return srv.Close()
	}
	return err
}
