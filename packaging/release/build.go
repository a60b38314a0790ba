package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"holdfast/internal/bill"
)

// target is a system that a program is built for.
type target struct{ os, arch string }

var allTargets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
}

func (t target) String() string { return t.os + "/" + t.arch }

// program is the name of the executable file.
func (t target) program() string {
	if t.os == "windows" {
		return "holdfast.exe"
	}
	return "holdfast"
}

// name is that of a file of the release for one system.
func (r *release) name(t target, ending string) string {
	return fmt.Sprintf("holdfast_%s_%s_%s%s", r.version, t.os, t.arch, ending)
}

// compile builds the program for a system, without a C compiler and without debugging symbols.
func (r *release) compile(t target, to string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	link := "-s -w -X holdfast/internal/app.stamped=" + r.version
	args := append([]string{"build", "-ldflags", link, "-o", to}, r.flags...)
	c := exec.Command("go", append(args, "./cmd/holdfast")...)
	c.Dir, c.Stderr = r.sources, os.Stderr
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+t.os, "GOARCH="+t.arch)
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	return nil
}

// build makes every file of the release but the list of digests.
func (r *release) build() error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "holdfast-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	notice, err := r.collectLicences()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, "NOTICE"), notice, 0o644); err != nil {
		return err
	}
	binaryOf := func(t target) string { return filepath.Join(work, t.os+t.arch, t.program()) }
	here := target{runtime.GOOS, runtime.GOARCH}
	if !slices.Contains(r.targets, here) {
		return fmt.Errorf("a release is built on a system that it is for, not on %s", here)
	}
	for _, t := range r.targets {
		fmt.Println("building", t)
		if err := r.compile(t, binaryOf(t)); err != nil {
			return err
		}
	}
	own := binaryOf(here) // writes the manual pages of packages for other processors too
	for _, t := range r.targets {
		binary := binaryOf(t)
		if err := r.packTarget(t, binary, own); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return r.packChart()
}

// packTarget makes what is offered of one system: the archive, its bill of materials, on Linux a package and an image.
func (r *release) packTarget(t target, binary, own string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	list, err := json.MarshalIndent(bill.List(info, r.version), "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, r.name(t, ".cdx.json")), append(list, '\n'), 0o644); err != nil {
		return err
	}
	files := []packed{{t.program(), binary, 0o755}, {"NOTICE", filepath.Join(r.out, "NOTICE"), 0o644}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"} {
		files = append(files, packed{name, filepath.Join(r.root, name), 0o644})
	}
	folder := strings.TrimSuffix(r.name(t, ""), ".")
	if t.os == "windows" {
		return r.writeZip(r.name(t, ".zip"), folder, files)
	}
	if err := r.writeTar(r.name(t, ".tar.gz"), folder, files); err != nil || t.os != "linux" {
		return err
	}
	if err := r.makePackage(t, binary, own); err != nil {
		return err
	}
	return r.makeImage(t, binary)
}

func (r *release) makePackage(t target, binary, own string) error {
	out, err := filepath.Abs(r.out)
	if err != nil {
		return err
	}
	c := exec.Command("packaging/deb/build", binary, r.version, t.arch, out, own, filepath.Join(out, "NOTICE"))
	c.Dir, c.Stderr = r.root, os.Stderr
	c.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix()))
	if err := c.Run(); err != nil {
		return fmt.Errorf("the Debian package: %w", err)
	}
	return nil
}

func (r *release) makeImage(t target, binary string) error {
	layout := filepath.Join(filepath.Dir(binary), "image")
	if _, err := r.ask("go", "run", "./packaging/container/image", "-binary", binary, "-version", r.version, "-arch",
		t.arch, "-notice", filepath.Join(r.out, "NOTICE"), "-out", layout); err != nil {
		return err
	}
	files, err := filesBelow(layout)
	if err != nil {
		return err
	}
	return r.writeTar(r.name(t, ".oci.tar"), "", files)
}

// packChart packs the Helm chart as helm package does: one folder, the version in its Chart.yaml.
func (r *release) packChart() error {
	chart := filepath.Join(r.root, "packaging", "helm", "holdfast")
	files, err := filesBelow(chart)
	if err != nil {
		return err
	}
	copied, err := os.MkdirTemp("", "holdfast-chart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied)
	for i, f := range files {
		if f.name != "Chart.yaml" {
			continue
		}
		text, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		files[i].from = filepath.Join(copied, f.name)
		if err := os.WriteFile(files[i].from, []byte(chartOf(string(text), r.version)), 0o644); err != nil {
			return err
		}
	}
	return r.writeTar("holdfast-"+r.version+".tgz", "holdfast", files)
}

// chartOf is a Chart.yaml with another version of chart and program.
func chartOf(text, version string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if key, _, _ := strings.Cut(line, ":"); key == "version" {
			lines[i] = "version: " + version
		} else if key == "appVersion" {
			lines[i] = fmt.Sprintf("appVersion: %q", version)
		}
	}
	return strings.Join(lines, "\n")
}
