package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every setting may come from a file, and from a credential of systemd, which
// the environment overrides.
func TestSecretFiles(t *testing.T) {
	dir, creds := t.TempDir(), t.TempDir()
	write := func(path, text string) string {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dsn := write(filepath.Join(dir, "dsn"), "postgres://user:from-file@db/holdfast\n")
	write(filepath.Join(creds, "database_url"), "postgres://user:from-credential@db/holdfast\n")
	write(filepath.Join(creds, "holdfast_smtp_url"), "smtp://user:pw@mail:587")
	write(filepath.Join(creds, "somebody-elses"), "x")
	in := "CREDENTIALS_DIRECTORY=" + creds
	for name, r := range map[string]struct {
		environ []string
		want    string
	}{
		"credential":           {[]string{in}, "postgres://user:from-credential@db/holdfast"},
		"file":                 {[]string{"HOLDFAST_DATABASE_URL_FILE=" + dsn}, "postgres://user:from-file@db/holdfast"},
		"file over credential": {[]string{"HOLDFAST_DATABASE_URL_FILE=" + dsn, in}, "postgres://user:from-file@db/holdfast"},
		"value":                {[]string{in, "HOLDFAST_DATABASE_URL=postgres://db/x"}, "postgres://db/x"},
		"directory is not there": {[]string{"CREDENTIALS_DIRECTORY=" + dir + "/none",
			"HOLDFAST_DATABASE_URL=postgres://db/x"},
			"postgres://db/x"},
	} {
		c, err := Load("", r.environ, nil)
		if err != nil || c.DatabaseURL != r.want {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	if c, err := Load("", []string{in}, nil); err != nil || c.SMTPURL != "smtp://user:pw@mail:587" {
		t.Errorf("a credential of a directory: %v, %v", c, err)
	}
	for _, environ := range [][]string{{"HOLDFAST_SMTP_URL_FILE=" + dir + "/none"}, {"HOLDFAST_NO_SUCH_FILE=" + dsn}} {
		if _, err := Load("", environ, nil); err == nil || !strings.Contains(err.Error(), "HOLDFAST_") ||
			strings.Contains(err.Error(), "from-file") {
			t.Errorf("%v: %v", environ, err)
		}
	}
}
