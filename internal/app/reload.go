package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"holdfast/internal/config"
	"holdfast/internal/web"
)

// serving is a running server and what of it a reload of the configuration
// replaces, from one request to the next.
type serving struct {
	app   *App
	asked config.Config // as it was at start
	logs  serverLog
	front atomic.Pointer[http.Handler]
	cert  atomic.Pointer[tls.Certificate]
	crowd *web.ConnLimit
	acme  *acmeClient // nil unless certificates are fetched

	answered atomic.Int64 // requests
}

// reloadable are the settings that a hangup applies; the others need a restart.
// Of the files, what is in them is read again.
var reloadable = []string{"log_level", "log_format", "cors_origins", "trusted_proxies", "tls_cert", "tls_key",
	"signing_keys"}

// ServeHTTP implements http.Handler.
func (s *serving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer s.answered.Add(1)
	(*s.front.Load()).ServeHTTP(w, r)
}

// wrapListener puts the bounds of a crowd, and TLS where it is configured, on l.
func (s *serving) wrapListener(l net.Listener) net.Listener {
	s.crowd = newConnectionLimit()
	l = s.crowd.Listen(l)
	if len(s.app.Config.TLSDomains) > 0 {
		s.acme = newACME(s.app.Config)
		return tls.NewListener(l, s.acme.tlsConfig())
	}
	if s.app.Config.TLSCert == "" {
		return l
	}
	current := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.cert.Load(), nil }
	return tls.NewListener(l, &tls.Config{GetCertificate: current, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"}})
}

// newConnectionLimit bounds connections: three quarters of the descriptors the process may
// have, of which one address may take a quarter.
func newConnectionLimit() *web.ConnLimit {
	most := 16 << 10
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		most = int(min(uint64(most), files.Cur*3/4))
	}
	return &web.ConnLimit{Total: most, PerAddress: max(most/4, 8)}
}

// applyConfig makes a configuration the one in effect, as far as it can change
// without a restart: wholly, or with an error not at all.
func (s *serving) applyConfig(c *config.Config) error {
	var cert *tls.Certificate
	if s.asked.TLSCert != "" && c.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return fmt.Errorf("app: certificate: %w", err)
		}
		cert = &pair
	}
	proxies, err := c.Proxies()
	if err != nil {
		return err
	}
	h, err := s.app.buildHandler(c, slog.New(s.logs.to))
	if err != nil {
		return err
	}
	if s.asked.SigningKeys != "" && c.SigningKeys != "" {
		set, err := os.ReadFile(c.SigningKeys)
		if err != nil {
			return fmt.Errorf("app: signing_keys: %w", err)
		}
		if err := s.app.Identity.Keyring.ReplaceSigningKeys(set); err != nil {
			return err
		}
	}
	if cert != nil {
		s.cert.Store(cert)
	}
	s.logs.to.setHandler(s.app.metrics.Log(s.logs.handlerOf(c)))
	s.crowd.Trust(proxies)
	s.front.Store(&h)
	return nil
}

// onHangup answers SIGHUP, which would end the process: what is kept of the
// database is forgotten, and the configuration is read again.
func (s *serving) onHangup(load func() (*config.Config, error)) (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	go func() {
		for range c {
			s.app.forgetAll()
			const work = "reload the configuration"
			logFailure(context.Background(), work, s.app.runGuarded(work, func(context.Context) error {
				return s.reloadConfig(load)
			}))
		}
	}()
	return func() {
		signal.Stop(c)
		close(c)
	}
}

// reloadConfig applies the configuration as it is now. One with a mistake in it
// changes nothing.
func (s *serving) reloadConfig(load func() (*config.Config, error)) error {
	c, err := load()
	if err != nil {
		return fmt.Errorf("app: the configuration stays as it was: %w", err)
	}
	if err := s.applyConfig(c); err != nil {
		return fmt.Errorf("app: the configuration stays as it was: %w", err)
	}
	s.writeServerFile()
	slog.Info("hangup: the configuration was read again, kept answers and sessions are forgotten")
	if names := s.asked.Differs(c, reloadable); len(names) > 0 {
		slog.Warn("some settings count after a restart only", "settings", strings.Join(names, ", "))
	}
	return nil
}
