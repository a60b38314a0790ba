package config

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"

	"holdfast/internal/suggest"
)

// source gathers what a file and the environment say. An unknown name is an
// error, because a misspelt security setting must not be ignored.
type source struct {
	values    map[string]string
	providers map[string]*Provider
	order     []string // of the providers
}

func newSource() *source {
	return &source{values: map[string]string{}, providers: map[string]*Provider{}}
}

// putSetting takes one setting by its name, and reports whether there is such a one.
func (s *source) putSetting(name, val string) bool {
	if p, part, ok := providerSetting(name); ok {
		if s.providers[p] == nil {
			s.providers[p] = &Provider{Name: p}
			s.order = append(s.order, p)
		}
		*s.providers[p].partByName(part) = val
		return true
	}
	for _, known := range Settings() {
		if known.Name == name && !known.Hidden {
			s.values[name] = val
			return true
		}
	}
	return false
}

// listProviders returns the providers in the order they were named.
func (s *source) listProviders() []Provider {
	var out []Provider
	for _, n := range s.order {
		out = append(out, *s.providers[n])
	}
	return out
}

// readEnv takes HOLDFAST_* variables.
func (s *source) readEnv(environ []string) error {
	for _, kv := range environ {
		key, val, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(key, prefix) || key == FileVariable || strings.HasPrefix(key, testPrefix) {
			continue
		}
		name := strings.ToLower(strings.TrimPrefix(key, prefix))
		known := s.putSetting(name, val)
		if !known {
			var err error
			if known, err = s.putFile(name, val); err != nil {
				return err
			}
		}
		if !known {
			var names []string
			for _, k := range Settings() {
				names = append(names, k.Env)
			}
			return unknownSetting(key, names)
		}
	}
	return nil
}

// readFile reads lines "name = value"; # begins a comment line.
func (s *source) readFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, val, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if !ok {
			return fmt.Errorf("config: %s line %d is not \"name = value\"", path, n)
		}
		if !s.putSetting(key, strings.Trim(strings.TrimSpace(val), `"`)) {
			var known []string
			for _, k := range Settings() {
				known = append(known, k.Name)
			}
			return fmt.Errorf("config: %s line %d: %w", path, n, unknownSetting(key, known))
		}
	}
	return sc.Err()
}

func unknownSetting(key string, known []string) error {
	hint := "run `holdfast config dump` for the list"
	if near := suggest.Nearest(key, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Errorf("config: unknown setting %s; %s", key, hint)
}

func isListed(list []string, s string) bool { return slices.Contains(list, s) }
