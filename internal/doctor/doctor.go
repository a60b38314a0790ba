// Package doctor looks an installation over: what is wrong, why that matters
// and which command puts it right. Each look stands alone, so that one broken
// part hides no other.
//
// Layer: installation. Begin at [Examine].
package doctor

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/config"
)

// Level is how bad a finding is.
type Level string

// Levels.
const (
	Fine    Level = "ok"
	Notice  Level = "notice" // a look that was not finished: nothing is known to be wrong
	Warning Level = "warning"
	Failure Level = "failure"
)

// Finding is what one look found.
type Finding struct {
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	What    string `json:"what"`
	Why     string `json:"why,omitempty"`
	Command string `json:"command,omitempty"` // what to do, to be typed where possible
	Fixed   bool   `json:"fixed,omitempty"`
}

// A Patient is what is looked over.
type Patient struct {
	Config *config.Config
	Fix    bool                            // put right what needs no decision
	Now    func() time.Time                // the machine's clock
	Open   func(ctx context.Context) error // opens the services, with the keys
	// Held says what the installation does not do outside, and why; "" = it does all.
	Held func(ctx context.Context) (string, error)

	// Backups looks at the place of backup_to; nil = it is not looked at.
	Backups func(ctx context.Context) (BackupPlace, error)

	// Recount describes the totals that differ from the records; nil = they are not recounted.
	Recount func(ctx context.Context) ([]string, error)

	// AuditBreaks describes where the audit log does not hold; nil = it is not looked at.
	AuditBreaks func(ctx context.Context) ([]string, error)

	// What tests change; the zero values are the machine's own.
	Room func(dir string) (uint64, error)        // bytes that are free there
	Sync func(dir string) (time.Duration, error) // how long a small write takes to be durable there
	Late time.Duration                           // how far behind a replica may be

	SameDisk func(a, b string) bool // two paths are on one disk

	database *opened
}

// check is one look: none of its findings is Fine.
type check struct {
	name string
	fine string // said when nothing is found
	look func(ctx context.Context, p *Patient) []Finding
}

// patience bounds one look.
const patience = 20 * time.Second

// checks in the order they are told in.
var checks = []check{
	{"configuration", "the settings are sound", lookConfiguration},
	{"data directory", "its files are its owner's alone", lookDirectory},
	{"master key", "it is its owner's alone", lookMasterKey},
	{"disk", "there is room, and it writes fast enough", lookDisk},
	{"schema", "the schema is the one this program needs", lookSchema},
	{"writes", "the database can be written", lookWrites},
	{"commits", "what was committed is there", lookLogOfCommits},
	{"pages", "the embedded database is undamaged", lookPages},
	{"clock", "the clock agrees with the database", lookClock},
	{"moments", "no row is ahead of the clock", lookMoments},
	{"totals", "kept totals are those of the records", lookTotals},
	{"audit", "the audit log is whole", lookAudit},
	{"owners", "every tenant has an owner", lookOwners},
	{"jobs", "no work was given up", lookJobs},
	{"keys", "the master key opens what is sealed", lookKeys},
	{"row security", "every tenant table is fenced", lookRowSecurity},
	{"files", "every file has a record, every record its file", lookFiles},
	{"copy", "it works with places of its own", lookCopy},
	{"backup", "the last backup is recent and in its place", lookBackup},
	{"backup place", "backups are apart from the data", lookApart},
	{"pooler", "the pooler's mode is the one that is set", lookPooler},
	{"replicas", "no replica is behind", lookReplicas},
	{"redis", "Redis answers", lookRedis},
	{"mail", "the mail server answers", lookMail},
	{"webhooks", "receivers can be reached", lookWebhooks},
	{"tls", "clients can come encrypted", lookTLS},
}

// Examine runs all looks and returns what they found, one Fine line for each
// that found nothing.
func Examine(ctx context.Context, p *Patient) []Finding {
	defer p.closeDatabase()
	var out []Finding
	for _, c := range checks {
		found := runCheck(ctx, p, c)
		for i := range found {
			found[i].Check = c.name
		}
		if len(found) == 0 {
			found = []Finding{{Check: c.name, Level: Fine, What: c.fine}}
		}
		out = append(out, found...)
	}
	return out
}

// runCheck is one look; one that panics or cannot be made is a finding itself.
func runCheck(ctx context.Context, p *Patient, c check) (found []Finding) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			found = []Finding{{Level: Failure, What: fmt.Sprintf("this could not be looked at: %v", r)}}
		}
	}()
	return c.look(ctx, p)
}

func newFailure(command, why, what string, args ...any) []Finding {
	return []Finding{{Level: Failure, What: fmt.Sprintf(what, args...), Why: why, Command: command}}
}

// newUnfinished says that a look found nothing in its time, and what looks to the end.
func newUnfinished(command, why, what string) []Finding {
	what = "not finished in " + patience.String() + ": " + what
	return []Finding{{Level: Notice, What: what, Why: why, Command: command}}
}

func newWarning(command, why, what string, args ...any) []Finding {
	return []Finding{{Level: Warning, What: fmt.Sprintf(what, args...), Why: why, Command: command}}
}
