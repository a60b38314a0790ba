package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/doctor"
)

func doctorCommand(o *options) *cobra.Command {
	var asJSON, fix bool
	c := &cobra.Command{
		Use: "doctor", Short: "Look this installation over: what is wrong, why it matters, what to do; exit status 1 on a failure", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := runDoctor(cmd, o, fix)
			if asJSON {
				if err := json.NewEncoder(cmd.OutOrStdout()).Encode(found); err != nil {
					return err
				}
			} else {
				printFindings(cmd.OutOrStdout(), found)
			}
			for _, f := range found {
				if f.Level == doctor.Failure && !f.Fixed {
					return fmt.Errorf("%s: %s", f.Check, f.What)
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of check, level, what, why, command")
	c.Flags().BoolVar(&fix, "fix", false, "put right what needs no decision: modes of files, what killed commands left")
	return c
}

// runDoctor is a finding itself when the settings cannot be read.
func runDoctor(cmd *cobra.Command, o *options, fix bool) []doctor.Finding {
	cfg, err := o.loadConfig()
	if err != nil {
		return []doctor.Finding{{
			Check: "configuration", Level: doctor.Failure, What: err.Error(), Why: "the server does not start with it",
			Command: "holdfast config dump",
		}}
	}
	return app.Doctor(cmd.Context(), cfg, fix)
}

func printFindings(w io.Writer, found []doctor.Finding) {
	for _, f := range found {
		level := string(f.Level)
		if f.Fixed {
			level = "fixed"
		}
		fmt.Fprintf(w, "%-8s %-15s %s\n", level, f.Check, f.What)
		if f.Why != "" {
			fmt.Fprintf(w, "%24s why: %s\n", "", f.Why)
		}
		if f.Command != "" && !f.Fixed {
			fmt.Fprintf(w, "%24s do:  %s\n", "", f.Command)
		}
	}
}
