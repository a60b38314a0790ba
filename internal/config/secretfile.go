package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// fileSuffix ends a variable that names the file of a setting's value, as
// containers hand over secrets.
const fileSuffix = "_file"

// putFile takes NAME_FILE: the setting NAME is what the file says. It reports
// whether there is such a setting.
func (s *source) putFile(name, path string) (known bool, err error) {
	base, ok := strings.CutSuffix(name, fileSuffix)
	if !ok {
		return false, nil
	}
	text, err := readSecret(path)
	if err != nil {
		if !s.putSetting(base, "") {
			return false, nil
		}
		return true, fmt.Errorf("config: %s: %w", prefix+strings.ToUpper(name), err)
	}
	return s.putSetting(base, text), nil
}

// readSecret reads a file without the newline at its end.
func readSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	return strings.TrimRight(string(b), "\r\n"), err
}

// readCredentials takes the files of systemd's LoadCredential= that are named
// like settings. They are weaker than the environment.
func (s *source) readCredentials(environ []string) error {
	for _, kv := range environ {
		dir, ok := strings.CutPrefix(kv, "CREDENTIALS_DIRECTORY=")
		if !ok || dir == "" {
			continue
		}
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("config: credentials: %w", err)
		}
		for _, e := range entries {
			text, err := readSecret(filepath.Join(dir, e.Name()))
			if err != nil {
				return fmt.Errorf("config: credential %s: %w", e.Name(), err)
			}
			// systemd puts the name of a directory before those of its files.
			if !s.putSetting(e.Name(), text) {
				s.putSetting(strings.TrimPrefix(e.Name(), "holdfast_"), text) // others are other programs'
			}
		}
	}
	return nil
}
