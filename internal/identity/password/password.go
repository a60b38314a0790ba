// Package password hashes and checks passwords: Argon2id with a bound on how
// many hashes run at once, so that a flood of sign-ins can take neither the
// memory nor the processors of everybody else.
//
// Layer: domains. Begin at [New].
package password

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	mathrand "math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"

	"holdfast/internal/fault"
)

// Argon2id cost: OWASP Password Storage Cheat Sheet, second recommended
// configuration (m=19 MiB, t=2, p=1).
const (
	memoryKiB = 19 * 1024
	passes    = 2
	lanes     = 1
	saltLen   = 16
	keyLen    = 32
)

// Bounds on imported hashes; a hash from elsewhere must not choose how much
// memory or time its check takes.
const (
	maxMemoryKiB  = 256 * 1024
	maxPasses     = 10
	maxLanes      = 16
	maxBcryptCost = 14
)

// Hasher runs a bounded number of hashes at once.
type Hasher struct {
	slots   chan struct{} // for half of the processors
	spare   chan struct{} // for the others, while nobody else is served
	share   share
	waiting atomic.Int64
	made    atomic.Int64
	queue   int64
	apart   []*apart // asked in turn before a hash is made in this process
	decoy   string
}

// queueWait is the longest a hash waits for a slot.
const queueWait = 5 * time.Second

// New returns a Hasher with one slot per processor and room for queue callers
// who wait.
func New(queue int) *Hasher {
	half := (atOnce() + 1) / 2
	h := &Hasher{slots: make(chan struct{}, half), spare: make(chan struct{}, atOnce()-half), queue: int64(queue)}
	// The decoy has the cost of a real hash and matches no password.
	h.decoy = formatHash(randomSalt(), make([]byte, keyLen))
	return h
}

// atOnce is how many hashes run at the same time.
func atOnce() int { return runtime.NumCPU() }

// How long a process may take for a hash: one that gives way to everything,
// before one that does not is asked; and that one, which must be hung.
const (
	patience = time.Second
	hung     = 10 * time.Second
)

// Apart makes the Hasher work in a process of its own, which runs the
// WorkerCommand of this program and gives way to everything else the machine
// does. Where nothing is left to it, another hashes that does not give way.
// While requests are answered that ask for no hash, half of the processors hash:
// answered is how many requests were answered so far, of every kind.
// Call it before the Hasher is used.
func (h *Hasher) Apart(answered func() int64) error {
	h.share.answered = answered
	path, err := programPath()
	if err != nil {
		return fmt.Errorf("password: find this program: %w", err)
	}
	h.apart = []*apart{newApart(patience, path, WorkerCommand, "--"+WorkerIdle), newApart(hung, path, WorkerCommand)}
	return nil
}

// Close ends the processes of Apart. What is hashed after that is hashed here.
func (h *Hasher) Close() {
	for _, a := range h.apart {
		a.endProcess()
	}
}

// runTask runs a task once there is a slot for it.
func (h *Hasher) runTask(ctx context.Context, t task) (outcome, error) {
	defer h.share.hashing.Add(1) // as late as its request will be counted
	release, err := h.acquireSlot(ctx)
	if err != nil {
		return outcome{}, err
	}
	defer release()
	h.made.Add(1)
	for _, a := range h.apart {
		if o, ok := a.runTask(t); ok {
			return o, nil
		}
	}
	return t.runHere(), nil
}

// Made is how many hashes were made so far: what a password or its check cost,
// whatever the machine does beside.
func (h *Hasher) Made() int64 { return h.made.Load() }

// Hash returns the PHC string of a password.
func (h *Hasher) Hash(ctx context.Context, pw string) (string, error) {
	o, err := h.runTask(ctx, task{Password: pw})
	return o.Hash, err
}

// Check reports whether pw matches hash. An empty hash costs as much as a real
// one and never matches, so that time does not tell which account exists. A
// hash that cannot be read matches nothing.
func (h *Hasher) Check(ctx context.Context, hash, pw string) (bool, error) {
	o, err := h.runTask(ctx, task{Hash: cmp.Or(hash, h.decoy), Password: pw})
	return o.OK && hash != "", err
}

// acquireSlot waits for a slot and returns what gives it back.
func (h *Hasher) acquireSlot(ctx context.Context) (func(), error) {
	spare := h.allowedSlots()
	select {
	case h.slots <- struct{}{}:
		return releaseSlot(h.slots), nil
	case spare <- struct{}{}:
		return releaseSlot(spare), nil
	default:
	}
	if h.waiting.Add(1) > h.queue {
		h.waiting.Add(-1)
		return nil, busyFault()
	}
	defer h.waiting.Add(-1)
	t := time.NewTimer(queueWait)
	defer t.Stop()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		select {
		case h.slots <- struct{}{}:
			return releaseSlot(h.slots), nil
		case spare <- struct{}{}:
			return releaseSlot(spare), nil
		case <-again.C:
			spare = h.allowedSlots()
		case <-t.C:
			return nil, busyFault()
		case <-ctx.Done():
			return nil, fault.Wrap(ctx.Err(), fault.Unavailable, "request_timeout", "the request was cancelled")
		}
	}
}

// allowedSlots are the spare slots, nil while others are served.
func (h *Hasher) allowedSlots() chan struct{} {
	if h.share.isCrowded(time.Now()) {
		return nil
	}
	return h.spare
}

func releaseSlot(slots chan struct{}) func() { return func() { <-slots } }

func busyFault() error {
	f := fault.New(fault.Unavailable, "over_request_rate_limit", "Too many sign-ins at once; try again shortly")
	// Who was refused together shall not come back together.
	f.RetryAfter = time.Duration(2+mathrand.IntN(3)) * time.Second
	return f
}

// Stale reports a hash that should be replaced at the next successful check.
func Stale(hash string) bool {
	p, err := parseHash(hash)
	return err != nil || p.memory != memoryKiB || p.passes != passes || p.lanes != lanes
}

// Importable reports whether a hash made elsewhere (bcrypt, argon2id,
// argon2i in PHC form, Firebase scrypt) can be checked within bounds.
func Importable(hash string) error {
	if isBcrypt(hash) {
		cost, err := bcrypt.Cost([]byte(hash))
		if err == nil && cost <= maxBcryptCost {
			return nil
		}
		return fault.New(fault.Invalid, "validation_failed", "Invalid bcrypt hash, or a cost over %d", maxBcryptCost)
	}
	_, err := parseHash(hash)
	if isFirebase(hash) {
		_, err = parseFirebase(hash)
	}
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "validation_failed",
			"Password hash is neither bcrypt, argon2 in PHC form nor Firebase scrypt within bounds")
	}
	return nil
}

func isBcrypt(h string) bool {
	return strings.HasPrefix(h, "$2a$") || strings.HasPrefix(h, "$2b$") || strings.HasPrefix(h, "$2y$")
}

func verifyHash(hash, pw string) bool {
	if isBcrypt(hash) {
		return Importable(hash) == nil && bcrypt.CompareHashAndPassword([]byte(hash), []byte(pw)) == nil
	}
	if isFirebase(hash) {
		return verifyFirebase(hash, pw)
	}
	p, err := parseHash(hash)
	if err != nil {
		return false
	}
	derive := argon2.IDKey
	if p.variant == "argon2i" {
		derive = argon2.Key
	}
	got := derive([]byte(pw), p.salt, p.passes, p.memory, p.lanes, uint32(len(p.key)))
	return subtle.ConstantTimeCompare(got, p.key) == 1
}

type params struct {
	variant        string
	memory, passes uint32
	lanes          uint8
	salt, key      []byte
}

func formatHash(salt, key []byte) string {
	b := base64.RawStdEncoding
	return ours + b.EncodeToString(salt) + "$" + b.EncodeToString(key)
}

// ours is how the hashes begin that New's Hasher makes.
var ours = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, memoryKiB, passes, lanes)

// parseHash reads a PHC string (P-H-C string format, 2018) and refuses parameters
// out of bounds.
func parseHash(s string) (params, error) {
	var p params
	parts := strings.Split(s, "$")
	if len(s) > 512 || len(parts) != 6 || parts[0] != "" || parts[2] != "v=19" {
		return p, fmt.Errorf("password: not a PHC string of argon2 version 19")
	}
	p.variant = parts[1]
	if p.variant != "argon2id" && p.variant != "argon2i" {
		return p, fmt.Errorf("password: unknown variant")
	}
	var lanes uint32
	err := parseCosts(parts[3], map[string]*uint32{"m": &p.memory, "t": &p.passes, "p": &lanes})
	if err != nil {
		return p, err
	}
	p.lanes = uint8(min(lanes, 255))
	if p.memory < 8*lanes || p.memory > maxMemoryKiB || p.passes < 1 || p.passes > maxPasses || lanes < 1 ||
		lanes > maxLanes {
		return p, fmt.Errorf("password: parameters out of bounds")
	}
	if p.salt, err = base64.RawStdEncoding.Strict().DecodeString(parts[4]); err != nil || len(p.salt) < 8 {
		return p, fmt.Errorf("password: bad salt")
	}
	if p.key, err = base64.RawStdEncoding.Strict().DecodeString(parts[5]); err != nil || len(p.key) < 16 ||
		len(p.key) > 64 {
		return p, fmt.Errorf("password: bad digest")
	}
	return p, nil
}

func parseCosts(s string, into map[string]*uint32) error {
	fields := strings.Split(s, ",")
	if len(fields) != len(into) {
		return fmt.Errorf("password: bad parameters")
	}
	for _, f := range fields {
		k, v, _ := strings.Cut(f, "=")
		n, err := strconv.ParseUint(v, 10, 31)
		dst := into[k]
		if err != nil || dst == nil || *dst != 0 {
			return fmt.Errorf("password: bad parameter %q", k)
		}
		*dst = uint32(n)
	}
	return nil
}

func randomSalt() []byte {
	b := make([]byte, saltLen)
	rand.Read(b)
	return b
}
