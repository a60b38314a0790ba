package redis

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// address is where a server is, and how one signs in to it.
type address struct {
	host     string // with its port
	user     string
	password string
	database int
	tls      *tls.Config // nil = in the clear
}

// parse reads a URL. Its errors do not repeat it: it holds a password.
func parse(text string) (address, error) {
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

// dial connects and signs in.
func (a address) dial(ctx context.Context) (net.Conn, *reader, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	d := net.Dialer{KeepAlive: dialTimeout}
	conn, err := d.DialContext(ctx, "tcp", a.host)
	if err != nil {
		return nil, nil, fmt.Errorf("redis: %w", err)
	}
	if a.tls != nil {
		conn = tls.Client(conn, a.tls)
	}
	r := &reader{bufio.NewReader(conn)}
	if err := a.greet(conn, r); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("redis: sign in: %w", err), conn.Close())
	}
	return conn, r, nil
}

// greet signs in and chooses the database. A ping shows that it is Redis, and
// that one may ask.
func (a address) greet(conn net.Conn, r *reader) error {
	var b []byte
	n := 1
	switch {
	case a.user != "" && a.password != "":
		b, n = command(b, []string{"AUTH", a.user, a.password}), n+1
	case a.password != "":
		b, n = command(b, []string{"AUTH", a.password}), n+1
	}
	if a.database > 0 {
		b, n = command(b, []string{"SELECT", strconv.Itoa(a.database)}), n+1
	}
	b = command(b, []string{"PING"})
	if err := conn.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	if _, err := conn.Write(b); err != nil {
		return err
	}
	for range n {
		v, err := r.value()
		if err == nil {
			err = v.Err()
		}
		if err != nil {
			return err
		}
	}
	return conn.SetDeadline(time.Time{})
}
