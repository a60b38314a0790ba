package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/catalog"
)

func migrateCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use: "migrate", Short: "Bring the database schema up to date", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := o.loadConfig()
			if err != nil {
				return err
			}
			a, err := app.Open(cmd.Context(), cfg, app.Migrator)
			if err != nil {
				return err
			}
			defer a.Close()
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s: the schema is up to date\n", a.DB.Engine(), a.DB.Version())
			return nil
		},
	}
	var dir string
	fresh := &cobra.Command{
		Use: "new NAME", Short: "Write the migration that takes the schema to the catalog (for developers)",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := app.NewMigration(cmd.Context(), dir, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), path)
			return nil
		},
	}
	fresh.Flags().StringVar(&dir, "dir", "internal/db/migrations", "folder of migrations")
	c.AddCommand(fresh)
	return c
}

func verifyCommand(o *options) *cobra.Command {
	var audit, repair bool
	var heads string
	c := &cobra.Command{
		Use: "verify [TENANT]", Short: "Check totals and stock against the records, or with --audit the audit log; exit status 1 when anything differs",
		Args: cobra.MaximumNArgs(1),
		RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
			if audit {
				return verifyAudit(cmd, a, strings.Join(args, ""), heads)
			}
			if heads != "" {
				return fmt.Errorf("--heads is of the audit log: say --audit too")
			}
			if len(args) > 0 {
				return fmt.Errorf("a tenant is named with --audit only; totals and stock are checked for all")
			}
			if repair {
				n, err := a.Repair(cmd.Context())
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%d counters put right\n", n)
			}
			found, err := a.Verify(cmd.Context())
			for _, d := range found {
				fmt.Fprintln(cmd.OutOrStdout(), d)
			}
			if err != nil {
				return err
			}
			if len(found) > 0 {
				return fmt.Errorf("%d differences", len(found))
			}
			fmt.Fprintln(cmd.OutOrStdout(), "totals and stock agree with the records")
			return nil
		}),
	}
	c.Flags().BoolVar(&repair, "repair", false,
		"put counters right first; stock that disagrees with its ledger is only reported")
	c.Flags().BoolVar(&audit, "audit", false,
		"check the sealed audit log, and that each tenant's goes on from where the platform's own log last saw it")
	c.Flags().StringVar(&heads, "heads", "",
		"with --audit: a file elsewhere, made when absent, with where each log ended at earlier checks; the log has to "+
			"go on from there, and where it does its end is added: so a whole database that was set back is told")
	return c
}

func importCommand(o *options) *cobra.Command {
	var f app.ImportFile
	c := &cobra.Command{
		Use: "import FILE", Short: "Import a CSV, TSV, XLSX or JSON file", Args: cobra.ExactArgs(1),
		Example: "  holdfast import stock.csv --target items --tenant acme\n  holdfast import bins.csv --target zones --tenant acme --map " +
			"code=locationNumber --dry-run",
		RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
			f.Path = args[0]
			return runImport(cmd, a, f)
		}),
	}
	c.Flags().StringVar(&f.Target, "target", "", "what the rows are: "+importTargets())
	c.Flags().StringVar(&f.Tenant, "tenant", "", "tenant id, slug or name")
	c.Flags().StringToStringVar(&f.Mapping, "map", nil,
		"field=header, repeatable; guessed from the header line when absent")
	c.Flags().StringToStringVar(&f.Options, "set", nil,
		"option=value, for example mode=insert, date_order=dmy, force=true")
	c.Flags().BoolVar(&f.DryRun, "dry-run", false, "check the file and stop before writing")
	c.MarkFlagRequired("target")
	c.MarkFlagRequired("tenant")
	return c
}

// importTargets lists what files can be imported into.
func importTargets() string {
	jobs, _ := catalog.Default().Get("import_jobs")
	target, _ := jobs.Field("target")
	return strings.Join(target.OneOf, ", ")
}

func runImport(cmd *cobra.Command, a *app.App, f app.ImportFile) error {
	st, err := os.Stat(f.Path)
	if err != nil {
		return err
	}
	line := newProgress(cmd.ErrOrStderr(), isTerminal(os.Stderr), filepath.Base(f.Path), st.Size())
	f.Progress = line
	res, err := a.Import(cmd.Context(), f)
	line.clearLine()
	if res != nil {
		fmt.Fprint(cmd.OutOrStdout(), res.Report())
	}
	if err == nil && !res.DryRun && res.Applied == nil {
		return fmt.Errorf("no row of %s could be imported", f.Path)
	}
	return err
}

func isTerminal(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
