package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What can never work is refused at the start, in words that show no secret; what may only
// be away for now is not.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const passphrase = "HOLDFAST_BACKUP_PASSPHRASE=eleven quiet herons"
	for _, c := range []struct{ name, set, want string }{
		{"a file for backups", "backup_to=" + file, "must be a directory, and " + file + " is a file"},
		{"a file for backups, by its address", "backup_to=file://" + file, "is a file"},
		{"backups below a file, where something may be mounted", "backup_to=" + file + "/backups", ""},
		{"a directory", "backup_to=" + dir, ""},
		{"a directory that is not there yet", "backup_to=" + dir + "/new", ""},
		{"a bucket without a name", "backup_to=s3://nohost", "names no bucket"},
		{"a bucket without a host", "backup_to=s3:///bucket", "names no host"},
		{"a bucket with half a key", "backup_to=s3://hunter2@host/bucket", "has a key without its secret"},
		{"a bucket", "backup_to=s3://KEY:hunter2@host/bucket?region=x", ""},
		{"an address that cannot be read", "backup_to=s3://KEY:hunter2%zz@host/bucket", "cannot be read"},
		{"another protocol", "backup_to=ftp://KEY:hunter2@host/bucket", "must be a directory, or s3://"},
		{"files in a bucket without a name", "blob_url=s3://KEY:hunter2@nohost", "names no bucket"},
		{"files at a path without a scheme", "blob_url=" + dir, "must be s3://"},
		{"files at a path that is not whole", "blob_url=file://files", "names no absolute path"},
		{"files in a file", "blob_url=file://" + file, "is a file"},
		{"files in a directory", "blob_url=file://" + dir, ""},
		{"a short passphrase", "backup_passphrase=hunter2", "at least 12 characters"},
		{"a negative quota of imports", "import_quota=-1", "import_quota must be between 1 and"},
		{"no quota of imports", "import_quota=0", "import_quota must be between 1 and"},
		{"a negative quota of photos", "photo_quota=-1", "photo_quota must be between 0 and"},
		{"a quota that cannot be counted", "photo_quota=9000000000000", "photo_quota must be between 0 and"},
		{"no photos", "photo_quota=0", ""},
		{"an origin without a scheme", "cors_origins=app.example.com", "is no origin"},
		{"an origin with a path", "cors_origins=https://app.example.com/", "is no origin"},
		{"origins", "cors_origins=https://app.example.com,http://localhost:5173,capacitor://localhost", ""},
	} {
		name, value, _ := strings.Cut(c.set, "=")
		_, err := Load("", []string{passphrase, "HOLDFAST_" + strings.ToUpper(name) + "=" + value}, nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the secret is shown: %v", c.name, err)
		}
	}
}
