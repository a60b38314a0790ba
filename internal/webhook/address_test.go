package webhook

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// resolver knows a few names.
func resolver(_ context.Context, host string) ([]netip.Addr, error) {
	known := map[string]string{
		"hooks.example.com": "93.184.215.14", "rebind.example.com": "93.184.215.14 10.0.0.1",
		"inside.example.com": "192.168.1.1",
		"meta.example.com":   "169.254.169.254", "six.example.com": "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
		"loop6.example.com":  "::1",
		"mapped.example.com": "::ffff:127.0.0.1",
	}
	text, ok := known[strings.TrimSuffix(host, ".")]
	if !ok {
		return nil, errors.New("no such host")
	}
	var out []netip.Addr
	for _, s := range strings.Fields(text) {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

// Internal targets in every spelling are refused when they are given, each
// with a 4xx at url; nothing tells a name that resolves inside from one that
// does not resolve.
func TestInternalTargets(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.s = service(t, k, Options{Lookup: resolver})
		refused := []string{
			"http://hooks.example.com/", "ftp://hooks.example.com/", "hooks.example.com", "", "https://", "https:///x",
			"//hooks.example.com/", "https:hooks.example.com",
			"https://localhost/", "https://LOCALHOST./", "https://a.localhost/", "https://printer/", "https://nas.local/",
			"https://db.internal/", "https://router.lan/", "https://host.home.arpa/",
			"https://127.0.0.1/", "https://127.1/", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/",
			"https://0x7f.0.0.1/", "https://127.0.0.1.:8443/", "https://0/", "https://0.0.0.0/",
			"https://10.1.2.3/", "https://172.16.0.1/", "https://192.168.0.1/", "https://169.254.169.254/latest/",
			"https://100.64.0.1/",
			"https://224.0.0.1/", "https://255.255.255.255/", "https://198.18.0.1/", "https://203.0.113.5/",
			"https://[::1]/", "https://[::]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[fe80::1]/",
			"https://[fe80::1%25eth0]/", "https://[fc00::1]/", "https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/",
			"https://[2001:db8::1]/", "https://[ff02::1]/",
			"https://\uff11\uff12\uff17.0.0.1/", "https://①②⑦.⓪.⓪.①/", "https://%31%32%37.0.0.1/",
			"https://user:pw@hooks.example.com/", "https://hooks.example.com#@127.0.0.1/",
			"https://hooks.example.com\\@127.0.0.1/",
			"https://hooks.example.com:22/", "https://hooks.example.com:0/", "https://hooks.example.com:65536/",
			"https://hooks.example.com:x/", "https://hooks.example.com/ x", "https://hooks.example.com/\n",
			"https://rebind.example.com/", "https://inside.example.com/", "https://meta.example.com/",
			"https://loop6.example.com/",
			"https://mapped.example.com/", "https://unknown.example.com/",
			"https://hooks.example.com/" + strings.Repeat("x", 2000),
		}
		for _, u := range refused {
			_, err := k.s.Create(context.Background(), admin(north), In{URL: u})
			if f := fault.As(err); !fault.Is(err, fault.Invalid) || len(f.Fields) != 1 || f.Fields[0].Name != "url" {
				t.Errorf("%q: %v", u, err)
			}
		}
		for _, u := range []string{"https://hooks.example.com/in?x=1", "https://hooks.example.com:8443/",
			"https://hooks.example.com:80/",
			"https://93.184.215.14/", "https://six.example.com/", "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443/"} {
			if _, err := k.s.Create(context.Background(), admin(north), In{URL: u}); err != nil {
				t.Errorf("%q: %v", u, err)
			}
		}
		inside, unknown := k.s.checkResolves(context.Background(), "inside.example.com"),
			k.s.checkResolves(context.Background(), "nowhere.example.com")
		if strings.ReplaceAll(inside.Error(), "inside", "nowhere") != unknown.Error() {
			t.Errorf("told apart: %v / %v", inside, unknown)
		}
	})
}

// The dial is guarded by itself: what a name resolves to is checked at the
// moment of connecting.
func TestDialGuard(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := service(t, k, Options{})
		for address, ok := range map[string]bool{
			"127.0.0.1:443": false, "10.0.0.1:443": false, "169.254.169.254:80": false, "[::1]:443": false,
			"[::ffff:10.0.0.1]:443": false,
			"[64:ff9b::a00:1]:443":  false,
			"93.184.215.14:443":     true, "93.184.215.14:22": false, "93.184.215.14:8443": true, "[2606:2800::1]:443": true,
			"nonsense": false,
		} {
			network := "tcp4"
			if address[0] == '[' {
				network = "tcp6"
			}
			if err := s.checkDialable(network, address, nil); (err == nil) != ok {
				t.Errorf("dial %s: %v", address, err)
			}
		}
		if s.client.Transport.(*http.Transport).Proxy != nil {
			t.Error("a proxy would dial for us, past the guard")
		}
		sink := newSink(t, nil)
		o := s.sendOnce(context.Background(),
			&endpoint{url: strings.Replace(sink.URL, "http://127.0.0.1", "https://localhost", 1),
				secrets: [][]byte{newSecret()}}, &delivery{event: "e", payload: "{}"})
		if o.status != 0 || sink.count() != 0 {
			t.Errorf("a request got through to loopback: %+v", o)
		}
	})
}

// What an administrator changes later is checked as well; secrets are sealed
// and shown to nobody.
func TestChanges(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.s = service(t, k, Options{Lookup: resolver})
		e := k.create(north, "https://hooks.example.com/")
		for _, set := range []store.Row{
			{"url": "https://127.0.0.1/"}, {"url": "http://hooks.example.com/"}, {"events": `["orders.*"]`},
			{"status": "broken"},
		} {
			if err := k.set(north, e.ID, set); !fault.Is(err, fault.Invalid) {
				t.Errorf("%v: %v", set, err)
			}
		}
		if err := k.set(north, e.ID, store.Row{"events": `["order.*","stock.low"]`, "description": "ERP"}); err != nil {
			t.Error(err)
		}
		if _, err := k.s.Create(context.Background(), admin(north),
			In{URL: "https://hooks.example.com/", Events: []string{"order.eaten"}}); !fault.Is(err, fault.Invalid) ||
			fault.As(err).Fields[0].Name != "events" {
			t.Errorf("an unknown event: %v", err)
		}
		for _, role := range []actor.Role{actor.Manager, actor.Safety, actor.Viewer, actor.Anon} {
			if _, err := k.s.Create(context.Background(), actor.Actor{TenantID: north, Role: role},
				In{URL: "https://hooks.example.com/"}); !fault.Is(err,
				fault.Forbidden) {
				t.Errorf("%s made a webhook: %v", role, err)
			}
		}
		row := k.webhook(north, e.ID)
		sealed := row.Text("secret")
		if strings.Contains(sealed, strings.TrimPrefix(e.Secret, secretPrefix)) {
			t.Error("the secret is stored in the clear")
		}
		secret, err := k.s.openSecret(sealed, e.ID)
		if err != nil || formatSecret(secret) != e.Secret {
			t.Errorf("opened %v", err)
		}
		if _, err := k.s.openSecret(sealed, north); err == nil {
			t.Error("a secret moved to another row opens")
		}
		for _, name := range []string{"secret", "old_secret"} {
			f, _ := k.s.webhooks.Field(name)
			for _, role := range actor.Members {
				if f.Visible(role) {
					t.Errorf("%s sees %s", role, name)
				}
			}
		}
	})
}

// The pauses between attempts add up to three days and never come together:
// each is spread by a fifth.
func TestDelays(t *testing.T) {
	var sum time.Duration
	for n := int64(1); sum < keepTrying; n++ {
		d := delays[min(int(n), len(delays))-1]
		for range 100 {
			if got := retryDelay(n); got < d*4/5 || got > d*6/5 {
				t.Fatalf("delay %d: %v", n, got)
			}
		}
		sum += d
		if n > 30 {
			t.Fatalf("%d attempts take %v", n, sum)
		}
	}
}

// A demonstration calls the machine it runs on, and nothing else that is private:
// neither at the form of an address nor at the dial.
func TestLoopback(t *testing.T) {
	k := newKit(t, db.Options{Dir: t.TempDir(), Migrate: true})
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	defer here.Close()
	_, port, err := net.SplitHostPort(here.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	demo, closed := service(t, k, Options{AllowLoopback: true}), service(t, k, Options{})
	for _, host := range []string{"127.0.0.1", "localhost", "127.0.0.9", "[::1]"} {
		raw := "http://" + net.JoinHostPort(strings.Trim(host, "[]"), port) + "/hook"
		if _, err := demo.parseURL(raw); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if _, err := closed.parseURL(raw); err == nil {
			t.Errorf("%s is taken without being asked for", raw)
		}
	}
	for _, raw := range []string{"http://10.0.0.1/", "http://hooks.example.com/", "https://192.168.1.9/",
		"http://[fe80::1]/", "https://box.local/",
		"https://2130706433/", "https://169.254.169.254/"} {
		if _, err := demo.parseURL(raw); err == nil {
			t.Errorf("%s is taken for this machine", raw)
		}
	}
	for raw, want := range map[string]bool{"http://127.0.0.1:" + port: true, "http://localhost:" + port: true} {
		response, err := demo.client.Get(raw)
		if (err == nil) != want {
			t.Errorf("%s: %v", raw, err)
		}
		if err == nil {
			response.Body.Close()
		}
	}
	if err := demo.checkDialable("tcp", here.Listener.Addr().String(), nil); err == nil {
		t.Error("a public name that resolves to this machine reaches it")
	}
	if response, err := closed.client.Get(here.URL); err == nil {
		response.Body.Close()
		t.Error("loopback is dialled without being asked for")
	}
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{"https://hooks.example.com/", "https://127.1/", "https://[::1%25x]:443/",
		"https://a.b.c:99999"} {
		f.Add(s)
	}
	k := newKit(f, db.Options{Dir: f.TempDir(), Migrate: true})
	s := service(f, k, Options{})
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := s.parseURL(raw)
		if err != nil {
			return
		}
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && s.guard.SafeAddr(ip) != nil {
			t.Errorf("%q leads to %s", raw, ip)
		}
		if u.Scheme != "https" || !strings.Contains(u.Hostname(), ".") && !strings.Contains(u.Hostname(), ":") {
			t.Errorf("accepted %q", raw)
		}
	})
}
