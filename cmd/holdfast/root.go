package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/internal/app"
	"holdfast/internal/config"
)

// options are the settings given on the command line.
type options struct {
	file  string
	flags *pflag.FlagSet
}

func rootCommand() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "Warehouse, logistics and workplace safety in one server",
		Long: "Holdfast runs a warehouse and keeps its people safe.\n\n" +
			"Start here:  holdfast serve --demo\n" +
			"Every setting is a flag, an environment variable (HOLDFAST_...) and a line of the configuration file; `holdfast config dump` lists them.",
		SilenceUsage: true, SilenceErrors: true, Version: app.Version,
	}
	o.flags = root.PersistentFlags()
	o.flags.StringVar(&o.file, "config", os.Getenv(config.FileVariable), "configuration file")
	for _, s := range config.Settings() {
		if s.Hidden {
			continue
		}
		doc := s.Doc
		if s.Default != "" {
			doc += " (default " + s.Default + ")"
		}
		o.flags.String(s.Flag, "", doc)
		if s.Bool {
			o.flags.Lookup(s.Flag).NoOptDefVal = "true"
		}
		// The whole list stands in `serve --help`; other commands show the few
		// that say which database they mean.
		if s.Flag != "data" && s.Flag != "database" {
			o.flags.Lookup(s.Flag).Hidden = true
		}
	}
	// Made by cobra only after it has looked for the command, which until then
	// takes what follows them for their values.
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	root.AddCommand(serveCommand(o), hashCommand(), statusCommand(o), adminCommand(o), tenantCommand(o), migrateCommand(o),
		importCommand(o), keysCommand(o), jobsCommand(o), verifyCommand(o), healthCommand(o), configCommand(o), genCommand(),
		versionCommand())
	root.AddCommand(backupCommand(o), restoreCommand(o), resumeCommand(o), upgradeCommand(o), doctorCommand(o))
	return root
}

// loadConfig reads the configuration and sets up the log.
func (o *options) loadConfig() (*config.Config, error) {
	c, err := o.readConfig()
	if err != nil {
		return nil, err
	}
	app.SetLog(c)
	return c, nil
}

// readConfig reads the configuration.
func (o *options) readConfig() (*config.Config, error) {
	given := map[string]string{}
	for _, s := range config.Settings() {
		if f := o.flags.Lookup(s.Flag); f != nil && f.Changed {
			given[s.Name] = f.Value.String()
		}
	}
	return config.Load(o.file, os.Environ(), given)
}

// openApp opens the database and services without serving.
func (o *options) openApp(cmd *cobra.Command) (*app.App, error) {
	c, err := o.loadConfig()
	if err != nil {
		return nil, err
	}
	return app.Open(cmd.Context(), c, app.Tool)
}

// withApp runs f on opened services and closes them.
func (o *options) withApp(
	f func(cmd *cobra.Command, args []string, a *app.App) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a, err := o.openApp(cmd)
		if err != nil {
			return err
		}
		defer a.Close()
		return f(cmd, args, a)
	}
}

// again is how this program is called once more for the same installation: as it
// was called now, with the flags that say which one is meant. A password in the
// address of the database is not repeated, because what is printed is logged.
func (o *options) again() string {
	words := []string{os.Args[0]}
	if strings.Contains(os.Args[0], "go-build") {
		words = []string{"go", "run", "./cmd/holdfast"}
	}
	if f := o.flags.Lookup("config"); f.Changed {
		words = append(words, "--config", absolute(f.Value.String()))
	}
	if f := o.flags.Lookup("data"); f.Changed {
		words = append(words, "--data", absolute(f.Value.String()))
	}
	if f := o.flags.Lookup("database"); f.Changed {
		words = append(words, "--database", withoutPassword(f.Value.String()))
	}
	for i, w := range words {
		words[i] = quoteForShell(w)
	}
	return strings.Join(words, " ")
}

func absolute(path string) string {
	if p, err := filepath.Abs(path); err == nil {
		return p
	}
	return path
}

// withoutPassword is the address of a database with PASSWORD in the place of its
// password, or a word for what is no URL.
func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Query().Has("password") {
		return "DATABASE_URL"
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), "PASSWORD")
	}
	return u.String()
}

// quoteForShell writes a word so that a POSIX shell reads it as it is.
func quoteForShell(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_-]+$`)

func configCommand(o *options) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Show the settings"}
	c.AddCommand(&cobra.Command{
		Use: "dump", Short: "Print every setting in effect, as a configuration file; secrets show only whether they are set",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := o.loadConfig()
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), cfg.Dump())
			return nil
		},
	})
	return c
}
