package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/config"
	"holdfast/internal/identity/password"
)

func serveCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Run the server", Args: cobra.NoArgs,
		Example: "  holdfast serve --demo\n  holdfast serve --listen :8443 --tls-cert cert.pem --tls-key key.pem --public-url https://wms.example.com\n" +
			"  holdfast serve --database postgres://holdfast@db/holdfast",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := o.loadConfig()
			if err != nil {
				return err
			}
			return app.Serve(cmd.Context(), cfg, app.Terminal{Out: cmd.OutOrStdout(), Command: o.again()}, o.readConfig)
		},
	}
	show := c.HelpFunc()
	c.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		for _, s := range config.Settings() {
			if f := cmd.InheritedFlags().Lookup(s.Flag); f != nil {
				f.Hidden = false
			}
		}
		show(cmd, args)
	})
	return c
}

// hashCommand is what serve starts to hash passwords in. Signals meant for the
// server, which a terminal or systemd sends to both, do not end it: requests in
// flight still need it, and it ends with the server.
func hashCommand() *cobra.Command {
	c := &cobra.Command{Use: password.WorkerCommand, Args: cobra.NoArgs, Hidden: true}
	idle := c.Flags().Bool(password.WorkerIdle, false, "give way to everything else the machine does")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		if *idle {
			password.GiveWay()
		}
		return password.Work(cmd.InOrStdin(), cmd.OutOrStdout())
	}
	return c
}

func healthCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "healthcheck", Short: "Ask the running server whether it is ready; exit status 1 when not", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := o.loadConfig()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Second)
			defer cancel()
			base, err := app.AskReady(ctx, cfg)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), base, "is ready")
			return nil
		},
	}
}

func statusCommand(o *options) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "status", Short: "Print addresses and keys of this installation", Args: cobra.NoArgs,
		Example: "  eval \"$(holdfast status -o env)\"",
		RunE: o.withApp(func(cmd *cobra.Command, _ []string, a *app.App) error {
			lines, err := a.Status(cmd.Context())
			if err != nil {
				return err
			}
			for _, l := range lines {
				switch format {
				case "env":
					fmt.Fprintf(cmd.OutOrStdout(), "%s=%q\n", l.Name, l.Value)
				default:
					fmt.Fprintf(cmd.OutOrStdout(), "%-18s %s\n", l.Name, l.Value)
				}
			}
			return nil
		}),
	}
	c.Flags().StringVarP(&format, "output", "o", "pretty", "pretty or env")
	return c
}
