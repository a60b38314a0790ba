package program

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"testing"
	"time"
)

// FileSize is the length of a file in bytes.
func FileSize(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

// SelfSigned writes a certificate that nobody knows, for other names than this
// machine's, and its key.
func (s *Site) SelfSigned(cert, key string) {
	s.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.Fatal(err)
	}
	tpl := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{"wms.example"},
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &k.PublicKey, k)
	if err != nil {
		s.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		s.Fatal(err)
	}
	s.File(cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	s.File(key, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text})))
}
