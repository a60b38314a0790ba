// Package backup is the form of a backup: one file that holds the database, the
// uploaded files, the master key and the configuration of an installation.
//
// It is a tar archive encrypted with age (age-encryption.org/v1), so that the
// two programs of these names open it where Holdfast is not at hand. Its first
// entry, backup.json, says what it is of; its last, manifest.json, lists every
// part with its size and SHA-256 and how many rows each table has. A file
// without the last entry is no backup: it was cut short.
//
// Layer: installation. Begin at [NewWriter].
package backup

import (
	"errors"
	"fmt"
	"time"
)

// Format is the version of the form. A newer one is refused.
const Format = 1

// Names of entries. Uploaded files stand below Files by their keys.
const (
	headName      = "backup.json"
	manifestName  = "manifest.json"
	Database      = "database"    // an SQLite database or an archive of pg_dump
	MasterKey     = "master.key"  // as in the data directory
	Configuration = "config.conf" // the settings in effect, with their secrets
	Files         = "files/"
)

// Extension ends the names that are made for backups.
const Extension = ".backup"

// Head says what a backup is of.
type Head struct {
	Format  int       `json:"format"`
	ID      string    `json:"id"`      // a UUID
	Product string    `json:"product"` // version of the program that made it
	Made    time.Time `json:"made"`    // when the snapshot was taken
	Engine  string    `json:"engine"`  // SQLite or PostgreSQL
	Version string    `json:"engine_version"`
	Schema  int       `json:"schema"` // newest migration
	Bytes   int64     `json:"bytes"`  // about how much it unpacks to
}

// Part is one entry.
type Part struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`         // lower-case hexadecimal
	Held   string `json:"held,omitempty"` // name of the file of an earlier backup that holds it; "" = this one
}

// Manifest lists what a backup holds.
type Manifest struct {
	Head
	Parts   []Part            `json:"parts"`
	Counts  map[string]int64  `json:"counts"`            // rows by table
	Missing []string          `json:"missing,omitempty"` // files that went while the backup was made
	Bases   map[string]string `json:"bases,omitempty"`   // ids of the earlier backups by the names of their files
	Log     *Log              `json:"log,omitempty"`     // what was committed later is beside it; nil = it is not shipped

	byName map[string]Part
}

// Errors of reading, besides those of the system.
var (
	ErrDamaged = errors.New("the backup is cut short or was altered")
	ErrSecret  = errors.New("this passphrase or identity does not open the backup")
	ErrNewer   = errors.New("the backup was made by a newer Holdfast")
)

func (h Head) checkHead() error {
	if h.Format > Format {
		return fmt.Errorf("backup: %w: its form is %d, this program reads up to %d", ErrNewer, h.Format, Format)
	}
	if h.Format < 1 || h.ID == "" || h.Engine == "" {
		return fmt.Errorf("backup: %w: its first entry says nothing", ErrDamaged)
	}
	return nil
}

// Name is the name that is made for a backup whose file nobody named.
func Name(made time.Time, id string) string {
	return "holdfast-" + made.UTC().Format("20060102T150405Z") + "-" + id[len(id)-8:] + Extension
}

// Part finds an entry by name.
func (m *Manifest) Part(name string) (Part, bool) {
	if m.byName == nil {
		m.byName = make(map[string]Part, len(m.Parts))
		for _, p := range m.Parts {
			m.byName[p.Name] = p
		}
	}
	p, ok := m.byName[name]
	return p, ok
}
