// Command image makes a container image of a built binary where no container
// engine is: an OCI image layout that skopeo, crane, podman and containerd take.
//
//	go run ./packaging/container/image -binary bin/holdfast -version 1.2.3 -out holdfast.oci
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nobody runs the server and owns its data.
const nobody = 65532

// What the image is made of.
type parts struct {
	binary, certificates, notice, version, arch, out string
}

func main() {
	var p parts
	flag.StringVar(&p.binary, "binary", "bin/holdfast", "the static binary, for Linux")
	flag.StringVar(&p.certificates, "certificates", "/etc/ssl/certs/ca-certificates.crt",
		"the authorities that the server trusts, as PEM")
	flag.StringVar(&p.notice, "notice", "", "the licences of what is linked in; a release has them")
	flag.StringVar(&p.version, "version", "0.1.0", "the version of the binary")
	flag.StringVar(&p.arch, "arch", "amd64", "the processor the binary is for")
	flag.StringVar(&p.out, "out", "holdfast.oci", "a directory that is not there yet")
	flag.Parse()
	if err := p.build(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Println(p.out)
}

// build writes the layout. The same parts give the same bytes.
func (p parts) build() error {
	if _, err := os.Stat(p.out); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is there already", p.out)
	}
	files, err := p.files()
	if err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	},
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return err
	}
	if image, err = mutate.ConfigFile(image, p.config(image)); err != nil {
		return err
	}
	index, err := layout.Write(p.out, empty.Index)
	if err != nil {
		return err
	}
	return index.AppendImage(image, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: p.arch}))
}

// config says what Dockerfile says. Health is asked for by what runs the image.
func (p parts) config(image v1.Image) *v1.ConfigFile {
	now, err := image.ConfigFile()
	if err != nil {
		now = &v1.ConfigFile{}
	}
	c := now.DeepCopy()
	c.OS, c.Architecture, c.Created = "linux", p.arch, v1.Time{Time: time.Unix(0, 0).UTC()}
	c.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", nobody, nobody),
		Env:          []string{"HOLDFAST_DATA=/data", "HOLDFAST_LISTEN=:8080"},
		Entrypoint:   []string{"/holdfast"},
		Cmd:          []string{"serve"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "Holdfast",
			"org.opencontainers.image.description": "Warehouse, logistics and workplace safety in one server",
			"org.opencontainers.image.version":     p.version,
		},
	}
	return c
}

// files is the one layer: the binary, the certificates, and a place for data.
func (p parts) files() ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	dir := func(name string, owner int, mode int64) error {
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, Uid: owner, Gid: owner,
			Format: tar.FormatPAX})
	}
	file := func(name, from string, mode int64) error {
		b, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(b)),
			Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	}
	if p.notice != "" {
		if err := file("NOTICE", p.notice, 0o644); err != nil {
			return nil, err
		}
	}
	err := errors.Join(
		dir("data/", nobody, 0o700),
		dir("tmp/", 0, 0o1777),
		dir("etc/", 0, 0o755), dir("etc/ssl/", 0, 0o755), dir("etc/ssl/certs/", 0, 0o755),
		file("etc/ssl/certs/ca-certificates.crt", p.certificates, 0o644),
		file("holdfast", p.binary, 0o755),
		w.Close(),
	)
	return out.Bytes(), err
}
