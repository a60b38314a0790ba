package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
)

func keysCommand(o *options) *cobra.Command {
	c := &cobra.Command{Use: "keys", Short: "Change the keys of this installation"}
	c.AddCommand(
		&cobra.Command{
			Use: "rotate", Short: "Sign tokens with a new key; the old one verifies until its tokens have expired", Args: cobra.NoArgs,
			RunE: o.with(func(cmd *cobra.Command, _ []string, a *app.App) error { return a.Identity.RotateKeys(cmd.Context()) }),
		},
		renewKey(o),
		&cobra.Command{
			Use: "revoke ID", Short: "End now an API key that was renewed with an overlap", Args: cobra.ExactArgs(1),
			RunE: o.with(func(cmd *cobra.Command, args []string, a *app.App) error {
				return a.Identity.RevokeAPIKey(cmd.Context(), args[0])
			}),
		},
		&cobra.Command{
			Use: "list", Short: "List signing keys and API keys, without their secret parts", Args: cobra.NoArgs,
			RunE: o.with(listKeys),
		},
	)
	return c
}

func renewKey(o *options) *cobra.Command {
	var overlap time.Duration
	c := &cobra.Command{
		Use: "renew KIND", Short: "Make another publishable or secret API key and revoke the old one; `holdfast status` prints it", Args: cobra.ExactArgs(1), ValidArgs: []string{"publishable", "secret"},
		Example: "  holdfast keys renew secret --overlap 24h",
		RunE: o.with(func(cmd *cobra.Command, args []string, a *app.App) error {
			return a.Identity.RenewAPIKey(cmd.Context(), args[0], overlap)
		}),
	}
	c.Flags().DurationVar(&overlap, "overlap", 0, "how long the old key is taken beside the new one")
	return c
}

func listKeys(cmd *cobra.Command, _ []string, a *app.App) error {
	list, err := a.Identity.ListKeys(cmd.Context())
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tID\tSTATE\tMADE\tUNTIL")
	for _, k := range list {
		until := "-"
		if !k.Until.IsZero() {
			until = k.Until.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.Kind, k.ID, k.State, k.Made.UTC().Format(time.RFC3339), until)
	}
	return w.Flush()
}
