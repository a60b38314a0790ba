package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func (s *instance) secretsFile() string { return filepath.Join(s.dir, "secrets") }

// inspect looks for secrets in the log, and for lines that a request broke.
func (s *instance) inspect() error {
	log, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return fmt.Errorf("e2e: %w", err)
	}
	used, err := os.ReadFile(s.secretsFile())
	if err != nil {
		return fmt.Errorf("e2e: the command noted no secret: %w", err)
	}
	secrets := strings.Split(string(used), "\n")
	keys, err := s.status()
	if err != nil {
		return err
	}
	for _, pair := range keys {
		if name, value, _ := strings.Cut(pair, "="); name == "SERVICE_ROLE_KEY" || name == "SECRET_KEY" {
			secrets = append(secrets, value)
		}
	}
	return clean(log, secrets)
}

// clean reports secrets in a log and lines that are no JSON. What the server
// tells its operator before the first line of JSON is left out: the demo shows
// its password there.
func clean(text []byte, secrets []string) error {
	_, rest, found := bytes.Cut(text, []byte("\n{"))
	if !found {
		return errors.New("e2e: the log has no request")
	}
	log := "{" + string(rest)
	var failed error
	told := map[string]bool{"": true}
	for _, secret := range secrets {
		if !told[secret] && strings.Contains(log, secret) {
			failed = errors.Join(failed, fmt.Errorf("e2e: the log shows the secret that begins with %.12s", secret))
		}
		told[secret] = true
	}
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) {
			failed = errors.Join(failed, fmt.Errorf("e2e: a line of the log is no JSON: %.200q", line))
		}
	}
	return failed
}
