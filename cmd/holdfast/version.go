package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/bill"
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
				return writeJSON(out, bill.List(info, app.Version))
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
