package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"holdfast/internal/config"
	"holdfast/internal/web"
)

// acmeClient fetches and renews certificates (RFC 8555), by TLS-ALPN-01 on the
// listener itself and by HTTP-01 on acme_listen. They are kept in acme/ of the
// data directory.
type acmeClient struct {
	manager *autocert.Manager
	names   []string

	mu   sync.Mutex
	told map[string]time.Time // when the log last said that a name has no certificate
}

func newACME(c *config.Config) *acmeClient {
	return &acmeClient{names: c.TLSDomains, told: map[string]time.Time{}, manager: &autocert.Manager{
		Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(c.TLSDomains...),
		Cache:  autocert.DirCache(filepath.Join(c.Data, "acme")),
		Client: &acme.Client{DirectoryURL: c.ACMEURL, UserAgent: "holdfast/" + Version}, Email: c.ACMEEmail,
	}}
}

func (a *acmeClient) tlsConfig() *tls.Config {
	return &tls.Config{GetCertificate: a.certificateFor, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1", acme.ALPNProto}}
}

// tellEvery is how often the log repeats that a name has no certificate.
const tellEvery = 10 * time.Minute

// certificateFor is that of the name a client asks for. Without one the handshake
// fails and the server goes on: other names may have theirs.
func (a *acmeClient) certificateFor(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	cert, err := a.manager.GetCertificate(hello)
	if err == nil || a.manager.HostPolicy(context.Background(), hello.ServerName) != nil {
		return cert, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.told[hello.ServerName]) > tellEvery {
		a.told[hello.ServerName] = time.Now()
		slog.Error("no certificate could be had: the name must lead to this server, at port 443 or through acme_listen at port 80",
			"name", hello.ServerName, "error", err)
	}
	return nil, err
}

// serveChallenges serves HTTP-01 on an address of its own until it is stopped, and
// sends other requests to https. At the start it asks for each certificate, so
// that the log says early what is wrong.
func (a *acmeClient) serveChallenges(listen string) (stop func(), err error) {
	if a == nil {
		return func() {}, nil
	}
	srv := &http.Server{Handler: a.answerChallenges(),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	if listen != "" {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return nil, fmt.Errorf("app: acme_listen: %w", err)
		}
		go func() {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				slog.Error("the listener for HTTP-01 ended", "error", err)
			}
		}()
	}
	go a.requestCertificates()
	return func() { srv.Close() }, nil
}

// answerChallenges answers HTTP-01 for the names that have certificates, and sends all else that
// is asked of them to https.
func (a *acmeClient) answerChallenges() http.Handler {
	return web.ForHosts(web.IsAmong(a.names), web.WithoutPort(a.manager.HTTPHandler(nil)))
}

func (a *acmeClient) requestCertificates() {
	for _, name := range a.names {
		a.certificateFor(&tls.ClientHelloInfo{ServerName: name, SupportedCurves: []tls.CurveID{tls.CurveP256},
			// as every client of today offers: one kind of key
			CipherSuites:     []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
			SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}, SupportedVersions: []uint16{tls.VersionTLS13}})
	}
}
