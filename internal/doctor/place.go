package doctor

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/internal/blob"
	"holdfast/internal/db"
)

// lookApart finds backups that lie where what they are of lies: what takes the one takes
// the other.
func lookApart(ctx context.Context, p *Patient) []Finding {
	places := map[string]bool{}
	if to := p.Config.BackupTo; to != "" {
		places[localPath(to)] = true
	}
	out := p.onDatabase(ctx, "", func(d *db.DB) ([]Finding, error) {
		list, err := readTexts(ctx, d, `
			SELECT DISTINCT place
			FROM backups
			WHERE lost_at IS NULL`, func(r *db.Row) string { return r.Text(0) })
		for _, place := range list {
			places[localPath(place)] = true
		}
		return nil, err
	})
	for _, place := range slices.Sorted(maps.Keys(places)) {
		if place != "" {
			out = append(out, p.judgeApart(place)...)
		}
	}
	return out
}

// localPath is the directory of a place, "" where that is a bucket.
func localPath(place string) string {
	if strings.HasPrefix(place, "s3://") {
		return ""
	}
	return filepath.Clean(strings.TrimPrefix(place, "file://"))
}

func (p *Patient) judgeApart(place string) []Finding {
	const command = "backup_to = a directory of another disk or machine, or s3://KEY:SECRET@host/bucket"
	if isWithin(place, p.Config.Data) {
		return newFailure(command, "whatever takes the data directory takes the backups with it",
			"backups lie inside the data directory, at %s", place)
	}
	if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
		return newWarning("ls -ld "+place+"; holdfast backup "+place+"/ makes it",
			"the backups that are noted are not to be had", "the place of backups is not there: %s", place)
	}
	same := p.SameDisk
	if same == nil {
		same = blob.IsOnSameDisk
	}
	if same(place, p.Config.Data) {
		return newWarning(command, "a broken disk would take both",
			"backups lie on the disk of the data directory, at %s", place)
	}
	return nil
}

// isWithin reports that a path leads into a directory, whatever links are on the way.
func isWithin(path, dir string) bool {
	relative, err := filepath.Rel(resolvePath(dir), resolvePath(path))
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// resolvePath follows the links of a path, as far as it is there.
func resolvePath(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
