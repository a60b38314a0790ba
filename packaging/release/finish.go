package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"aead.dev/minisign"
)

// Files that speak of the others.
const (
	sumsName       = "SHA256SUMS"
	provenanceName = "provenance.intoto.json"
)

// finish writes where the files came from, lists their digests, signs the list, and packs all of it once more for
// whoever carries a release to machines without a network.
func (r *release) finish(key *minisign.PrivateKey) error {
	made, err := r.digests()
	if err != nil {
		return err
	}
	statement, err := json.MarshalIndent(r.describeProvenance(made), "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, provenanceName), append(statement, '\n'), 0o644); err != nil {
		return err
	}
	if made, err = r.digests(); err != nil {
		return err
	}
	var sums strings.Builder
	for _, s := range made {
		fmt.Fprintf(&sums, "%s  %s\n", s.Digest["sha256"], s.Name)
	}
	if err := os.WriteFile(filepath.Join(r.out, sumsName), []byte(sums.String()), 0o644); err != nil {
		return err
	}
	if err := r.signSums(key, sums.String()); err != nil {
		return err
	}
	files, err := filesBelow(r.out)
	if err != nil {
		return err
	}
	folder := "holdfast_" + r.version
	if err := r.writeTar(folder+"_offline.tar", folder, files); err != nil {
		return err
	}
	fmt.Printf("%s holds %d files of Holdfast %s, revision %s\n", r.out, len(files)+1, r.version, r.revision)
	return nil
}

// signSums signs the list of digests; the signed comment names the version, so that no old list passes for a new one.
func (r *release) signSums(key *minisign.PrivateKey, sums string) error {
	if key == nil {
		fmt.Println("NOT SIGNED: nobody can tell this release from another's")
		return nil
	}
	trusted := fmt.Sprintf("holdfast %s revision %s", r.version, r.revision)
	signature := minisign.SignWithComments(*key, []byte(sums), trusted, "signature of "+sumsName)
	return os.WriteFile(filepath.Join(r.out, sumsName+".minisig"), signature, 0o644)
}

// subject is a file with its digest, as in-toto names it.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// digests lists the files that are there, by name.
func (r *release) digests() (out []subject, err error) {
	files, err := filesBelow(r.out)
	if err != nil {
		return nil, err
	}
	for _, f := range sortedByName(files) {
		sum, err := sumFile(f.from)
		if err != nil {
			return nil, err
		}
		out = append(out, subject{f.name, map[string]string{"sha256": sum}})
	}
	return out, nil
}

// statement is an in-toto statement (in-toto attestation 1.0) about the files of a release.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []subject  `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

// provenance says how files were made (SLSA provenance 1.0).
type provenance struct {
	Definition definition `json:"buildDefinition"`
	Run        runDetails `json:"runDetails"`
}

type definition struct {
	BuildType  string            `json:"buildType"`
	Parameters map[string]string `json:"externalParameters"`
	Resolved   []material        `json:"resolvedDependencies"`
}

type material struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest,omitempty"`
}

type runDetails struct {
	Builder struct {
		ID string `json:"id"`
	} `json:"builder"`
	Metadata struct {
		StartedOn string `json:"startedOn"`
	} `json:"metadata"`
}

// describeProvenance names the revision and the Go that the files were made from. It has the revision's moment, not
// that of the run: a second run gives the same bytes.
func (r *release) describeProvenance(made []subject) statement {
	p := provenance{Definition: definition{
		BuildType:  "urn:holdfast:make-release:1",
		Parameters: map[string]string{"version": r.version},
		Resolved: []material{
			{Name: "holdfast", Digest: map[string]string{"gitCommit": r.revision}},
			{Name: runtime.Version()},
		},
	}}
	p.Run.Builder.ID = "urn:holdfast:maintainer"
	p.Run.Metadata.StartedOn = r.at.Format(time.RFC3339)
	return statement{"https://in-toto.io/Statement/v1", made, "https://slsa.dev/provenance/v1", p}
}
