package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// built makes an image of a small static program that says who runs it.
func built(t *testing.T) parts {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	text := "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() { _, err := os.Stat(\"/bin/sh\"); fmt.Println(os.Getuid(), os.Args[1:], err != nil) }\n"
	write(t, source, text)
	p := parts{binary: filepath.Join(dir, "holdfast"), certificates: filepath.Join(dir, "ca.pem"), version: "1.2.3",
		arch: runtime.GOARCH, out: filepath.Join(dir, "out")}
	write(t, p.certificates, "certificates")
	cmd := exec.Command("go", "build", "-o", p.binary, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := p.build(); err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string) (v1.Image, v1.Hash) {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := index.IndexManifest()
	if err != nil || len(m.Manifests) != 1 {
		t.Fatalf("%v %v", m, err)
	}
	image, err := index.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image, m.Manifests[0].Digest
}

// The image holds the binary, certificates and a place for data, no shell; nobody
// runs it; the same parts make the same image.
func TestImage(t *testing.T) {
	p := built(t)
	image, digest := open(t, p.out)
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	c, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c.Config.User != "65532:65532" || !cmp.Equal(c.Config.Entrypoint, []string{"/holdfast"}) ||
		c.Config.Labels["org.opencontainers.image.version"] != "1.2.3" {
		t.Errorf("%+v", c.Config)
	}
	files := unpacked(t, image, t.TempDir())
	want := []string{"data/", "tmp/", "etc/", "etc/ssl/", "etc/ssl/certs/", "etc/ssl/certs/ca-certificates.crt",
		"holdfast"}
	if d := cmp.Diff(want, files); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	if err := p.build(); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("over another: %v", err)
	}
	p.out += "2"
	if err := p.build(); err != nil {
		t.Fatal(err)
	}
	if _, again := open(t, p.out); again != digest {
		t.Errorf("the same parts made %s and %s", digest, again)
	}

	p.out, p.notice = p.out+"3", p.certificates // any file
	if err := p.build(); err != nil {
		t.Fatal(err)
	}
	image, _ = open(t, p.out)
	if d := cmp.Diff(append([]string{"NOTICE"}, want...), unpacked(t, image, t.TempDir())); d != "" {
		t.Errorf("files of a release (-want +got):\n%s", d)
	}
}

// What is in the image runs by itself, as nobody, with nothing else around it.
func TestImageRuns(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("changing the root directory needs the rights of root")
	}
	image, _ := open(t, built(t).out)
	root := t.TempDir()
	unpacked(t, image, root)
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(c.Config.Entrypoint[0], c.Config.Cmd...)
	cmd.Dir, cmd.Env = "/", c.Config.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "65532 [serve] true" {
		t.Errorf("%v %q", err, got)
	}
}

// unpacked writes the image's files below dir and names them.
func unpacked(t *testing.T, image v1.Image, dir string) (names []string) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers %v", len(layers), err)
	}
	text, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	for r := tar.NewReader(text); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		to := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(to, 0o755); err != nil {
				t.Fatal(err)
			}
			if h.Name == "data/" && h.Uid != nobody {
				t.Errorf("data belong to %d", h.Uid)
			}
			continue
		}
		f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, os.FileMode(h.Mode))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(f, r); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
