package faults_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/testkit/program"
)

// overTCP has the site's database be reached over TCP, by a user with a password
// that is in a file, and over TLS when a file has the authority to trust. What it
// returns writes a password to that file.
func overTCP(s *program.Site, authority string) (write func(password string)) {
	s.Helper()
	u, err := url.Parse(s.DSN)
	if err != nil {
		s.Fatal(err)
	}
	file := filepath.Join(s.TempDir(), "pgpass")
	q := url.Values{"passfile": {file}, "sslmode": {"disable"}}
	if authority != "" {
		q.Set("sslmode", "verify-full")
		q.Set("sslrootcert", authority)
	}
	u.Host = net.JoinHostPort("127.0.0.1", u.Query().Get("port"))
	u.RawQuery = q.Encode()
	s.DSN = u.String()
	return func(password string) { s.File(file, "*:*:*:*:"+password+"\n") }
}

// A password of PostgreSQL that is changed under a running server makes it not
// ready, with a reason and no password in the log; the new one counts as soon as
// the file has it, without a restart.
func TestDatabasePasswordChanges(t *testing.T) {
	t.Parallel()
	s := program.Embedded(t)
	ownCluster(s)
	o := &program.Site{T: t, Data: s.Data, DSN: s.DSN} // past the password
	change := func(password string) {
		u, err := url.Parse(o.DSN)
		if err != nil {
			t.Fatal(err)
		}
		admin(o, `ALTER ROLE "`+u.User.Username()+`" PASSWORD '`+password+`'`)
	}
	const first, second = "yellow-heron-4711", "quiet-otter-0815"
	change(first)
	put := overTCP(s, "")
	put(first)
	v := s.Serve()
	change(second)
	admin(o, ended)
	s.Eventually("not ready", func() bool {
		return v.Call("GET", "/readyz", "",
			nil).Status == http.StatusServiceUnavailable
	})
	nobody := map[string]string{"email": "a@x.example", "password": "not-this-one-0"}
	s.Eventually("a sign-in is refused", func() bool {
		admin(o, ended) // who showed the first password while it changed is not among the sessions yet
		return v.Call("POST", "/auth/v1/token?grant_type=password", "", nobody).Status == http.StatusServiceUnavailable
	})
	s.Eventually("the log says why", func() bool {
		return strings.Contains(v.Out.String(),
			"password authentication failed")
	})
	put(second)
	s.Eventually("ready again", func() bool { return v.Call("GET", "/readyz", "", nil).Status == http.StatusOK })
	v.Stop()
	if text := v.Out.String(); strings.Contains(text, first) || strings.Contains(text, second) {
		t.Errorf("a password is in the log:\n%s", text)
	}
}

// A certificate of PostgreSQL that ends under a running server keeps it from new
// connections, with the reason in the log, until there is a new one.
func TestDatabaseCertificateEnds(t *testing.T) {
	t.Parallel()
	s := program.Embedded(t)
	ownCluster(s)
	o := &program.Site{T: t, Data: s.Data, DSN: s.DSN}
	u, err := url.Parse(o.DSN)
	if err != nil {
		t.Fatal(err)
	}
	admin(o, `ALTER ROLE "`+u.User.Username()+`" PASSWORD 'yellow-heron-4711'`)
	var folder string
	c, err := pgx.Connect(t.Context(), o.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if err := c.QueryRow(t.Context(), "SHOW data_directory").Scan(&folder); err != nil {
		t.Fatal(err)
	}
	a := newSigner(t)
	certify := func(end time.Time) {
		cert, key := a.sign(t, end)
		for name, text := range map[string]string{"server.crt": cert,
			"server.key": key} { // its own user's, and nobody else's
			admin(o, "COPY (SELECT unnest(string_to_array('"+strings.TrimSpace(text)+"', E'\\n'))) TO PROGRAM 'umask 077; cat > "+filepath.Join(folder, name)+"'")
		}
		admin(o, "ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()")
	}
	certify(time.Now().Add(time.Hour))
	overTCP(s, s.File("", a.text))("yellow-heron-4711")
	s.Eventually("PostgreSQL speaks TLS", func() bool {
		c, err := pgx.Connect(t.Context(), s.DSN)
		return err == nil && c.Close(t.Context()) == nil
	})
	v := s.Serve()
	certify(time.Now().Add(-time.Minute))
	s.Eventually("not ready", func() bool {
		admin(o, ended) // PostgreSQL takes up its new certificate at a time of its own
		return v.Call("GET", "/readyz", "", nil).Status == http.StatusServiceUnavailable
	})
	s.Eventually("the log says why", func() bool { return strings.Contains(v.Out.String(), "certificate has expired") })
	certify(time.Now().Add(time.Hour))
	s.Eventually("ready again", func() bool { return v.Call("GET", "/readyz", "", nil).Status == http.StatusOK })
	v.Stop()
}

// A signer signs certificates for 127.0.0.1.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	text string
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{cert, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// sign makes a certificate that counts until end, and its key.
func (a *signer) sign(t *testing.T, end time.Time) (cert, key string) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-24 * time.Hour),
		NotAfter:    end,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, made, a.cert, &own.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}
