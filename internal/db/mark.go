package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"holdfast/internal/db/wal"
)

// MarkName is a file of the data directory that says how far the embedded database had come:
// a log that somebody deletes after a crash takes what was committed with it, and what is
// left looks whole.
const MarkName = "holdfast.mark"

// markEvery is how often the mark follows what is written. What was committed since the last
// is missed only where it alone is gone.
const markEvery = 30 * time.Second

// mark is a number that the database has too, and when it was written.
type mark struct {
	Beat int64     `json:"beat"`
	At   time.Time `json:"at"`
}

// LostCommits say that the database is older than its mark.
type LostCommits struct {
	Path string    // of the mark
	At   time.Time // when the mark was written
}

const raiseMarkSQL = `
	INSERT INTO probes (name, beat)
	VALUES ('mark', 1)
	ON CONFLICT (name) DO UPDATE SET beat = probes.beat + 1`

const readMarkSQL = `
	SELECT beat
	FROM probes
	WHERE name = 'mark'`

// keepMark raises the mark while the database is written, until the engine is closed.
func (l *lite) keepMark(every time.Duration) {
	path, seen := filepath.Join(filepath.Dir(l.path), MarkName), ""
	for t := time.NewTicker(every); ; {
		select {
		case <-l.done:
			t.Stop()
			return
		case <-t.C:
		}
		if now := l.logState(); now != seen {
			if err := l.raiseMark(path); err != nil {
				slog.Debug("the mark of the database was not raised", "error", err)
				continue
			}
			seen = l.logState()
		}
	}
}

// logState changes with each commit.
func (l *lite) logState() string {
	st, err := os.Stat(l.path + wal.Suffix)
	if err != nil {
		return ""
	}
	return fmt.Sprint(st.Size(), st.ModTime().UnixNano())
}

// raiseMark commits the next number, and then writes it beside. A mark that is ahead stays:
// it tells of what is lost.
func (l *lite) raiseMark(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	old, err := readMark(path)
	if err != nil {
		return err
	}
	next := mark{At: time.Now().UTC()}
	_, err = l.write(ctx, Scope{All: true}, func(tx *Tx) error {
		if err := queryMark(tx, &next.Beat); err != nil || next.Beat < old.Beat {
			return err
		}
		if _, err := tx.Exec(raiseMarkSQL); err != nil {
			return err
		}
		return queryMark(tx, &next.Beat)
	})
	if err != nil || next.Beat <= old.Beat {
		return err
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func queryMark(tx *Tx, beat *int64) error {
	*beat = 0
	return tx.Query(readMarkSQL, nil, func(r *Row) error { *beat = r.Int(0); return nil })
}

// readMark reads the mark of a data directory; the zero value where there is none.
func readMark(path string) (m mark, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("db: %w", err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return mark{}, nil // cut off with the power: it says nothing
	}
	return m, nil
}

// FindLostCommits compares the embedded database with its mark; nil = nothing is missing.
func (d *DB) FindLostCommits(ctx context.Context) (*LostCommits, error) {
	l, ok := d.eng.(*lite)
	if !ok {
		return nil, nil
	}
	path := filepath.Join(filepath.Dir(l.path), MarkName)
	m, err := readMark(path)
	if err != nil || m.Beat == 0 {
		return nil, err
	}
	var beat int64
	err = d.Read(ctx, Scope{All: true}, func(tx *Tx) error { return queryMark(tx, &beat) })
	if err != nil || beat >= m.Beat {
		return nil, err
	}
	return &LostCommits{Path: path, At: m.At}, nil
}
