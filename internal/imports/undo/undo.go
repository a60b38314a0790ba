package undo

import (
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/imports/bulk"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/targets"
	"holdfast/internal/store"
)

// Options are what an Undoer works with. Whole is how many records are put back in
// one transaction; of a larger job Together batches go into each.
type Options struct {
	Store    *store.Store
	Jobs     *jobs.Table
	Records  *bulk.Records
	Targets  targets.All
	Whole    int64
	Together int
}

// Undoer rolls jobs back. It is safe for concurrent use.
type Undoer struct {
	store   *store.Store
	quiet   *store.Store // the same without audit rows
	db      *db.DB
	cat     *catalog.Catalog
	jobs    *jobs.Table
	records *bulk.Records
	targets targets.All
	whole   int64
	some    int // batches in one transaction
}

// New returns an Undoer.
func New(o Options) *Undoer {
	return &Undoer{store: o.Store, quiet: o.Store.Unaudited(), db: o.Store.DB(), cat: o.Store.Catalog(), jobs: o.Jobs,
		records: o.Records, targets: o.Targets, whole: o.Whole, some: o.Together}
}

// RolledBackResult is the answer of Rollback.
type RolledBackResult struct {
	Success    bool   `json:"success"`
	RolledBack int64  `json:"rolled_back"`
	Message    string `json:"message"`

	Kept      int        `json:"kept,omitempty"` // records in conflict that a partial rollback left
	Conflicts []Conflict `json:"conflicts,omitempty"`
}

// Conflict is a record that keeps a rollback from happening.
type Conflict struct {
	EntityType string `json:"entity_type"`
	EntityID   string `json:"entity_id"`
	Label      string `json:"label"`
	Reason     string `json:"reason"`
}
