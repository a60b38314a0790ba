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
	maxHeader     = 128 << 10 // PostgREST clients send filters of up to 64 KB in the URL
	drainTime     = 25 * time.Second
)

// Serve answers on l until ctx ends, then finishes what is in flight within 25
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
	stop, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := srv.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		srv.Close()
		return errors.New("web: some requests did not finish within 25 s and were cut off")
	}
	return err
}
