package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
)

// build is what a binary says about its making.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of git; with "+changed" where files differed from it
	Date     string `json:"date,omitempty"`     // of the revision, RFC 3339
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionCommand() *cobra.Command {
	var asJSON, sbom bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Version, revision, date and Go of this program; --sbom lists the modules that are linked into it",
		Args:    cobra.NoArgs,
		Example: "  holdfast version\n  holdfast version --sbom > holdfast.cdx.json   # CycloneDX",
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return errors.New("this program was built without build information")
			}
			out := cmd.OutOrStdout()
			if sbom {
				return writeJSON(out, listComponents(info))
			}
			b := describeBuild(info)
			if asJSON {
				return writeJSON(out, b)
			}
			fmt.Fprintln(out, "holdfast "+b.Version)
			if b.Revision != "" {
				fmt.Fprintf(out, "revision %s of %s\n", b.Revision, b.Date)
			}
			fmt.Fprintf(out, "%s, %s\n", b.Go, b.Platform)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&sbom, "sbom", false, "print a bill of materials, CycloneDX 1.6 in JSON")
	c.MarkFlagsMutuallyExclusive("json", "sbom")
	return c
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func describeBuild(info *debug.BuildInfo) build {
	b := build{Version: app.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	changed := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				changed = "+changed"
			}
		}
	}
	if b.Revision != "" {
		b.Revision += changed
	}
	return b
}

// bill is a bill of materials (CycloneDX 1.6, ECMA-424).
type bill struct {
	Format       string      `json:"bomFormat"`
	Specified    string      `json:"specVersion"`
	Version      int         `json:"version"`
	Metadata     metadata    `json:"metadata"`
	Components   []component `json:"components"`
	Dependencies []dependsOn `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"` // package URL
}

type dependsOn struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// listComponents lists the Go modules that are linked into the binary, and Go's own
// library.
func listComponents(info *debug.BuildInfo) bill {
	b := bill{Format: "CycloneDX", Specified: "1.6", Version: 1,
		Metadata: metadata{component{Type: "application", Ref: "holdfast", Name: "holdfast", Version: app.Version}}}
	add := func(name, version string) {
		purl := "pkg:golang/" + name + "@" + version
		c := component{Type: "library", Ref: purl, Name: name, Version: version, PURL: purl}
		b.Components = append(b.Components, c)
	}
	add("std", strings.TrimPrefix(runtime.Version(), "go"))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		add(m.Path, m.Version)
	}

	on := make([]string, len(b.Components))
	for i, c := range b.Components {
		on[i] = c.Ref
	}
	b.Dependencies = []dependsOn{{Ref: "holdfast", On: on}}
	return b
}
