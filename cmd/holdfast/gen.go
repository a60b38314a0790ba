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
			"  holdfast gen types ts > database.ts    createClient<Database>() of supabase-js takes it",
		Args: cobra.ExactArgs(1), ValidArgs: []string{"ts"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "ts" {
				return fmt.Errorf("there are no types for %q; the language is ts", args[0])
			}
			_, err := cmd.OutOrStdout().Write(app.TypeScript())
			return err
		},
	})
	c.AddCommand(manCommand())
	return c
}
