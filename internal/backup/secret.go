package backup

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"filippo.io/age"
)

// work is the cost of a passphrase, as a power of two: 64 MiB and a third of a
// second, which a server can spare and 12 characters make up for.
const work = 16

// mostWork is the most that is taken from a file before it costs too much
// memory.
const mostWork = 20

// shortest is the least length of a passphrase.
const shortest = 12

// Secret is what a backup is encrypted to. One of both is given.
type Secret struct {
	Passphrase string
	Recipient  string // age1..., of a key that is kept elsewhere
}

// Check fails when there is none, or one that is too weak.
func (s Secret) Check() error {
	_, err := s.ageRecipient()
	return err
}

func (s Secret) ageRecipient() (age.Recipient, error) {
	switch {
	case s.Recipient != "":
		r, err := age.ParseRecipients(strings.NewReader(s.Recipient))
		if err != nil || len(r) != 1 {
			return nil, errors.New("backup: the recipient is not an age public key (age1...)")
		}
		return r[0], nil
	case s.Passphrase == "":
		return nil, errors.New("backup: a backup holds the master key and everybody's data: give a passphrase or an age recipient to encrypt it to")
	case len([]rune(s.Passphrase)) < shortest:
		return nil, fmt.Errorf("backup: the passphrase is too short: use at least %d characters", shortest)
	}
	r, err := age.NewScryptRecipient(s.Passphrase)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	r.SetWorkFactor(work)
	return r, nil
}

// Opener is what opens a backup: a passphrase, or a file with age identities.
type Opener struct {
	Passphrase   string
	IdentityFile string
}

func (o Opener) ageIdentities() ([]age.Identity, error) {
	if o.IdentityFile != "" {
		f, err := os.Open(o.IdentityFile)
		if err != nil {
			return nil, fmt.Errorf("backup: %w", err)
		}
		defer f.Close()
		ids, err := age.ParseIdentities(f)
		if err != nil {
			return nil, fmt.Errorf("backup: %s holds no age identity", o.IdentityFile)
		}
		return ids, nil
	}
	if o.Passphrase == "" {
		return nil, errors.New("backup: the backup is encrypted: give its passphrase or the age identity it was made for")
	}
	id, err := age.NewScryptIdentity(o.Passphrase)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	id.SetMaxWorkFactor(mostWork)
	return []age.Identity{id}, nil
}

// classifyOpenError tells a wrong secret from a damaged file.
func classifyOpenError(err error) error {
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) || errors.Is(err, age.ErrIncorrectIdentity) {
		return fmt.Errorf("backup: %w", ErrSecret)
	}
	return damagedError(err)
}

func damagedError(err error) error { return fmt.Errorf("backup: %w (%w)", ErrDamaged, err) }
