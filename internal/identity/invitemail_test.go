package identity_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/tenants"
	"holdfast/internal/mail"
	"holdfast/internal/store"
)

// serverIs sets what the mail server answers.
func (k *kit) serverIs(away error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.away = away
}

// What a mail server refuses for good is tried again, for the reason may be its
// own; an address that it does not know, or what cannot be written, is not.
// Neither holds up the others.
func TestInvite_refusedMail(t *testing.T) {
	for code, want := range map[string]int{"mail_refused": 6, "mail_address": 0, "mail_subject": 0, "mail_message": 0} {
		onBoth(t, nil, func(k *kit) {
			admin := k.actor(k.member(k.tenant("North"), "admin@x.example", actor.Admin))
			k.serverIs(fault.New(fault.Invalid, code, "no"))
			const list = 6 // more than end a round
			for i := range list {
				k.ok(k.invite(admin, fmt.Sprintf("p%d@x.example", i)))
			}
			k.tried(list)
			k.ok(k.stop(k.ctx))
			k.start()
			k.serverIs(nil)
			k.sleep(time.Hour)
			k.round()
			n := 0
			for i := range list {
				n += k.mailsTo(fmt.Sprintf("p%d@x.example", i))
			}
			if n != want {
				k.Errorf("%s: %d of %d mails came later, want %d", code, n, list, want)
			}
		})
	}
}

// tried waits until n mails of invitations have been handed to the server.
func (k *kit) tried(n int) {
	k.Helper()
	for range 6000 {
		if k.count("SELECT COUNT(*) FROM jobs WHERE kind = $1 AND tries > 0", tenants.MailJob) >= n {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	k.Fatalf("fewer than %d mails were tried", n)
}

func (k *kit) invite(a actor.Actor, email string) error {
	_, err := k.svc.Invitations.Invite(k.ctx, a, identity.Invite{Email: email, Role: actor.Viewer})
	return err
}

// An invitation that was accepted for mailing is mailed in the end, once,
// whatever became of the mail server, the process or other nodes meanwhile.
func TestInvite_mailedInTheEnd(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		admin := k.actor(k.member(k.tenant("North"), "admin@x.example", actor.Admin))
		k.serverIs(errors.New("away"))
		k.ok(k.invite(admin, "new@x.example"))
		k.ok(k.invite(admin, "revoked@x.example"))
		k.tried(2)
		k.ok(k.stop(k.ctx))
		k.start()
		k.exec("UPDATE invitations SET status = 'revoked' WHERE email = 'revoked@x.example'")
		k.serverIs(nil)
		k.round()
		if n := k.mailsTo("new@x.example"); n != 0 {
			k.Errorf("%d mails before the time to try again", n)
		}
		k.sleep(time.Minute)
		var wg sync.WaitGroup
		for range 4 { // nodes
			wg.Go(func() {
				if _, err := k.jobs.Round(k.ctx, tenants.MailJob); err != nil {
					k.Error(err)
				}
			})
		}
		wg.Wait()
		k.idle()
		k.sleep(24 * time.Hour)
		k.round()
		if n, none := k.mailsTo("new@x.example"), k.mailsTo("revoked@x.example"); n != 1 || none != 0 {
			k.Errorf("%d mails, and %d of an invitation that was revoked", n, none)
		}
	})
}

// A suspended tenant's invitations are mailed when it is active again.
func TestInvite_suspended(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		north := k.tenant("North")
		admin := k.actor(k.member(north, "admin@x.example", actor.Admin))
		k.serverIs(errors.New("away"))
		k.ok(k.invite(admin, "new@x.example"))
		k.tried(1)
		k.ok(k.stop(k.ctx))
		k.start()
		k.serverIs(nil)
		k.exec("UPDATE tenants SET status = 'suspended' WHERE id = $1", north)
		k.sleep(time.Hour)
		_, err := k.jobs.Round(k.ctx, tenants.MailJob)
		k.idle()
		k.mu.Lock()
		sent := len(k.mails)
		k.mu.Unlock()
		if sent != 0 {
			k.Errorf("a suspended tenant sent %d mails: %v", sent, err)
		}
		k.exec("UPDATE tenants SET status = 'active' WHERE id = $1", north)
		k.sleep(3 * time.Hour)
		if n := k.mailsTo("new@x.example"); n != 1 {
			k.Errorf("%d mails", n)
		}
	})
}

// A tenant that invites a crowd holds up neither people who wait for a code nor
// the invitations of others.
func TestInvite_crowd(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		crowd := k.actor(k.member(k.tenant("Crowd"), "crowd@x.example", actor.Admin))
		few := k.actor(k.member(k.tenant("Few"), "few@x.example", actor.Admin))
		on, off := make(chan bool), make(chan bool)
		close(off)
		k.delayMails(func(m mail.Message) <-chan bool {
			if strings.HasPrefix(m.To, "crowd-") {
				return on
			}
			return off
		})
		for i := range 30 {
			k.ok(k.invite(crowd, fmt.Sprintf("crowd-%d@y.example", i)))
		}
		k.ok(k.invite(few, "one@y.example"))
		k.tried(1) // and it hangs
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "few@x.example"}, nobody))
		k.mailTo("few@x.example", "recovery")
		close(on)
		for range 6000 {
			if k.count("SELECT COUNT(*) FROM jobs WHERE kind = $1 AND status <> 'done'", tenants.MailJob) == 0 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		at := 0
		for i, m := range k.mails {
			if m.To == "one@y.example" {
				at = i + 1
			}
		}
		// One page of the crowd's may have been taken before it came.
		if at == 0 || at > 22 || len(k.mails) != 31 {
			k.Errorf("of %d mails, that of the other tenant was number %d", len(k.mails), at)
		}
	})
}

// A tenant's invitations are mailed to so many a day; what is refused is not
// stored, whichever way it came. A link to hand over is no mail.
func TestInvite_limit(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		north := k.tenant("North")
		admin := k.actor(k.member(north, "admin@x.example", actor.Admin))
		k.ok(k.db.Write(k.ctx, all, func(tx *db.Tx) error {
			for range 999 {
				tx.Queue("INSERT INTO jobs (tenant_id, kind, key, payload, status, tries, claim, made_at, due_at) "+
					"VALUES ($1, $2, $3, 'null', 'done', 1, 1, $4, $4)", []any{north, tenants.MailJob, uuid.NewString(), k.now()}, nil)
			}
			return tx.Flush()
		}))
		st, _ := k.guarded()
		crowd := func() error {
			return k.db.Write(k.ctx, db.Scope{Tenant: north}, func(tx *db.Tx) error {
				_, err := st.In(tx, admin).InsertRows("invitations",
					[]store.Row{{"email": "a@y.example", "role": "viewer"}, {"email": "b@y.example", "role": "viewer"}})
				return err
			})
		}
		if err := crowd(); !fault.Is(err, fault.Limited) || fault.As(err).RetryAfter <= 0 {
			k.Errorf("two where one was left: %v", err)
		}
		k.ok(k.invite(admin, "last@y.example"))
		k.code(k.invite(admin, "more@y.example"), "over_email_send_rate_limit")
		if n := k.count("SELECT COUNT(*) FROM invitations"); n != 1 {
			k.Errorf("%d invitations are stored", n)
		}
		_, err := k.svc.Invitations.Invite(k.ctx, admin,
			identity.Invite{Email: "more@y.example", Role: actor.Viewer, Deliver: tenants.DeliverLink})
		k.ok(err)
		k.sleep(25 * time.Hour)
		k.ok(crowd())
		k.mailTo("b@y.example", "invite")
	})
}

// However many tenants invite an address at once, it is mailed one code, which
// stays good and joins the tenant whose mail brought it; the others wait for an
// answer of their own.
func TestInvite_oneCode(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		for _, name := range []string{"North", "South", "West"} {
			k.ok(k.invite(k.actor(k.member(k.tenant(name), name+"@x.example", actor.Admin)), "new@y.example"))
		}
		link := linkIn(k, k.mailTo("new@y.example", "invite")).Get("token")
		for range 2 {
			k.mailTo("new@y.example", "tenant_invite")
		}
		s, err := k.redeem(link)
		k.ok(err)
		if n := k.count("SELECT COUNT(*) FROM members WHERE user_id = $1", s.User.ID); n != 1 {
			k.Errorf("a member of %d tenants", n)
		}
		list, err := k.svc.Invitations.List(k.ctx, k.actor(s))
		k.ok(err)
		if len(list) != 2 {
			k.Errorf("%d invitations wait", len(list))
		}
	})
}
