package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"sync"
	"time"

	"holdfast/internal/audit"
	"holdfast/internal/blob"
	"holdfast/internal/fault"
	"holdfast/internal/metrics"
)

// pingTime bounds what /readyz waits for the database.
const pingTime = 3 * time.Second

// notReady says why the server takes no requests; "" = it does. isWritable says whether the
// database takes writes, as far as it answers.
func notReady(ctx context.Context, a *App) (reason string, isWritable bool) {
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	err := a.DB.Ping(ctx)
	switch {
	case a.ready.draining.Load():
		return "the server is stopping", err == nil
	case err == nil:
		return "", true
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "the database does not answer", false
	}
	slog.Warn("not ready", "error", err)
	switch fault.As(err).Code {
	case "53100":
		return "the disk is full", false
	case "58030", "25006":
		return "the database cannot be written", false
	}
	return "the database cannot be used", false
}

// probed is what a scrape knows of the server's state.
type probed struct{ isReady, isWritable bool }

// probeBriefly asks once for the several numbers of one scrape.
func probeBriefly(a *App) func() probed {
	var mu sync.Mutex
	var kept probed
	var at time.Time
	return func() probed {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(at) >= time.Second {
			reason, isWritable := notReady(context.Background(), a)
			kept, at = probed{reason == "", isWritable}, time.Now()
		}
		return kept
	}
}

// stateMetrics are what an operator has to see before somebody else does.
func stateMetrics(a *App) []metrics.Value {
	state := probeBriefly(a)
	return []metrics.Value{
		{Name: "holdfast_ready", Help: "What /readyz says: 1 while requests are taken.",
			Read: func() float64 { return boolValue(state().isReady) }},
		{Name: "holdfast_db_writable", Help: "0 while the database refuses writes or does not answer.",
			Read: func() float64 { return boolValue(state().isWritable) }},
		{Name: "holdfast_db_wal_bytes",
			Help: "Size of the embedded engine's write-ahead log; -1 = PostgreSQL, which shows its own.",
			Read: func() float64 { return float64(a.DB.LogBytes()) }},
		{Name: "holdfast_disk_free_bytes", Help: "Room on the disk of the data directory; -1 = not known.",
			Read: func() float64 {
				left, err := blob.Room(a.Config.Data)
				if err != nil {
					return -1
				}
				return float64(left)
			}},
		{Name: "holdfast_audit_unsealed_rows",
			Help: "Rows that this process wrote to the audit log and nobody sealed yet.",
			Read: func() float64 {
				if log := audit.LogOf(a.DB); log != nil {
					return float64(log.CountUnsealed())
				}
				return 0
			}},
	}
}

// certificateMetric says when the first of the server's certificates ends.
func (s *serving) certificateMetric() metrics.Value {
	return metrics.Value{Name: "holdfast_tls_certificate_end_seconds",
		Help: "When the first of the server's certificates ends, in seconds since 1970; 0 = it has none.",
		Read: func() float64 {
			end := s.certificateEnd(context.Background())
			if end.IsZero() {
				return 0
			}
			return float64(end.Unix())
		}}
}

func (s *serving) certificateEnd(ctx context.Context) (first time.Time) {
	if cert := s.cert.Load(); cert != nil {
		return endOf(cert)
	}
	if s.acme == nil {
		return first
	}
	for _, name := range s.acme.names {
		kept, err := s.acme.manager.Cache.Get(ctx, name)
		if err != nil {
			continue
		}
		if end := endOfPEM(kept); first.IsZero() || !end.IsZero() && end.Before(first) {
			first = end
		}
	}
	return first
}

func endOf(cert *tls.Certificate) time.Time {
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		return time.Time{}
	}
	return leaf.NotAfter
}

// endOfPEM reads the first certificate of what autocert keeps: a key and a chain.
func endOfPEM(text []byte) time.Time {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return endOf(&tls.Certificate{Certificate: [][]byte{block.Bytes}})
		}
	}
	return time.Time{}
}
