package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"

	"holdfast/internal/config"
)

// server.json tells the tools of the same data directory where the server is:
// for clients, and on this machine.
type serverFile struct {
	URL         string `json:"url"`
	Listen      string `json:"listen"`                // scheme and address of the listener
	Certificate []byte `json:"certificate,omitempty"` // SHA-256 of the one that it shows
	PID         int    `json:"pid"`
}

func serverPath(c *config.Config) string { return filepath.Join(c.Data, "server.json") }

func readRunning(c *config.Config) (s serverFile, ok bool) {
	b, err := os.ReadFile(serverPath(c))
	return s, err == nil && json.Unmarshal(b, &s) == nil && s.URL != ""
}

// writeServerFile writes server.json.
func (s *serving) writeServerFile() {
	c := s.app.Config
	f := serverFile{URL: c.PublicURL, Listen: urlScheme(c) + "://" + c.Listen, PID: os.Getpid()}
	if cert := s.cert.Load(); cert != nil {
		sum := sha256.Sum256(cert.Certificate[0])
		f.Certificate = sum[:]
	}
	b, err := json.Marshal(f)
	if err == nil {
		err = os.WriteFile(serverPath(c), b, 0o600)
	}
	if err != nil {
		slog.Warn("other commands will not find this server", "error", err)
	}
}

// announceServer writes server.json until the server ends.
func (s *serving) announceServer() (remove func()) {
	s.writeServerFile()
	return func() { os.Remove(serverPath(s.app.Config)) }
}

// RunningURL is the address for clients of the server on this data directory,
// or the one it would have.
func RunningURL(c *config.Config) string {
	if s, ok := readRunning(c); ok {
		return s.URL
	}
	if c.PublicURL != "" {
		return c.PublicURL
	}
	return localAddress(c)
}

func urlScheme(c *config.Config) string {
	if c.TLS() {
		return "https"
	}
	return "http"
}

// localAddress is a URL of the listener that clients on this machine can use: a
// listener on all addresses has none of its own.
func localAddress(c *config.Config) string {
	host, port, _ := net.SplitHostPort(c.Listen) // config has looked at it
	if ip, _ := netip.ParseAddr(host); host == "" || ip.IsValid() && ip.IsUnspecified() {
		return urlScheme(c) + "://localhost:" + port
	}
	return urlScheme(c) + "://" + c.Listen
}

// AskReady asks the server on this data directory whether it is ready, at its
// listener, and returns the address it asked. TLS is held to the certificate that
// the server says it shows: its names are for clients elsewhere.
func AskReady(ctx context.Context, c *config.Config) (string, error) {
	s, ok := readRunning(c)
	if !ok {
		s = serverFile{Listen: RunningURL(c)}
	}
	t := &http.Transport{DisableKeepAlives: true}
	if want := s.Certificate; want != nil {
		t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(cs tls.ConnectionState) error {
			if got := sha256.Sum256(cs.PeerCertificates[0].Raw); !bytes.Equal(got[:], want) {
				return errors.New("it shows another certificate than the server of this data directory")
			}
			return nil
		}}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Listen+"/readyz", nil)
	if err != nil {
		return s.Listen, err
	}
	res, err := t.RoundTrip(req)
	if err != nil {
		return s.Listen, fmt.Errorf("%s does not answer: %w", s.Listen, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return s.Listen, fmt.Errorf("%s is not ready: status %d", s.Listen, res.StatusCode)
	}
	return s.Listen, nil
}
