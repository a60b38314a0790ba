package main_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"holdfast/internal/testkit/program"
)

// authority is a certificate authority that speaks ACME (RFC 8555) with one kind
// of challenge. It asks the server under test, not the names' real owners.
type authority struct {
	*httptest.Server
	t         *testing.T
	kind      string // tls-alpn-01 or http-01
	at        string // where the server takes challenges
	key       *ecdsa.PrivateKey
	cert      *x509.Certificate
	refuses   bool
	mu        sync.Mutex
	thumb     string
	name      string
	valid     bool
	chain     []byte
	asked     int
	validated error
}

func newAuthority(t *testing.T, kind, at string) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, kind: kind, at: at, key: key}
	a.cert, _ = x509.ParseCertificate(der)
	a.mu.Lock()
	a.Server = httptest.NewServer(a)
	a.mu.Unlock()
	t.Cleanup(a.Close)
	return a
}

// payload is what a signed request says; the first one brings the account's key.
func (a *authority) payload(r *http.Request) []byte {
	body, _ := io.ReadAll(r.Body)
	sig, err := jose.ParseSignedJSON(string(body), []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return nil
	}
	if k := sig.Signatures[0].Protected.JSONWebKey; k != nil {
		thumb, _ := k.Thumbprint(crypto.SHA256)
		a.thumb = base64.RawURLEncoding.EncodeToString(thumb)
	}
	return sig.UnsafePayloadWithoutVerification()
}

func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.URL
	w.Header().Set("Replay-Nonce", rand.Text())
	answer := func(status int, at string, v any) {
		w.Header().Set("Location", u+at)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v)
	}
	state := map[bool]string{true: "valid", false: "pending"}[a.valid]
	ready := map[bool]string{true: "ready", false: "pending"}[a.valid]
	order := map[string]any{"status": ready, "authorizations": []string{u + "/authz"}, "finalize": u + "/finalize"}
	challenge := map[string]any{"type": a.kind, "url": u + "/challenge", "token": "token-of-the-test", "status": state}
	switch r.URL.Path {
	case "/directory":
		answer(200, "", map[string]string{"newNonce": u + "/nonce", "newAccount": u + "/account", "newOrder": u + "/order",
			"revokeCert": u + "/revoke", "keyChange": u + "/change"})
	case "/nonce":
	case "/account":
		a.payload(r)
		answer(201, "/account/1", map[string]string{"status": "valid"})
	case "/order":
		a.asked++
		var in struct{ Identifiers []struct{ Value string } }
		json.Unmarshal(a.payload(r), &in)
		if a.refuses || len(in.Identifiers) != 1 {
			answer(403, "", map[string]string{"type": "urn:ietf:params:acme:error:rejectedIdentifier",
				"detail": "this name is not for you"})
			return
		}
		a.name = in.Identifiers[0].Value
		answer(201, "/order/1", order)
	case "/order/1":
		if a.chain != nil {
			order["status"], order["certificate"] = "valid", u+"/certificate"
		}
		answer(200, "/order/1", order)
	case "/authz":
		answer(200, "", map[string]any{"status": state, "identifier": map[string]string{"type": "dns", "value": a.name},
			"challenges": []any{challenge}})
	case "/challenge":
		a.payload(r)
		a.validated = a.validate()
		a.valid = a.validated == nil
		answer(200, "", challenge)
	case "/finalize":
		var in struct{ CSR string }
		json.Unmarshal(a.payload(r), &in)
		a.chain = a.issue(in.CSR)
		order["status"], order["certificate"] = "valid", u+"/certificate"
		answer(200, "/order/1", order)
	case "/certificate":
		w.Header().Set("Content-Type", "application/pem-certificate-chain")
		w.Write(a.chain)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// validate asks the server for the proof, as RFC 8555 section 8.3 and RFC 8737
// say.
func (a *authority) validate() error {
	want := "token-of-the-test." + a.thumb
	if a.kind == "http-01" {
		return errors.Join(a.fetch(a.name, want), a.fetch(a.name+":80", want))
	}
	c, err := tls.Dial("tcp", a.at, &tls.Config{ServerName: a.name, NextProtos: []string{"acme-tls/1"},
		InsecureSkipVerify: true})
	if err != nil {
		return err
	}
	defer c.Close()
	sum := sha256.Sum256([]byte(want))
	for _, e := range c.ConnectionState().PeerCertificates[0].Extensions {
		if e.Id.String() == "1.3.6.1.5.5.7.1.31" && bytes.HasSuffix(e.Value, sum[:]) {
			return nil
		}
	}
	return fmt.Errorf("the certificate lacks the proof")
}

// fetch asks for the proof of HTTP-01 as a host.
func (a *authority) fetch(host, want string) error {
	req, err := http.NewRequest("GET", "http://"+a.at+"/.well-known/acme-challenge/token-of-the-test", nil)
	if err != nil {
		return err
	}
	req.Host = host
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if got, _ := io.ReadAll(res.Body); string(got) != want {
		return fmt.Errorf("as %s: status %d, %q", host, res.StatusCode, got)
	}
	return nil
}

func (a *authority) issue(csr string) []byte {
	der, err := base64.RawURLEncoding.DecodeString(csr)
	if err != nil {
		a.t.Error(err)
	}
	req, err := x509.ParseCertificateRequest(der)
	if err != nil {
		a.t.Error(err)
		return nil
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: req.DNSNames, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(89 * 24 * time.Hour)}
	leaf, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, req.PublicKey, a.key)
	if err != nil {
		a.t.Error(err)
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})...)
}

// client trusts the authority and finds every name at one address.
func (a *authority) client(at string) *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "wms.example.com"}}}
}

// A public name gets its certificate by either challenge, keeps it over a
// restart without asking again, and serves credentials.
func TestCertificateByACME(t *testing.T) {
	for _, kind := range []string{"tls-alpn-01", "http-01"} {
		t.Run(kind, func(t *testing.T) {
			s := program.Embedded(t)
			listen, plain := program.ClosedPort(t), program.ClosedPort(t)
			a := newAuthority(t, kind, map[string]string{"tls-alpn-01": listen, "http-01": plain}[kind])
			args := []string{"serve", "--listen", listen, "--tls-domains", "wms.example.com", "--acme-url", a.URL + "/directory",
				"--acme-listen", plain, "--log-level", "warn"}
			for range 2 {
				cmd, log := s.Command(nil, args...), &program.Transcript{}
				cmd.Stdout, cmd.Stderr = log, log
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ok := program.Within(30*time.Second, func() bool {
					res, err := a.client(listen).Get("https://" + listen + "/readyz")
					if err == nil {
						res.Body.Close()
					}
					return err == nil && res.StatusCode == http.StatusOK
				})
				a.mu.Lock()
				if !ok || a.validated != nil {
					t.Errorf("no certificate: %v\n%s", a.validated, log)
				}
				a.mu.Unlock()
				asked, _ := http.NewRequest("GET", "http://"+plain+"/v1/zones", nil)
				asked.Host = "wms.example.com"
				res, err := http.DefaultTransport.RoundTrip(asked)
				if err != nil || !strings.HasPrefix(res.Header.Get("Location"), "https://") {
					t.Errorf("plain requests are not sent to https: %v", err)
				}
				cmd.Process.Signal(os.Interrupt)
				cmd.Wait()
			}
			if a.asked != 1 {
				t.Errorf("%d orders for one certificate and two starts", a.asked)
			}
			if st, err := os.Stat(filepath.Join(s.Data, "acme")); err != nil || st.Mode().Perm() != 0o700 {
				t.Errorf("the certificates are kept in %v: %v", st, err)
			}
		})
	}
}

// A certificate that cannot be had is told in the log; the server stays up, and
// other names are not asked for.
func TestCertificateRefused(t *testing.T) {
	s := program.Embedded(t)
	listen := program.ClosedPort(t)
	a := newAuthority(t, "tls-alpn-01", listen)
	a.mu.Lock()
	a.refuses = true
	a.mu.Unlock()
	v := s.Command(nil, "serve", "--listen", listen, "--tls-domains", "wms.example.com", "--acme-url", a.URL+"/directory",
		"--log-level", "warn")
	log := &program.Transcript{}
	v.Stdout, v.Stderr = log, log
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	defer v.Process.Kill()
	s.Eventually("the log says so", func() bool { return strings.Contains(log.String(), "no certificate could be had") })
	if _, err := tls.Dial("tcp", listen, &tls.Config{ServerName: "other.example.com",
		InsecureSkipVerify: true}); err == nil {
		t.Error("a foreign name gets a certificate")
	}
	if c, err := net.Dial("tcp", listen); err != nil {
		t.Errorf("the server is gone: %v", err)
	} else {
		c.Close()
	}
	for _, bad := range []string{"127.0.0.1", "*.example.com", "https://wms.example.com"} {
		s.Refused("no public name", "serve", "--tls-domains", bad)
	}
	s.Refused("two ways", "serve", "--tls-domains", "wms.example.com", "--tls-cert", "a", "--tls-key", "b")
}
