package config

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// shortestPassphrase is the least length of backup_passphrase, as package backup demands it.
const shortestPassphrase = 12

// mostQuota is the most megabytes of a quota, which are counted in bytes.
const mostQuota = 1_000_000_000

// checkPlaces refuses addresses of files and backups at which nothing can ever be kept, and
// quotas that nothing fits into. What is away for now is not looked for: it may come back.
func (c *Config) checkPlaces() error {
	if err := checkPlace("blob_url", c.BlobURL, false); err != nil {
		return err
	}
	if err := checkPlace("backup_to", c.BackupTo, true); err != nil {
		return err
	}
	if n := len([]rune(c.BackupPassphrase)); n > 0 && n < shortestPassphrase {
		return fmt.Errorf("config: backup_passphrase is too short: use at least %d characters", shortestPassphrase)
	}
	if c.ImportQuota < 1 || c.ImportQuota > mostQuota {
		return fmt.Errorf("config: import_quota must be between 1 and %d megabytes, not %d", mostQuota, c.ImportQuota)
	}
	if c.PhotoQuota < 0 || c.PhotoQuota > mostQuota {
		return fmt.Errorf("config: photo_quota must be between 0 and %d megabytes, not %d", mostQuota, c.PhotoQuota)
	}
	return nil
}

// checkPlace holds an address to one of the forms that are known. Its errors never repeat an
// address with a scheme, which may hold a secret.
func checkPlace(setting, address string, plainPath bool) error {
	scheme, rest, hasScheme := strings.Cut(address, "://")
	forms := "s3://KEY:SECRET@host/bucket/prefix or file:///path"
	if plainPath {
		forms = "a directory, or s3://KEY:SECRET@host/bucket/prefix"
	}
	switch {
	case address == "":
		return nil
	case hasScheme && scheme == "s3":
		return checkBucket(setting, address)
	case hasScheme && scheme == "file" && !filepath.IsAbs(rest):
		return fmt.Errorf("config: %s names no absolute path: write file:///path", setting)
	case hasScheme && scheme != "file", !hasScheme && !plainPath:
		return fmt.Errorf("config: %s must be %s", setting, forms)
	}
	path := address
	if hasScheme {
		path = rest
	}
	if isFile(path) {
		return fmt.Errorf("config: %s must be a directory, and %s is a file", setting, path)
	}
	return nil
}

// checkBucket holds an address to what a bucket needs: a host, and a name.
func checkBucket(setting, address string) error {
	wrong := func(why string) error {
		return fmt.Errorf("config: %s %s: it looks like s3://KEY:SECRET@host/bucket/prefix", setting, why)
	}
	u, err := url.Parse(address)
	if err != nil {
		return wrong("cannot be read") // the error would show the secret
	}
	secret, _ := u.User.Password()
	switch {
	case u.Hostname() == "":
		return wrong("names no host")
	case strings.Trim(u.Path, "/") == "":
		return wrong("names no bucket")
	case (u.User.Username() == "") != (secret == ""):
		return wrong("has a key without its secret")
	}
	return nil
}

// longestLook is how long a path is looked at: one on a mount that hangs is not judged.
const longestLook = time.Second

// isFile reports a path that is a file. What lies below one is away, as a mount may be.
func isFile(path string) bool {
	found := make(chan bool, 1)
	go func() {
		st, err := os.Stat(path)
		found <- err == nil && !st.IsDir()
	}()
	select {
	case is := <-found:
		return is
	case <-time.After(longestLook):
		return false
	}
}

// checkOrigins refuses entries that no browser's Origin equals (RFC 6454 section 6.2): a
// scheme, a host and perhaps a port, and nothing behind them.
func (c *Config) checkOrigins() error {
	for _, origin := range c.CORSOrigins {
		if origin == "*" || origin == "null" {
			continue
		}
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			return fmt.Errorf("config: cors_origins: %q is no origin: write https://app.example.com, without a path",
				origin)
		}
	}
	return nil
}
