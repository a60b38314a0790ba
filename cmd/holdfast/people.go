package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/actor"
	"holdfast/internal/app"
)

func adminCommand(o *options) *cobra.Command {
	c := &cobra.Command{Use: "admin", Short: "Manage administrators"}
	var tenant, password string
	create := &cobra.Command{
		Use: "create EMAIL", Short: "Create an administrator of a tenant, with a password from --password or standard input",
		Args:    cobra.ExactArgs(1),
		Example: "  holdfast admin create jo@example.com --tenant acme\n  echo 'correct horse battery' | holdfast admin create jo@example.com --tenant acme",
		RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
			pw, err := readSecret(cmd, password)
			if err != nil {
				return err
			}
			u, err := a.Identity.Admin.CreateAdmin(cmd.Context(), args[0], pw, tenant)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s (%s) is an owner of %s\n", u.Email, u.ID, tenant)
			return nil
		}),
	}
	create.Flags().StringVar(&tenant, "tenant", "", "tenant id, slug or name; made when it does not exist")
	create.Flags().StringVar(&password, "password", "", "password; better given on standard input")
	create.MarkFlagRequired("tenant")
	reset := &cobra.Command{
		Use: "reset-password EMAIL", Short: "Set a new password and end the user's sessions", Args: cobra.ExactArgs(1),
		RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
			pw, err := readSecret(cmd, password)
			if err != nil {
				return err
			}
			return a.Identity.Admin.ResetPassword(cmd.Context(), args[0], pw)
		}),
	}
	reset.Flags().StringVar(&password, "password", "", "password; better given on standard input")
	c.AddCommand(create, reset, setupLink(o), listAdmins(o))
	return c
}

func setupLink(o *options) *cobra.Command {
	var tenant string
	c := &cobra.Command{
		Use:   "setup-link [EMAIL]",
		Short: "Print a link with which a user sets a password; without EMAIL the one that makes the first administrator",
		Args:  cobra.MaximumNArgs(1),
		RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
			link, err := newSetupLink(cmd, args, a, tenant)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), link)
			return nil
		}),
	}
	c.Flags().StringVar(&tenant, "tenant", "",
		"tenant id, slug or name the user becomes an owner of; made when it does not exist")
	return c
}

func newSetupLink(cmd *cobra.Command, args []string, a *app.App, tenant string) (string, error) {
	if len(args) > 0 {
		return a.Identity.Admin.SetupLink(cmd.Context(), args[0], tenant)
	}
	if tenant != "" {
		return "", fmt.Errorf("--tenant goes with EMAIL: the page of the link asks for the organisation")
	}
	has, err := a.Identity.Admin.HasAdministrator(cmd.Context())
	if err != nil {
		return "", err
	}
	if has {
		return "", fmt.Errorf("there is an administrator already (`holdfast admin list`): name the EMAIL that the link is for")
	}
	return a.Identity.Admin.FirstSetupLink(), nil
}

func listAdmins(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the administrators of every tenant", Args: cobra.NoArgs,
		RunE: o.withApp(func(cmd *cobra.Command, _ []string, a *app.App) error {
			list, err := a.Identity.Admin.ListAdmins(cmd.Context())
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "EMAIL\tROLE\tTENANT")
			for _, m := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\n", m.Email, m.Role, m.Tenant)
			}
			return w.Flush()
		}),
	}
}

// readSecret takes a password from the flag or from one line of standard input.
func readSecret(cmd *cobra.Command, flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if st, err := os.Stdin.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprint(cmd.ErrOrStderr(), "Password: ")
	}
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		if err != nil {
			return "", fmt.Errorf("no password: give --password or a line on standard input")
		}
		return "", fmt.Errorf("the password is empty")
	}
	return line, nil
}

func tenantCommand(o *options) *cobra.Command {
	c := &cobra.Command{Use: "tenant", Short: "Manage tenants"}
	var slug, role string
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a tenant and print its id", Args: cobra.ExactArgs(1),
		RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
			t, err := a.Identity.Tenants.CreateTenant(cmd.Context(), args[0], slug, "")
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), t.ID)
			return nil
		}),
	}
	create.Flags().StringVar(&slug, "slug", "", "short name; made from NAME when absent")
	list := &cobra.Command{
		Use: "list", Short: "List tenants", Args: cobra.NoArgs,
		RunE: o.withApp(func(cmd *cobra.Command, _ []string, a *app.App) error {
			ts, err := a.Identity.Tenants.ListTenants(cmd.Context())
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "ID\tSLUG\tNAME\tPLAN\tSTATUS\tMEMBERS")
			for _, t := range ts {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\n", t.ID, t.Slug, t.Name, t.Plan, t.Status, t.Members)
			}
			return w.Flush()
		}),
	}
	add := &cobra.Command{
		Use: "add TENANT EMAIL", Short: "Make a user a member of a tenant; an unknown address gets an account without a password", Args: cobra.ExactArgs(2),
		RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
			if !actor.Role(role).Valid() {
				return fmt.Errorf("role %q is none of %v", role, actor.Members)
			}
			u, err := a.Identity.Admin.AddMember(cmd.Context(), args[0], args[1], actor.Role(role))
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is %s of %s\n", u.Email, role, args[0])
			if time.Since(u.CreatedAt.Time) < time.Minute {
				fmt.Fprintf(cmd.OutOrStdout(),
					"the account is new; `holdfast admin setup-link %s` prints a link to set its password\n", u.Email)
			}
			return nil
		}),
	}
	add.Flags().StringVar(&role, "role", string(actor.Viewer), "role of the member")
	member := &cobra.Command{Use: "member", Short: "Manage members of a tenant"}
	member.AddCommand(add)
	c.AddCommand(create, list, setPlan(o), setQuota(o), member)
	return c
}

func setPlan(o *options) *cobra.Command {
	var limits []string
	c := &cobra.Command{
		Use: "set-plan TENANT PLAN", Short: "Give a tenant the plan standard, enterprise or custom; a running server obeys at once", Args: cobra.ExactArgs(2),
		Example: "  holdfast tenant set-plan acme enterprise\n  holdfast tenant set-plan acme custom --limit api=3000/600 --limit read=20000",
		RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
			plan, err := a.SetPlan(cmd.Context(), args[0], args[1], limits)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "CATEGORY\tPER MINUTE\tBURST IN 10 S\tALL CALLERS PER MINUTE")
			for _, l := range plan {
				all := "-"
				if l.Ceiling > 0 {
					all = strconv.Itoa(l.Ceiling)
				}
				fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", l.Category, l.Minute, l.Burst, all)
			}
			return w.Flush()
		}),
	}
	c.Flags().StringArrayVar(&limits, "limit", nil,
		"category=MINUTE, category=MINUTE/BURST or category=MINUTE/BURST/CEILING for the plan custom: "+
			"what one person or key may do, and all of the tenant in a minute; categories: api, webhook, read, write")
	return c
}

func setQuota(o *options) *cobra.Command {
	c := &cobra.Command{
		Use: "set-quota TENANT", Short: "Give a tenant its own quota of import files or photos; the next upload obeys",
		Args:    cobra.ExactArgs(1),
		Example: "  holdfast tenant set-quota acme --imports 20480 --photos 51200\n  holdfast tenant set-quota acme --imports default",
		RunE: o.withApp(func(cmd *cobra.Command, args []string, a *app.App) error {
			sizes := map[string]string{}
			for _, kind := range []string{"imports", "photos"} {
				if f := cmd.Flags().Lookup(kind); f.Changed {
					sizes[kind] = f.Value.String()
				}
			}
			return a.SetQuota(cmd.Context(), args[0], sizes)
		}),
	}
	c.Flags().String("imports", "", "megabytes of import files that are kept, or default")
	c.Flags().String("photos", "", "megabytes of photos of incidents and inspections, or default")
	return c
}
