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

// Limits of one connection (security R51).
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 2 * time.Minute // a 50 MB upload on a slow line
	writeTimeout  = 2 * time.Minute
	idleTimeout   = 2 * time.Minute
	maxHeader     = 128 << 10              // PostgREST clients send filters of up to 64 KB in the URL
	goodbye       = 500 * time.Millisecond // answers say "Connection: close" for this long
	drainTime     = 20 * time.Second
)

// Serve answers on l until ctx ends, then finishes what is in flight within 20
// seconds. draining is called first, so that readiness can say no.
func Serve(ctx context.Context, l net.Listener, h http.Handler, draining func()) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("web: serve: %w", err)
	case <-ctx.Done():
	}
	draining()
	// Clients with idle connections learn from their next answer that this one
	// ends; closing it under them would cut the request they are sending.
	srv.SetKeepAlivesEnabled(false)
	time.Sleep(goodbye)
	stop, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := srv.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		slog.Warn("some requests did not finish in time and were cut off", "seconds", int(drainTime/time.Second))
		return srv.Close()
	}
	return err
}
