package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/internal/blob"
	"holdfast/internal/config"
)

func lookConfiguration(_ context.Context, p *Patient) (out []Finding) {
	c := p.Config
	if c.PublicURL == "" && !c.Loopback() {
		out = append(out, newWarning("public_url = https://wms.example.com",
			"links in mails, QR codes and tokens are built from it", "public_url is not set")...)
	}
	if c.RateLimits == "off" {
		out = append(out, newWarning("rate_limits = on", "anybody can ask as much as the machine has to give",
			"rate limits are off")...)
	}
	if c.Dev {
		out = append(out, newWarning("take --dev and --demo away", "addresses are confirmed without proof",
			"this is a development server")...)
	}
	if c.DatabaseURL != "" && c.MasterKey == "" {
		out = append(out, newWarning("master_key_file = /etc/holdfast/master.key, the same on each node",
			"a second node would make a key of its own", "the master key is in the data directory of one node")...)
	}
	return append(out, OpenSettings(c)...)
}

// OpenSettings are the settings by which a server that others can reach believes what
// anybody says: an address that nobody proved, or a sender that anybody may claim to be.
func OpenSettings(c *config.Config) (out []Finding) {
	if !c.IsReachable() {
		return nil
	}
	if c.Autoconfirm || c.Dev || c.Demo {
		out = append(out, newFailure("autoconfirm = false, without --dev and --demo",
			"whoever reaches the server signs up with any address, and gets what the address is invited to",
			"others can reach the server, and addresses count as confirmed without proof")...)
	}
	proxies, err := c.Proxies()
	if err != nil {
		return out // told where the settings are read
	}
	for _, p := range proxies {
		if holdsStrangers(p) {
			out = append(out, newFailure("trusted_proxies = the addresses of the proxies alone",
				"every client may say from where it comes: limits, locks and service_addresses look at what it says",
				"others can reach the server, and trusted_proxies holds addresses of strangers (%s)", p)...)
		}
	}
	return out
}

// Shortest prefixes of trusted proxies: 10.0.0.0/8 is the largest private network of IPv4,
// and no registry gives one holder a shorter one than /16 of IPv6.
const (
	shortest4 = 8
	shortest6 = 16
)

// ownRanges6 are shorter and hold no strangers: unique local (RFC 4193) and link-local
// addresses (RFC 4291, 2.5.6).
var ownRanges6 = []netip.Prefix{netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fe80::/10")}

// holdsStrangers reports a prefix that is too short to hold proxies alone.
func holdsStrangers(p netip.Prefix) bool {
	if p.Addr().Is4() {
		return p.Bits() < shortest4
	}
	isOwn := slices.ContainsFunc(ownRanges6, func(own netip.Prefix) bool {
		return p.Bits() >= own.Bits() && own.Contains(p.Addr())
	})
	return p.Bits() < shortest6 && !isOwn
}

// lookDirectory finds what other users of the machine could read, and what
// commands left that were killed.
func lookDirectory(_ context.Context, p *Patient) (out []Finding) {
	dir := p.Config.Data
	st, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return newWarning("holdfast serve --data "+dir, "nothing was started here yet", "there is no data directory %s", dir)
	}
	if err != nil || !st.IsDir() {
		return newFailure("ls -ld "+dir, "nothing can be kept", "the data directory cannot be used: %v", err)
	}
	out = append(out, p.checkPrivate(dir, st, 0o700)...)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return append(out, newFailure("ls -l "+dir, "", "%v", err)...)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		st, err := e.Info()
		switch {
		case err != nil || path == p.Config.MasterKeyPath(): // which has a look of its own
			continue
		case st.Mode().IsRegular():
			out = append(out, p.checkPrivate(path, st, 0o600)...)
		case strings.HasPrefix(e.Name(), "tmp-backup-") && p.Now().Sub(st.ModTime()) > time.Hour:
			out = append(out, p.reportLeftover(path)...)
		}
	}
	return out
}

// checkPrivate finds a file that others may read.
func (p *Patient) checkPrivate(path string, st fs.FileInfo, want fs.FileMode) []Finding {
	if st.Mode().Perm()&0o077 == 0 {
		return nil
	}
	found := newWarning(fmt.Sprintf("chmod %o %s", want, path), "it holds keys or everybody's data",
		"%s can be read by other users of the machine (%s)", path, st.Mode().Perm())
	if p.Fix && os.Chmod(path, want) == nil {
		found[0].Fixed = true
	}
	return found
}

func (p *Patient) reportLeftover(path string) []Finding {
	found := newWarning("rm -r "+path, "it holds a copy of the database and takes room",
		"%s is left of a backup that was killed", path)
	if p.Fix && os.RemoveAll(path) == nil {
		found[0].Fixed = true
	}
	return found
}

// Bounds of a disk: room, and how long a commit may wait for it.
const (
	leastRoom = 256 << 20
	fewRoom   = 2 << 30
	slowSync  = 50 * time.Millisecond
)

func lookDisk(_ context.Context, p *Patient) []Finding {
	dir := p.Config.Data
	if _, err := os.Stat(dir); err != nil {
		dir = filepath.Dir(dir)
	}
	room, syncs := p.Room, p.Sync
	if room == nil {
		room = blob.Room
	}
	if syncs == nil {
		syncs = syncTime
	}
	left, err := room(dir)
	if err != nil {
		return newFailure("df "+dir, "", "the free space of %s cannot be read: %v", dir, err)
	}
	if left < leastRoom {
		return newFailure("df -h "+dir, "below 64 MB nothing more is taken", "only %d MB are free", left>>20)
	}
	took, err := syncs(dir)
	if err != nil {
		return newFailure("touch "+filepath.Join(dir, "x"), "nothing can be written", "a trial file cannot be written: %v",
			err)
	}
	var out []Finding
	if left < fewRoom {
		out = append(out, newWarning("df -h "+dir, "a backup needs room for one more copy of the database", "%d MB are free",
			left>>20)...)
	}
	if took > slowSync {
		out = append(out, newWarning("use a local SSD for --data", "every write waits for it",
			"making 4 KB durable takes %d ms", took.Milliseconds())...)
	}
	return out
}

// syncTime is how long a small write takes to be durable, the median of nine.
func syncTime(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "tmp-doctor-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var took []time.Duration
	for range 9 {
		begin := time.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(begin))
	}
	return medianOf(took), nil
}

func lookMail(ctx context.Context, p *Patient) []Finding {
	if p.Config.SMTPURL == "" {
		if p.Config.Dev {
			return nil
		}
		return newWarning("smtp_url = smtp://user:password@host:587", "confirmations, recoveries and notices are not sent",
			"no mail server is set")
	}
	return p.checkReachable(ctx, p.Config.SMTPURL, "smtp_url", map[string]string{"smtp": "587", "smtps": "465"})
}

func lookRedis(ctx context.Context, p *Patient) []Finding {
	if p.Config.RedisURL == "" {
		return nil
	}
	return p.checkReachable(ctx, p.Config.RedisURL, "redis_url", map[string]string{"redis": "6379", "rediss": "6379"})
}

// checkReachable dials the host of a setting's address. The finding never shows the
// password in it.
func (p *Patient) checkReachable(ctx context.Context, address, setting string, ports map[string]string) []Finding {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return newFailure("holdfast config dump", "", "%s cannot be read", setting)
	}
	port := u.Port()
	if port == "" {
		port = ports[u.Scheme]
	}
	host := net.JoinHostPort(u.Hostname(), port)
	if err := dialHost(ctx, host); err != nil {
		return newFailure("nc -vz "+u.Hostname()+" "+port, setting+" leads there", "%s does not answer: %v", host, err)
	}
	return nil
}

func dialHost(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	return c.Close()
}

// renew is how long before its end a certificate should have been renewed.
const renew = 14 * 24 * time.Hour

func lookTLS(_ context.Context, p *Patient) []Finding {
	c := p.Config
	if c.TLSCert == "" {
		if c.Loopback() || len(c.TrustedProxies) > 0 || len(c.TLSDomains) > 0 {
			return nil
		}
		return newFailure("tls_domains = wms.example.com, or tls_cert and tls_key, or trusted_proxies for a TLS proxy",
			"identity endpoints refuse credentials that cross a network in the clear",
			"others can reach the listener, and it has no TLS")
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return newFailure("openssl x509 -noout -text -in "+c.TLSCert, "the server does not start",
			"the certificate cannot be used: %v", err)
	}
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return newFailure("openssl x509 -noout -text -in "+c.TLSCert, "", "the certificate cannot be read: %v", err)
	}
	return p.checkCertificate(cert)
}

func (p *Patient) checkCertificate(cert *x509.Certificate) (out []Finding) {
	show := "openssl x509 -noout -dates -ext subjectAltName -in " + p.Config.TLSCert
	switch left := cert.NotAfter.Sub(p.Now()); {
	case left < 0:
		out = newFailure(show, "clients refuse it", "the certificate ended at %s", cert.NotAfter.UTC().Format(time.RFC3339))
	case p.Now().Before(cert.NotBefore):
		out = newFailure(show, "clients refuse it; or the clock is wrong", "the certificate begins at %s",
			cert.NotBefore.UTC().Format(time.RFC3339))
	case left < renew:
		out = newWarning(show, "put the new one into the same file and send SIGHUP", "the certificate ends in %d days",
			int(left.Hours()/24))
	}
	if u, err := url.Parse(p.Config.PublicURL); err == nil && u.Hostname() != "" &&
		cert.VerifyHostname(u.Hostname()) != nil {
		out = append(out, newFailure(show, "clients refuse it", "the certificate is not for %s, the host of public_url",
			u.Hostname())...)
	}
	return out
}
