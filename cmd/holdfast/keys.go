package main

import (
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
		&cobra.Command{
			Use: "renew KIND", Short: "Revoke the publishable or the secret API key and make another; `holdfast status` prints it", Args: cobra.ExactArgs(1), ValidArgs: []string{"publishable", "secret"},
			RunE: o.with(func(cmd *cobra.Command, args []string, a *app.App) error {
				return a.Identity.RenewAPIKey(cmd.Context(), args[0])
			}),
		},
	)
	return c
}
