package identity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	settings "holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/tenants"
	"holdfast/internal/job"
	"holdfast/internal/mail"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) {
	if place := os.Getenv(sealingEnv); place != "" {
		fmt.Fprintln(os.Stderr, writeAndSeal(place))
		os.Exit(1)
	}
	pgtest.Main(m)
}

// kit is one identity service on one engine, with a clock and a mailbox.
type kit struct {
	*testing.T
	svc     *identity.Service
	db      *db.DB
	options db.Options
	cfg     identity.Config
	ctx     context.Context

	jobs *job.Runner
	stop func(context.Context) error // the service and the jobs

	mu    sync.Mutex
	clock time.Time
	mails []mail.Message
	away  error                            // what the mail server answers
	slow  func(m mail.Message) <-chan bool // what a mail waits for; nil = nothing
}

var all = db.Scope{All: true}

func (k *kit) now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.clock
}

func (k *kit) sleep(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.clock = k.clock.Add(d)
}

func (k *kit) Send(_ context.Context, m mail.Message) error {
	k.mu.Lock()
	slow := k.slow
	k.mu.Unlock()
	if slow != nil {
		<-slow(m)
	}

	k.mu.Lock()
	defer k.mu.Unlock()
	if k.away != nil {
		return k.away
	}
	k.mails = append(k.mails, m)
	return nil
}

// delayMails has each mail wait for what f returns before it is sent.
func (k *kit) delayMails(f func(m mail.Message) <-chan bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.slow = f
}

// mailTo waits for the n-th mail (from 1) of a kind to an address.
func (k *kit) mailTo(addr, kind string) mail.Message {
	k.Helper()
	for range 6000 {
		k.mu.Lock()
		for i := len(k.mails) - 1; i >= 0; i-- {
			if m := k.mails[i]; m.To == addr && m.Kind == kind {
				k.mails = append(k.mails[:i], k.mails[i+1:]...)
				k.mu.Unlock()
				return m
			}
		}
		k.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
	k.Fatalf("no %s mail to %s", kind, addr)
	return mail.Message{}
}

// settle ends the work that is queued, as a restart would, and sends the
// invitations that are due.
func (k *kit) settle() {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.ctx, 30*time.Second)
	defer cancel()
	k.ok(k.stop(ctx))
	k.start()
	k.round()
}

// mailsTo counts an address's mails once nothing is queued.
func (k *kit) mailsTo(addr string) int {
	k.Helper()
	k.settle()
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for _, m := range k.mails {
		if m.To == addr {
			n++
		}
	}
	return n
}

func config() identity.Config {
	key := []byte("0123456789abcdef0123456789abcdef")
	return identity.Config{SignIn: settings.SignIn{SiteURL: "http://localhost:3000", PublicURL: "http://127.0.0.1:8080",
		RedirectURLs: []string{"https://app.example.com/**", "https://app.example.com/in"}, SignupEnabled: true,
		Autoconfirm: true, SignupTenants: accounts.TenantsClaim, ImplicitFlow: true, Passkeys: true}, MasterKey: key,
		Version: "test"}
}

// onBoth runs a test on each engine. change may alter the configuration.
func onBoth(t *testing.T, change func(*identity.Config), f func(k *kit)) {
	t.Helper()
	for _, engine := range []db.Engine{db.SQLite, db.PostgreSQL} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			cfg := config()
			if change != nil {
				change(&cfg)
			}
			f(open(t, engine, cfg))
		})
	}
}

func open(t *testing.T, engine db.Engine, cfg identity.Config) *kit {
	t.Helper()
	o := dbtest.Options(t, engine)
	o.PoolSize = 4
	d, err := db.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	k := &kit{T: t, db: d, options: o, cfg: cfg, ctx: context.Background(), clock: time.Now().UTC()}
	k.start()
	return k
}

// start makes a service over the kit's database and has the kit use it, as after
// a restart. A service that was not stopped before goes on beside it, as another
// node does, until the test ends.
func (k *kit) start() {
	k.Helper()
	jobs := job.NewRunner(k.db, k.now, slog.New(slog.DiscardHandler))
	k.jobs, k.cfg.Ring = jobs, jobs.Ring
	s, err := identity.New(k.cfg, k.db, k, k.now)
	if err != nil {
		k.Fatal(err)
	}
	k.svc = s
	jobs.Handle(s.Invitations.Mails(nil))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		jobs.Work(ctx)
		close(ended)
	}()
	stop := func(ctx context.Context) error {
		cancel()
		<-ended
		return s.Close(ctx)
	}
	k.stop = stop
	k.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := stop(ctx); err != nil {
			k.Error(err)
		}
	})
}

// round sends the invitations whose mails are due.
func (k *kit) round() {
	k.Helper()
	_, err := k.jobs.Round(k.ctx, tenants.MailJob)
	k.ok(err)
	k.idle()
}

// idle waits until no mail of an invitation is under way: the runner looks by
// itself too.
func (k *kit) idle() {
	k.Helper()
	for range 6000 {
		if k.count("SELECT COUNT(*) FROM jobs WHERE kind = $1 AND status = 'running'", tenants.MailJob) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	k.Fatal("a mail of an invitation is never sent")
}

// code requires an error with one code.
func (k *kit) code(err error, want string) {
	k.Helper()
	if !fault.HasCode(err, want) {
		k.Errorf("error %v, want code %s", err, want)
	}
}

func (k *kit) ok(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

const pw = "a-good-long-password"

// signUp makes a confirmed account and its session.
func (k *kit) signUp(email string, data map[string]any) *identity.Session {
	k.Helper()
	s, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: email, Password: pw, Data: data,
		Redirect: k.cfg.SiteURL},
		identity.Client{Address: "192.0.2.1"})
	k.ok(err)
	if s == nil {
		k.Fatal("no session")
	}
	return s
}

func (k *kit) signIn(email string) *identity.Session {
	k.Helper()
	s, err := k.svc.SignIns.SignIn(k.ctx, email, pw, identity.Client{})
	k.ok(err)
	return s
}

func (k *kit) refresh(s *identity.Session) *identity.Session {
	k.Helper()
	n, err := k.svc.Sessions.Refresh(k.ctx, s.RefreshToken, identity.Client{})
	k.ok(err)
	return n
}

func (k *kit) who(access string) (actor.Actor, error) {
	return k.svc.Authenticator.Authenticate(k.ctx, identity.Credential{Bearer: access})
}

// actor is whose session it is, as the account's own endpoints see him: with or
// without a second factor.
func (k *kit) actor(s *identity.Session) actor.Actor {
	k.Helper()
	a, err := k.svc.Authenticator.Identify(k.ctx, identity.Credential{Bearer: s.AccessToken})
	k.ok(err)
	return a
}

func (k *kit) service() actor.Actor { return actor.Actor{Role: actor.Service, KeyID: "test"} }

func (k *kit) tenant(name string) string {
	k.Helper()
	t, err := k.svc.Tenants.CreateTenant(k.ctx, name, "", "")
	k.ok(err)
	return t.ID
}

// member makes an account with the usual password and a membership.
func (k *kit) member(tenant, email string, role actor.Role) *identity.Session {
	k.Helper()
	p := pw
	_, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
		identity.AdminUser{Email: &email, Password: &p, EmailConfirm: true})
	if err != nil && !fault.HasCode(err, "email_exists") {
		k.Fatal(err)
	}
	_, err = k.svc.Admin.AddMember(k.ctx, tenant, email, role)
	k.ok(err)
	return k.signIn(email)
}

func (k *kit) exec(sql string, args ...any) {
	k.Helper()
	k.ok(k.db.Write(k.ctx, all, func(tx *db.Tx) error {
		_, err := tx.Exec(sql, args...)
		return err
	}))
}

func (k *kit) count(sql string, args ...any) int {
	k.Helper()
	n := 0
	k.ok(k.db.Read(k.ctx, all, func(tx *db.Tx) error {
		return tx.One(sql, args, func(r *db.Row) error { n = int(r.Int(0)); return nil })
	}))
	return n
}

// claims decodes a token without checking it.
func claims(t testing.TB, access string) map[string]any {
	t.Helper()
	return decodePart(t, strings.Split(access, ".")[1])
}

func decodePart(t testing.TB, part string) map[string]any {
	t.Helper()
	b, err := base64Raw(part)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// linkIn finds the verification link in a mail and returns its query.
func linkIn(t testing.TB, m mail.Message) url.Values {
	t.Helper()
	for _, w := range strings.Fields(m.Text) {
		if strings.Contains(w, "/auth/v1/verify?") {
			u, err := url.Parse(w)
			if err != nil {
				t.Fatal(err)
			}
			return u.Query()
		}
	}
	t.Fatalf("no link in %q", m.Text)
	return nil
}

// digitsIn finds the six digits in a mail.
func digitsIn(t testing.TB, m mail.Message) string {
	t.Helper()
	_, rest, ok := strings.Cut(m.Text, "Code: ")
	if !ok || len(rest) < 6 {
		t.Fatalf("no code in %q", m.Text)
	}
	return rest[:6]
}
