package installation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"holdfast/internal/blob"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/mail"
)

// Guard says what this installation may do outside its data directory: send mails,
// texts and webhooks, delete uploaded files, and write backups. A restored copy does
// none of it until its operator decides, and no installation removes anything from a
// place that another one owns. Its methods may be called by many goroutines.
type Guard struct {
	db     *db.DB
	now    func() time.Time
	claims bool // places that nobody owns; a tool claims none

	mu      sync.Mutex
	is      Installation
	files   Place
	backups Place
	warned  string // what the log said last
}

// Place is a directory or bucket outside the data directory. Its zero value is none.
type Place struct {
	Setting string // that names it
	Address string // as blob.OpenBackend reads it
	Shown   string // the address without secrets

	owner  string // id of the installation, as it was when the place was looked at last; "" = not known yet
	looked time.Time
	err    error // why the owner is not known
}

// Outside are the places that the settings name.
type Outside struct{ Files, Backups Place }

// Pauses between two looks at what may change beside this server.
const (
	RefreshEvery = 5 * time.Second // at the database: `holdfast resume`
	placesEvery  = time.Minute     // at the markers of places
	lookAtMost   = 15 * time.Second
)

// NewGuard reads what the installation is. A server gives a new database its id and
// claims the places that nobody owns; a tool only reads.
func NewGuard(ctx context.Context, d *db.DB, places Outside, now func() time.Time, server bool) (*Guard, error) {
	g := &Guard{db: d, now: now, claims: server, files: places.Files, backups: places.Backups}
	if !server {
		var err error
		g.is, err = Read(ctx, d)
		return g, err
	}
	if _, err := Begin(ctx, d); err != nil {
		return nil, err
	}
	return g, g.Refresh(ctx)
}

// ensureLooked has a tool look at the places before it does something there; a server
// looks all the time.
func (g *Guard) ensureLooked() {
	if g.claims {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookAtMost)
	defer cancel()
	if err := g.Refresh(ctx); err != nil {
		slog.Warn("it is not known which installation this is", "error", err)
	}
}

// Refresh reads again what the installation is, and who owns its places.
func (g *Guard) Refresh(ctx context.Context) error {
	is, err := Read(ctx, g.db)
	if err != nil {
		return err
	}
	g.mu.Lock()
	files, backups, changed := g.files, g.backups, is != g.is
	g.mu.Unlock()
	g.lookAt(ctx, &files, is, changed)
	g.lookAt(ctx, &backups, is, changed)

	g.mu.Lock()
	g.is, g.files, g.backups = is, files, backups
	says := strings.Join(g.listHeld(), "; ")
	isNew := says != g.warned
	g.warned = says
	g.mu.Unlock()
	if isNew && says != "" {
		slog.Warn("not all that this server does outside is done", "because", says)
	}
	return nil
}

// lookAt reads who owns a place, when it was not looked at for a while, and claims
// one that nobody owns. A copy without a decision claims nothing, and neither
// does a tool.
func (g *Guard) lookAt(ctx context.Context, p *Place, is Installation, again bool) {
	if p.Setting == "" || !again && p.err == nil && p.owner != "" && g.now().Sub(p.looked) < placesEvery {
		return
	}
	p.looked = g.now()
	backend, err := blob.OpenBackend(p.Address)
	if err != nil {
		p.err = err
		return
	}
	if is.IsHeld() || !g.claims {
		p.owner, p.err = OwnerOf(ctx, backend)
		return
	}
	p.owner, p.err = Claim(ctx, backend, is.ID, g.now())
}

// isForeign reports whether another installation owns the place, or may own it.
func (p Place) isForeign(id string) bool { return p.Setting != "" && p.owner != id }

// explainOwner says why nothing is removed from a place or written to it; "" = it is this
// installation's.
func (p Place) explainOwner(id string) string {
	if !p.isForeign(id) {
		return ""
	}
	where := p.Setting + " (" + p.Shown + ")"
	if p.owner != "" {
		return fmt.Sprintf("%s belongs to installation %s: name another place in %s, or take this one over with "+
			"`holdfast resume --as-original` when that installation is gone", where, p.owner, p.Setting)
	}
	if p.err != nil {
		return fmt.Sprintf("it is not known which installation %s belongs to: %v", where, p.err)
	}
	return fmt.Sprintf("%s belongs to nobody yet", where)
}

// errHeld says what a restored copy waits for.
const errHeld = "this is a restored copy: mails, webhooks and backups wait until " +
	"`holdfast resume --as-original` (the other one is gone) " +
	"or `holdfast resume --as-copy` (both go on) says which it is"

// listHeld says what is held and why. The caller holds mu.
func (g *Guard) listHeld() (list []string) {
	if g.is.IsHeld() {
		return []string{errHeld}
	}
	for _, p := range []Place{g.files, g.backups} {
		if says := p.explainOwner(g.is.ID); says != "" {
			list = append(list, says)
		}
	}
	return list
}

// HeldReason says what is held and why; "" = nothing.
func (g *Guard) HeldReason() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.listHeld(), "; ")
}

// IsHeld reports whether nothing may be sent to people and programs.
func (g *Guard) IsHeld() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.is.IsHeld()
}

// MayDelete reports whether files may be removed from the store of uploaded files.
func (g *Guard) MayDelete() bool {
	g.ensureLooked()
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.is.IsHeld() && !g.files.isForeign(g.is.ID) || g.files.Setting == ""
}

// CheckBackups refuses to write to a place of backups that is not this installation's.
func (g *Guard) CheckBackups() error {
	g.ensureLooked()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.is.IsHeld() {
		return errors.New("installation: no backup is made: " + errHeld)
	}
	if says := g.backups.explainOwner(g.is.ID); says != "" {
		return errors.New("installation: no backup is made: " + says)
	}
	return nil
}

// HeldFault is the answer to what a restored copy does not do yet.
func HeldFault() error { return fault.New(fault.Unavailable, "restored_copy", errHeld) }

// Mail sends no mail while a restored copy waits for a decision.
type Mail struct {
	mail.Sender
	Guard *Guard
}

// Send implements mail.Sender.
func (h Mail) Send(ctx context.Context, m mail.Message) error {
	if h.Guard.IsHeld() {
		return HeldFault()
	}
	return h.Sender.Send(ctx, m)
}

// Files leaves the files of a place that may be another installation's where
// they are. A sweep removes later what has no record any more.
type Files struct {
	blob.Store
	Guard *Guard
}

// Delete implements blob.Store.
func (f Files) Delete(ctx context.Context, key string) error {
	if !f.Guard.MayDelete() {
		return nil
	}
	return f.Store.Delete(ctx, key)
}

// TakeOver makes this installation the original, and the owner of its places whoever
// owned them. Decide makes it a copy.
func (g *Guard) TakeOver(ctx context.Context) error {
	is, err := Read(ctx, g.db)
	if err != nil {
		return err
	}
	for _, p := range []Place{g.files, g.backups} {
		if p.Setting == "" {
			continue
		}
		backend, err := blob.OpenBackend(p.Address)
		if err != nil {
			return err
		}
		if err := TakeOver(ctx, backend, is.ID, g.now()); err != nil {
			return err
		}
	}
	return Decide(ctx, g.db, Original)
}
