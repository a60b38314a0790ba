package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/job"
)

// jobsShown is how many jobs a list shows.
const jobsShown = 200

func jobsCommand(o *options) *cobra.Command {
	c := &cobra.Command{Use: "jobs", Short: "See and hurry the work that is done in the background"}
	c.AddCommand(listJobs(o), retryJobs(o), runJobs(o))
	return c
}

func listJobs(o *options) *cobra.Command {
	var f job.Filter
	var asJSON bool
	c := &cobra.Command{
		Use: "list [KIND]", Short: "List jobs that wait, are under way or were given up; --status done lists the others",
		Args:    cobra.MaximumNArgs(1),
		Example: "  holdfast jobs list\n  holdfast jobs list safety-mail --status failed",
		RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
			f.Kind = strings.Join(args, "")
			if err := knownKind(a, f.Kind); err != nil {
				return err
			}
			f.Open = f.Status == ""
			list, err := job.List(cmd.Context(), a.DB, f, jobsShown)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(list)
			}
			return printJobs(cmd, list)
		}),
	}
	c.Flags().StringVar(&f.Status, "status", "", "pending, running, failed or done")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printJobs(cmd *cobra.Command, list []job.Status) error {
	if len(list) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "no jobs")
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tKEY\tSTATUS\tTRIES\tDUE\tERROR")
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", s.Kind, s.Key, s.Status, s.Tries, s.Due.UTC().Format(time.RFC3339),
			s.Error)
	}
	return w.Flush()
}

func retryJobs(o *options) *cobra.Command {
	var f job.Filter
	c := &cobra.Command{
		Use: "retry KIND", Short: "Make jobs that wait for their next try or were given up due at once; the running server does them", Args: cobra.ExactArgs(1),
		Example: "  holdfast jobs retry safety-mail\n  holdfast jobs retry safety-mail --key digest:2026-03-20:...",
		RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
			f.Kind = args[0]
			if err := knownKind(a, f.Kind); err != nil {
				return err
			}
			n, err := job.Hurry(cmd.Context(), a.DB, time.Now(), f)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d jobs are due now\n", n)
			return nil
		}),
	}
	c.Flags().StringVar(&f.Key, "key", "", "only the job of this key")
	return c
}

func runJobs(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "run KIND", Short: "Do the jobs of a kind in this process, due or not", Args: cobra.ExactArgs(1),
		Example: "  holdfast jobs run sweep-sessions",
		RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
			if err := knownKind(a, args[0]); err != nil {
				return err
			}
			n, err := app.RunJobs(cmd.Context(), a, args[0])
			fmt.Fprintf(cmd.OutOrStdout(), "%d jobs done\n", n)
			return err
		}),
	}
}

func knownKind(a *app.App, kind string) error {
	docs := app.JobDocs(a)
	if _, ok := docs[kind]; ok || kind == "" {
		return nil
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		fmt.Fprintf(&b, "\n  %-24s %s", name, docs[name])
	}
	return fmt.Errorf("there is no kind of job %q; there are:%s", kind, b.String())
}
