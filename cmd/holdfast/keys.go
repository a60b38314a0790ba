package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/identity"
)

func keysCommand(o *options) *cobra.Command {
	c := &cobra.Command{Use: "keys", Short: "Change the keys of this installation"}
	c.AddCommand(
		&cobra.Command{
			Use: "rotate", Short: "Sign tokens with a new key; the old one verifies until its tokens have expired",
			Args: cobra.NoArgs,
			RunE: o.withApp(func(cmd *cobra.Command, _ []string, a *app.App) error {
				return a.Identity.Keyring.RotateKeys(cmd.Context())
			}),
		},
		renewKey(o),
		&cobra.Command{
			Use: "revoke ID", Short: "End now an API key that was renewed with an overlap", Args: cobra.ExactArgs(1),
			RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
				return a.Identity.Keyring.RevokeAPIKey(cmd.Context(), args[0])
			}),
		},
		&cobra.Command{
			Use: "list", Short: "List signing keys and API keys, without their secret parts", Args: cobra.NoArgs,
			RunE: o.withApp(listKeys),
		},
		rekeyCommand(o),
	)
	return c
}

func renewKey(o *options) *cobra.Command {
	var overlap time.Duration
	c := &cobra.Command{
		Use: "renew KIND", Short: "Make another publishable or secret API key and revoke the old one; `holdfast status` prints it",
		Args: cobra.ExactArgs(1), ValidArgs: []string{"publishable", "secret"},
		Example: "  holdfast keys renew secret --overlap 24h",
		RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
			return a.Identity.Keyring.RenewAPIKey(cmd.Context(), args[0], overlap)
		}),
	}
	c.Flags().DurationVar(&overlap, "overlap", 0, "how long the old key is taken beside the new one")
	return c
}

func rekeyCommand(o *options) *cobra.Command {
	var r app.Rekeying
	c := &cobra.Command{
		Use: "rekey", Short: "Seal all stored secrets with another master key, while no server runs", Args: cobra.NoArgs,
		Long: "Seal all stored secrets with another master key, while no server runs.\n\n" +
			"A key that is not given as a file is the one in effect: master_key, master_key_file or master.key of the data directory, which is replaced then.\n" +
			"Everyone signs in again and API keys are renewed. Stopped half-way, the same command goes on.",
		Example: "  (umask 077; openssl rand -base64 32 > new.key); holdfast keys rekey --new-key-file new.key",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.OldFile == "" && r.NewFile == "" {
				return errors.New("say which key is the other one: --new-key-file, or --old-key-file where the settings name the new one already")
			}
			cfg, err := o.loadConfig()
			if err != nil {
				return err
			}
			done, err := app.Rekey(cmd.Context(), cfg, r)
			if err != nil {
				return err
			}
			reportRekey(cmd.OutOrStdout(), done)
			if cfg.MasterKey != "" && r.NewFile != "" {
				fmt.Fprintln(cmd.OutOrStdout(),
					"Start the servers with the new key as master_key or master_key_file; the old one opens nothing.")
			}
			return nil
		},
	}
	c.Flags().StringVar(&r.OldFile, "old-key-file", "", "file with the key so far")
	c.Flags().StringVar(&r.NewFile, "new-key-file", "", "file with the key from now on")
	c.Flags().DurationVar(&r.Overlap, "overlap", 0,
		"how long the old publishable and secret keys are taken beside the new ones; those in JWT form end at once")
	return c
}

func reportRekey(w io.Writer, r identity.Rekeyed) {
	if r.Done {
		fmt.Fprintln(w, "The database has the new key already.")
		return
	}
	fmt.Fprintf(w, "%d stored secrets are sealed with the new key; %d sessions ended; `holdfast status` prints the new API keys.\n", r.Values, r.Sessions)
	if r.Codes > 0 {
		fmt.Fprintf(w, "%d recovery codes that an older version made work no more: their owners need new ones.\n", r.Codes)
	}
	for _, t := range r.Broken {
		fmt.Fprintf(w, "The audit chain of tenant %s was not whole before; `holdfast verify --audit` says more.\n", t)
	}
}

func listKeys(cmd *cobra.Command, _ []string, a *app.App) error {
	list, err := a.Identity.Keyring.ListKeys(cmd.Context())
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
