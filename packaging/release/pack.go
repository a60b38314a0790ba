package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// packed is a file on its way into an archive.
type packed struct {
	name string // in the archive
	from string // on disk
	mode fs.FileMode
}

// filesBelow lists the files of a folder by name.
func filesBelow(dir string) (out []packed, err error) {
	err = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		out = append(out, packed{filepath.ToSlash(name), at, 0o644})
		return nil
	})
	return out, err
}

// writeTar writes an archive whose bytes depend on nothing but names and contents: sorted, of one moment, of nobody.
// A name that ends in gz is compressed.
func (r *release) writeTar(name, folder string, files []packed) error {
	return r.writeFile(name, func(w io.Writer) error {
		if !strings.HasSuffix(name, "gz") {
			return r.addAll(w, folder, files)
		}
		z := gzip.NewWriter(w)
		if err := r.addAll(z, folder, files); err != nil {
			return err
		}
		return z.Close()
	})
}

func (r *release) addAll(w io.Writer, folder string, files []packed) error {
	t := tar.NewWriter(w)
	for _, f := range sortedByName(files) {
		at, err := os.Stat(f.from)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: path.Join(folder, f.name), Mode: int64(f.mode), Size: at.Size(), ModTime: r.at,
			Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if err := copyFile(t, f.from); err != nil {
			return err
		}
	}
	return t.Close()
}

// writeZip is writeTar for systems that have no tar.
func (r *release) writeZip(name, folder string, files []packed) error {
	return r.writeFile(name, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, f := range sortedByName(files) {
			h := &zip.FileHeader{Name: path.Join(folder, f.name), Method: zip.Deflate, Modified: r.at}
			h.SetMode(f.mode)
			part, err := z.CreateHeader(h)
			if err != nil {
				return err
			}
			if err := copyFile(part, f.from); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

func sortedByName(files []packed) []packed {
	return slices.SortedFunc(slices.Values(files), func(a, b packed) int { return strings.Compare(a.name, b.name) })
}

// writeFile writes a file of the release; one that was not written whole is removed.
func (r *release) writeFile(name string, write func(io.Writer) error) (err error) {
	to := filepath.Join(r.out, name)
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			os.Remove(to)
		}
	}()
	return write(f)
}

func copyFile(w io.Writer, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// sumFile is the SHA-256 of a file, in hexadecimal.
func sumFile(name string) (string, error) {
	h := sha256.New()
	if err := copyFile(h, name); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
