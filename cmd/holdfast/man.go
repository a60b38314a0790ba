package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand writes the pages of man(7), one for each command.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIRECTORY", Short: "Write manual pages, one for each command", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writePages(args[0], cmd.Root())
		},
	}
}

func writePages(dir string, c *cobra.Command) error {
	if c.Hidden {
		return nil
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manPage(c, name)), 0o644); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if err := writePages(dir, sub); err != nil {
			return err
		}
	}
	return nil
}

func manPage(c *cobra.Command, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"Holdfast %s\" \"Holdfast\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(name),
		c.Root().Version, name, escapeRoff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", escapeRoff(c.UseLine()))
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", strings.ReplaceAll(escapeRoff(c.Long), "\n\n", "\n.PP\n"))
	}
	if c.LocalFlags().HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			fmt.Fprintf(&b, ".TP\n.B \\-\\-%s\n%s\n", escapeRoff(f.Name), escapeRoff(f.Usage))
		})
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", escapeRoff(c.Example))
	}
	var also []string
	if c.HasParent() {
		also = append(also, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-")+"(1)")
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			also = append(also, strings.ReplaceAll(sub.CommandPath(), " ", "-")+"(1)")
		}
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", escapeRoff(strings.Join(also, ", ")))
	}
	return b.String()
}

// escapeRoff escapes what man(7) would take for its own.
func escapeRoff(s string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
