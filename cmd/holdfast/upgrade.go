package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
)

func upgradeCommand(o *options) *cobra.Command {
	c := &cobra.Command{Use: "upgrade", Short: "Look at what an upgrade would do"}
	c.AddCommand(&cobra.Command{
		Use: "check", Short: "Print the migrations that are due, what they lock and about how long they take; nothing is changed", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := o.loadConfig()
			if err != nil {
				return err
			}
			p, err := app.CheckUpgrade(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			printPlan(cmd, p)
			return nil
		},
	})
	return c
}

func printPlan(cmd *cobra.Command, p app.UpgradePlan) {
	out := cmd.OutOrStdout()
	if p.State.Fresh {
		fmt.Fprintf(out, "%s: the database is empty; the schema %d is made at the first start\n", p.Engine, p.State.Want)
		return
	}
	if len(p.State.Due) == 0 {
		fmt.Fprintf(out, "%s: the schema is %d, as this program needs it; nothing is to do\n", p.Engine, p.State.Have)
		return
	}
	fmt.Fprintf(out, "%s: the schema goes from %d to %d, %d migrations, about %s\n",
		p.Engine, p.State.Have, p.State.Want, len(p.State.Due), p.Takes.Round(time.Second))
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "MIGRATION\tDOES\tTABLE\tROWS\tOTHERS WAIT FOR\tABOUT")
	for _, s := range p.Steps {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", s.Migration, s.Does, s.Table, s.Rows, s.Locks,
			s.Takes.Round(100*time.Millisecond))
	}
	w.Flush()
	fmt.Fprintln(out, "Make a backup first: holdfast backup. The embedded database is copied by itself before it is migrated.")
}
