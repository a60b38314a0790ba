package redis

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// address is where a server is, and how one signs in to it.
type address struct {
	host     string // with its port
	user     string
	password string
	database int
	tls      *tls.Config // nil = in the clear
}

// parseURL reads a URL. Its errors do not repeat it: it holds a password.
func parseURL(text string) (address, error) {
	wrong := func(why string) (address, error) {
		return address{}, fmt.Errorf("redis: the URL cannot be read: %s; it is redis://user:password@host:6379/0, or rediss:// with TLS", why)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return wrong("it is no URL")
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return wrong("its scheme is neither redis nor rediss")
	case u.Hostname() == "":
		return wrong("it names no host")
	case u.RawQuery != "" || u.Fragment != "":
		return wrong("nothing may follow the number of the database")
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	at := address{host: net.JoinHostPort(u.Hostname(), port), user: u.User.Username()}
	at.password, _ = u.User.Password()
	if path := strings.Trim(u.Path, "/"); path != "" {
		if at.database, err = strconv.Atoi(path); err != nil || at.database < 0 {
			return wrong("what follows the host is no number of a database")
		}
	}
	if u.Scheme == "rediss" {
		at.tls = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
	}
	return at, nil
}

// dialServer connects and signs in.
func (a address) dialServer(ctx context.Context) (redis.Conn, error) {
	options := []redis.DialOption{redis.DialConnectTimeout(dialTimeout), redis.DialTLSHandshakeTimeout(dialTimeout),
		redis.DialReadTimeout(lostAfter),
		redis.DialWriteTimeout(writeTimeout), redis.DialUsername(a.user), redis.DialPassword(a.password),
		redis.DialDatabase(a.database)}
	if a.tls != nil {
		options = append(options, redis.DialUseTLS(true), redis.DialTLSConfig(a.tls))
	}
	conn, err := redis.DialContext(ctx, "tcp", a.host, options...)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	return conn, nil
}
