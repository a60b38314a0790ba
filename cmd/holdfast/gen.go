package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
)

// genCommand writes what clients are built with, and manual pages; it opens no
// database.
func genCommand() *cobra.Command {
	c := &cobra.Command{Use: "gen", Short: "Write types for clients and manual pages"}
	c.AddCommand(&cobra.Command{
		Use: "types LANGUAGE", Short: "Write the types of records, verbs and functions to standard output",
		Long: "Writes the types of records, verbs and functions to standard output.\n\n" +
			"  holdfast gen types ts > database.ts          createClient<Database>() of supabase-js takes it\n" +
			"  holdfast gen types go > holdfast/types.go    package holdfast: structs for encoding/json, Go 1.24 or newer\n" +
			"  holdfast gen types python > holdfast.py      models for pydantic 2, Python 3.9 or newer",
		Args: cobra.ExactArgs(1), ValidArgs: []string{"ts", "go", "python"},
		RunE: func(cmd *cobra.Command, args []string) error {
			types, ok := map[string]func() []byte{"ts": app.TypeScript, "go": app.GoTypes, "python": app.PythonTypes}[args[0]]
			if !ok {
				return fmt.Errorf("there are no types for %q; the languages are ts, go and python", args[0])
			}
			_, err := cmd.OutOrStdout().Write(types())
			return err
		},
	})
	c.AddCommand(manCommand())
	return c
}
