// Package bill lists what a binary is made of, as a bill of materials in CycloneDX 1.6 (ECMA-424). The command
// version prints that of the running program, a release holds that of each binary.
//
// Layer: foundations. Begin at [List].
package bill

import (
	"runtime/debug"
	"strings"
)

// Bill is a bill of materials.
type Bill struct {
	Format       string      `json:"bomFormat"`
	Specified    string      `json:"specVersion"`
	Version      int         `json:"version"`
	Metadata     Metadata    `json:"metadata"`
	Components   []Component `json:"components"`
	Dependencies []DependsOn `json:"dependencies"`
}

// Metadata says what the bill is of.
type Metadata struct {
	Component Component `json:"component"`
}

// Component is the program, a module that is linked into it, or Go's own library.
type Component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"` // package URL
}

// DependsOn says which components one is made of.
type DependsOn struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// List lists the Go modules that are linked into a binary, and Go's own library.
func List(info *debug.BuildInfo, version string) Bill {
	b := Bill{Format: "CycloneDX", Specified: "1.6", Version: 1,
		Metadata: Metadata{Component{Type: "application", Ref: "holdfast", Name: "holdfast", Version: version}}}
	b.addModule("std", strings.TrimPrefix(info.GoVersion, "go"))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.addModule(m.Path, m.Version)
	}

	on := make([]string, len(b.Components))
	for i, c := range b.Components {
		on[i] = c.Ref
	}
	b.Dependencies = []DependsOn{{Ref: "holdfast", On: on}}
	return b
}

func (b *Bill) addModule(name, version string) {
	purl := "pkg:golang/" + name + "@" + version
	b.Components = append(b.Components,
		Component{Type: "library", Ref: purl, Name: name, Version: version, PURL: purl})
}
