package backups

import (
	"os"
	"path/filepath"
	"strings"

	"holdfast/internal/backup"
	"holdfast/internal/config"
)

// Target splits the address of a backup into a directory or bucket and the name
// in it, "" where it names none.
func Target(to string) (place, name string) {
	if strings.HasPrefix(to, "s3://") {
		address, query, _ := strings.Cut(to, "?")
		if strings.HasSuffix(address, backup.Extension) {
			i := strings.LastIndexByte(address, '/')
			address, name = address[:i], address[i+1:]
		}
		if query != "" {
			address += "?" + query
		}
		return address, name
	}
	to = strings.TrimPrefix(to, "file://")
	if st, err := os.Stat(to); strings.HasSuffix(to, "/") || err == nil && st.IsDir() {
		return filepath.Clean(to), ""
	}
	return filepath.Dir(to), filepath.Base(to)
}

// PlaceOf is the directory or bucket of backup_to, which names no single backup: a
// directory that is not there yet is one, too.
func PlaceOf(c *config.Config) string {
	if strings.HasPrefix(c.BackupTo, "s3://") {
		place, _ := Target(c.BackupTo)
		return place
	}
	return filepath.Clean(strings.TrimPrefix(c.BackupTo, "file://"))
}

// AsDirectory is the address of a place where a backup gets a name of its own.
func AsDirectory(place string) string {
	if strings.Contains(place, "://") {
		return place
	}
	return place + "/"
}

// WithoutUser leaves key and secret out of an address.
func WithoutUser(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	rest, _, _ = strings.Cut(rest, "?")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	return scheme + "://" + strings.TrimSuffix(rest, "/")
}
