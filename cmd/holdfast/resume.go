package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
)

func resumeCommand(o *options) *cobra.Command {
	var asOriginal, asCopy bool
	c := &cobra.Command{
		Use:   "resume",
		Short: "Say of a restored installation whether it takes the original's place or works beside it",
		Args:  cobra.NoArgs,
		Long: "Say of a restored installation whether it takes the original's place or works beside it.\n\n" +
			"After `holdfast restore` nothing leaves the server: no mail, text or webhook is sent, no backup\n" +
			"is made, and no file is removed from blob_url.\n\n" +
			"--as-original: the other installation is gone. This one takes over blob_url and backup_to;\n" +
			"should the other one come back, it leaves them alone.\n" +
			"--as-copy: the other installation goes on. Name other places in blob_url, backup_to and smtp_url\n" +
			"first; those of the original stay untouched.\n" +
			"A running server follows within seconds.",
		Example: "  holdfast resume                  # says what waits, and why\n  holdfast resume --as-original",
		RunE: o.withApp(func(cmd *cobra.Command, _ []string, a *app.App) error {
			if asOriginal || asCopy {
				return resume(cmd, a, asOriginal)
			}
			reason, err := app.HeldReason(cmd.Context(), a)
			if err != nil {
				return err
			}
			if reason != "" {
				return errors.New(reason)
			}
			fmt.Fprintln(cmd.OutOrStdout(), "nothing waits: this installation sends and backs up as its settings say")
			return nil
		}),
	}
	c.Flags().BoolVar(&asOriginal, "as-original", false, "the other installation is gone: this one takes its place")
	c.Flags().BoolVar(&asCopy, "as-copy", false, "the other installation goes on: this one works beside it")
	c.MarkFlagsMutuallyExclusive("as-original", "as-copy")
	return c
}

func resume(cmd *cobra.Command, a *app.App, asOriginal bool) error {
	if err := app.Resume(cmd.Context(), a, asOriginal); err != nil {
		return err
	}
	reason, err := app.HeldReason(cmd.Context(), a)
	if err != nil {
		return err
	}
	if reason != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "mails and webhooks go on, but %s\n", reason)
		return nil
	}
	fmt.Fprintln(cmd.OutOrStdout(), "this installation sends, backs up and removes as its settings say;")
	fmt.Fprintln(cmd.OutOrStdout(), "webhooks that the restore paused stay paused until somebody makes them active")
	return nil
}
