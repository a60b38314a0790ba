package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// linked is a piece of somebody else's work that is in the program.
type linked struct{ name, version, dir string }

// Tools that make the console and are not in it.
var consoleTools = []string{"typescript", "vite"}

// collectLicences is NOTICE: every Go module and npm package that is linked into a program, with the text of its
// licence, as Apache-2.0 (4d), BSD and MIT ask of whoever hands on a binary.
func (r *release) collectLicences() ([]byte, error) {
	modules, err := r.listModules()
	if err != nil {
		return nil, err
	}
	packages, err := r.listPackages()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "Holdfast %s holds the following work of others. Each keeps its own licence.\n", r.version)
	library, err := r.ask("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	all := append([]linked{{"Go's own library", runtime.Version(), library}}, append(modules, packages...)...)
	for _, l := range all {
		texts, err := licencesIn(l.dir)
		if err != nil {
			return nil, err
		}
		if len(texts) == 0 {
			return nil, fmt.Errorf("%s %s has no file with its licence in %s", l.name, l.version, l.dir)
		}
		fmt.Fprintf(&b, "\n%s\n%s %s\n", strings.Repeat("=", 78), l.name, l.version)
		for _, text := range texts {
			fmt.Fprintf(&b, "\n%s\n", bytes.TrimSpace(text))
		}
	}
	return b.Bytes(), nil
}

// listModules lists the modules that any of the programs is made of, by path.
func (r *release) listModules() ([]linked, error) {
	found := map[string]linked{}
	for _, t := range r.targets {
		said, err := r.ask("env", "GOFLAGS=", "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "go", "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", "./cmd/holdfast")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(said) {
			if f := strings.Fields(line); len(f) == 3 {
				found[f[0]] = linked{f[0], f[1], f[2]}
			}
		}
	}
	return sortedLinked(found), nil
}

// manifest is what is read of a package.json.
type manifest struct {
	Version         string            `json:"version"`
	Dependencies    map[string]string `json:"dependencies"`
	DevDependencies map[string]string `json:"devDependencies"`
}

// listPackages lists the npm packages of the console and what they need in turn.
func (r *release) listPackages() ([]linked, error) {
	console := filepath.Join(r.root, "console")
	own, err := readManifest(console)
	if err != nil {
		return nil, err
	}
	found := map[string]linked{}
	var open []string
	for name := range own.DevDependencies {
		if !slices.Contains(consoleTools, name) {
			open = append(open, name)
		}
	}
	for len(open) > 0 {
		name := open[0]
		open = open[1:]
		if _, isKnown := found[name]; isKnown {
			continue
		}
		dir := filepath.Join(console, "node_modules", filepath.FromSlash(name))
		m, err := readManifest(dir)
		if err != nil {
			return nil, fmt.Errorf("%w: run make setup", err)
		}
		found[name] = linked{name, m.Version, dir}
		for next := range m.Dependencies {
			open = append(open, next)
		}
	}
	return sortedLinked(found), nil
}

func readManifest(dir string) (m manifest, err error) {
	b, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(b, &m)
}

func sortedLinked(found map[string]linked) []linked {
	var out []linked
	for _, l := range found {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b linked) int { return strings.Compare(a.name, b.name) })
	return out
}

// licencesIn reads the licences and notices of a folder, by name.
func licencesIn(dir string) (texts [][]byte, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		isLicence := strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "LICENCE") ||
			strings.HasPrefix(name, "COPYING") || strings.HasPrefix(name, "NOTICE") || name == "PATENTS"
		if !isLicence || e.IsDir() || strings.HasSuffix(name, ".GO") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}
