package profile

import (
	"context"
	"encoding/json"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/identity/mfa"
	"holdfast/internal/identity/passkey"
	"holdfast/internal/identity/sessions"
)

// mayUpdate is own for a change that may bring its proof: the password, or a
// mailed nonce, which takeNonce uses up with the change.
func (s *Store) mayUpdate(ctx context.Context, a actor.Actor, in Update, what string) error {
	var u *accounts.User
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) (err error) {
		if u, err = accounts.UserByID(tx, a.UserID); err != nil || in.bringsProof() || what != "" && !in.Opens(u) {
			return err
		}
		return s.Proofs.OwnAccount(tx, u, a, what)
	})
	if err != nil || !in.bringsProof() {
		return err
	}
	return s.requireEntitled(ctx, a, u, sessions.Row{}, in)
}

// Opens reports an update that changes who can come into an account.
func (in Update) Opens(u *accounts.User) bool {
	return in.Email != "" && in.Email != u.Email || in.Phone != "" && in.Phone != u.Phone || len(in.Remove) > 0
}

// bringsProof reports an update that brings a proof.
func (in Update) bringsProof() bool { return in.CurrentPassword != "" || in.Nonce != "" }

// Proof is a credential shown again: one of them.
type Proof struct {
	Password    string
	Nonce       string // what Reauthenticate mailed
	ChallengeID string // of AskPasskey, with
	Credential  json.RawMessage
}

// RenewProof takes a proof and makes the caller's session a fresh one.
func (s *Store) RenewProof(ctx context.Context, a actor.Actor, in Proof) error {
	if in.ChallengeID != "" {
		return s.proveByPasskey(ctx, a, in)
	}
	if in.Password == "" && in.Nonce == "" {
		return fault.New(fault.Invalid, "validation_failed", "Reauthentication takes a password, a nonce or a passkey")
	}
	up := Update{CurrentPassword: in.Password, Nonce: in.Nonce}
	if err := s.mayUpdate(ctx, a, up, ""); err != nil {
		return err
	}
	return s.Write(ctx, func(tx *db.Tx) error {
		if err := s.takeNonce(tx, a.UserID, up); err != nil {
			return err
		}
		method := "password"
		if in.Password == "" {
			method = "nonce"
		}
		return s.Proofs.Mark(tx, a, method)
	})
}

// proveByPasskey is Renew with a passkey of the caller's own.
func (s *Store) proveByPasskey(ctx context.Context, a actor.Actor, in Proof) error {
	if err := s.Passkeys.PasskeysOn(); err != nil {
		return err
	}
	credID, userID, err := passkey.Holder(in.Credential)
	if err != nil {
		return err
	}
	var refused error
	err = s.Write(ctx, func(tx *db.Tx) error {
		refused = nil
		q, err := s.Passkeys.Answered(tx, in.ChallengeID, mfa.AskGet, "", "")
		if err == nil && userID != a.UserID {
			err = mfa.ErrPasskey()
		}
		if err == nil {
			_, _, err = s.Passkeys.Asserted(tx, q, credID, userID, in.Credential)
		}
		if err == nil {
			return s.Proofs.Mark(tx, a, "passkey")
		}
		refused = mfa.Refusal(err)
		return mfa.CommitRefusal(err, refused)
	})
	if err == nil {
		err = refused
	}
	return err
}

func checkRemove(list []string) error {
	for _, what := range list {
		if !slices.Contains([]string{accounts.RemovePasskeys, accounts.RemoveFactors, accounts.RemoveIdentities}, what) {
			return fault.New(fault.Invalid, "validation_failed", "remove: name passkeys, factors or identities").At("remove",
				"unknown")
		}
	}
	return nil
}

// removeWays takes off the account what else opens it, as its owner asks who has
// reset the password: a stranger may have added it.
func (s *Store) removeWays(tx *db.Tx, a actor.Actor, u *accounts.User, list []string) error {
	for _, what := range list {
		var err error
		switch what {
		case accounts.RemovePasskeys:
			err = s.removePasskeys(tx, a, u)
		case accounts.RemoveFactors:
			err = s.removeFactors(tx, a, u)
		case accounts.RemoveIdentities:
			err = s.removeIdentities(tx, a, u)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) removePasskeys(tx *db.Tx, a actor.Actor, u *accounts.User) error {
	list, err := mfa.PasskeysOf(tx, u.ID)
	for _, k := range list {
		if err == nil {
			err = s.Passkeys.DropPasskey(tx, a, u, k)
		}
	}
	return err
}

func (s *Store) removeFactors(tx *db.Tx, a actor.Actor, u *accounts.User) error {
	list, err := factor.List(tx, u.ID)
	for _, f := range list {
		if err == nil {
			err = s.Factors.DropFactor(tx, f, accounts.Event{Tenant: a.TenantID, User: u.ID, Client: accounts.ClientOf(a)})
		}
	}
	u.Factors = nil
	return err
}

// RemoveIdentities leaves the address and the number. An account that a
// provider's sign-in had made signs in by its address from then on.
func (s *Store) removeIdentities(tx *db.Tx, a actor.Actor, u *accounts.User) error {
	kept := []accounts.Identity{}
	for _, i := range u.Identities {
		if i.Provider == "email" || i.Provider == "phone" {
			kept = append(kept, i)
			continue
		}
		s.Audit(tx, accounts.Event{Tenant: a.TenantID, User: u.ID, Action: "user.identity_unlinked", Entity: "user",
			EntityID: u.ID, Details: map[string]any{"provider": i.Provider}, Client: accounts.ClientOf(a)})
		accounts.DropIdentity(tx, i.IdentityID)
	}
	if len(kept) == 0 {
		id := accounts.EmailIdentity(u, s.Now())
		kept = append(kept, id)
		accounts.InsertIdentity(tx, &id)
	}
	u.Identities = kept
	u.Derive()
	return tx.Flush()
}

var wayOf = map[string]mailtemplate.WayKind{factor.TOTP: mailtemplate.ByApp, factor.WebAuthn: mailtemplate.ByKey,
	factor.Phone: mailtemplate.ByPhone}

// otherWays names what else opens an account, for the mail about a new password.
func (s *Store) otherWays(tx *db.Tx, u *accounts.User) (list []mailtemplate.Way, err error) {
	if u.Passkeys, err = mfa.PasskeysOf(tx, u.ID); err != nil {
		return nil, err
	}
	for _, k := range u.Passkeys {
		list = append(list, mailtemplate.Way{Kind: mailtemplate.ByPasskey, Name: k.FriendlyName})
	}
	for _, f := range u.Factors {
		if f.Status == factor.Verified {
			list = append(list, mailtemplate.Way{Kind: wayOf[f.Kind], Name: f.FriendlyName})
		}
	}
	for _, i := range u.Identities {
		if i.Provider != "email" && i.Provider != "phone" {
			list = append(list, mailtemplate.Way{Kind: mailtemplate.ByProvider, Name: i.Provider})
		}
	}
	return list, nil
}
