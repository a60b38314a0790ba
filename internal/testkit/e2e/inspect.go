package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func (s *instance) secretsFile() string { return filepath.Join(s.dir, "secrets") }

// inspectLog looks for secrets in the log, and for lines that a request broke.
func (s *instance) inspectLog() error {
	log, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return fmt.Errorf("e2e: %w", err)
	}
	used, err := os.ReadFile(s.secretsFile())
	if err != nil {
		return fmt.Errorf("e2e: the command noted no secret: %w", err)
	}
	secrets := strings.Split(string(used), "\n")
	keys, err := s.readKeys()
	if err != nil {
		return err
	}
	for _, pair := range keys {
		if name, value, _ := strings.Cut(pair, "="); name == "SERVICE_ROLE_KEY" || name == "SECRET_KEY" {
			secrets = append(secrets, value)
		}
	}
	return checkCleanLog(log, secrets)
}

// farewell ends what the server tells its operator when it is ready.
const farewell = "Stop: Ctrl-C\n"

// checkCleanLog reports secrets in a log and lines that are no JSON. What the server
// tells its operator is left out: the demo shows its password there. A start
// that takes long may have logged before it.
func checkCleanLog(text []byte, secrets []string) error {
	told, rest, found := strings.Cut(string(text), farewell)
	if !found || strings.TrimSpace(rest) == "" {
		return errors.New("e2e: the log has no request")
	}
	log := strings.TrimLeft(rest, "\n")
	for line := range strings.Lines(told) {
		if strings.HasPrefix(line, "{") {
			log = line + log
		}
	}
	return inspectFile(log, secrets)
}

func inspectFile(log string, secrets []string) error {
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
		if strings.Contains(line, "audit_tampered") || strings.Contains(line, "audit_forged") {
			failed = errors.Join(failed, fmt.Errorf("e2e: the server takes its own audit log for tampered with: %.400s", line))
		}
	}
	return failed
}
