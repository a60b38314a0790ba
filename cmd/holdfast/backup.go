package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/backup"
	"holdfast/internal/config"
	"holdfast/internal/identity/password"
	"holdfast/internal/installation"
)

// secrets are the flags that name what a backup is encrypted to and opened with.
type secrets struct {
	passphraseFile, recipient, identityFile string
}

// readPassphrase is that of a file, else that of the settings.
func (s secrets) readPassphrase(c *config.Config) (string, error) {
	if s.passphraseFile == "" {
		return c.BackupPassphrase, nil
	}
	text, err := os.ReadFile(s.passphraseFile)
	if err != nil {
		return "", fmt.Errorf("the passphrase: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func (s secrets) backupOpener(c *config.Config) (backup.Opener, error) {
	p, err := s.readPassphrase(c)
	return backup.Opener{Passphrase: p, IdentityFile: s.identityFile}, err
}

func backupCommand(o *options) *cobra.Command {
	var s secrets
	var b app.BackingUp
	c := &cobra.Command{
		Use:   "backup FILE|DIRECTORY|URL",
		Short: "Write database, files, keys and settings to one encrypted file, beside a running server",
		Args:  cobra.ExactArgs(1),
		Long: "Write database, files, keys and settings to one encrypted file, beside a running server.\n\n" +
			"The file is encrypted to a passphrase, of HOLDFAST_BACKUP_PASSPHRASE or --passphrase-file, or to an age public key (--recipient).\n" +
			"In a directory, which exists or ends in /, and in a bucket the file gets a name with the time.\n" +
			"PostgreSQL is read with its own pg_dump, which must be installed.",
		Example: "  holdfast backup /srv/backups/ --passphrase-file passphrase\n" +
			"  holdfast backup 's3://KEY:SECRET@s3.example.com/bucket/holdfast?region=eu-central-1' --recipient age1...\n" +
			"  holdfast backup /srv/backups/ --base /srv/backups/holdfast-20260102T030405Z-1a2b3c4d.backup",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := o.loadConfig()
			if err != nil {
				return err
			}
			if err := s.fillSecrets(cfg, &b); err != nil {
				return err
			}
			if password.Spare() { // or it would not end
				password.GiveWay() // to the server that runs beside
			}
			b.To, b.Progress = args[0], showProgress(cmd.ErrOrStderr(), "backup")
			made, err := app.Backup(cmd.Context(), cfg, b)
			if err != nil {
				return err
			}
			reportBackup(cmd.OutOrStdout(), made)
			if err := app.NoteBackup(cmd.Context(), cfg, made); err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "the backup is good, but the database does not know of it: %v\n", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&s.passphraseFile, "passphrase-file", "", "file with the passphrase")
	c.Flags().StringVar(&s.recipient, "recipient", "", "age public key (age1...) to encrypt to, instead of a passphrase")
	c.Flags().StringVar(&b.Base, "base", "",
		"earlier backup in the same place; its files are not stored again, and it must be kept")
	c.Flags().StringVar(&s.identityFile, "identity-file", "", "file with the age identity that opens the base")
	return c
}

func (s secrets) fillSecrets(c *config.Config, b *app.BackingUp) (err error) {
	if b.Opener, err = s.backupOpener(c); err != nil {
		return err
	}
	b.Secret = backup.Secret{Passphrase: b.Opener.Passphrase, Recipient: s.recipient}
	if b.Secret.Recipient == "" && s.passphraseFile == "" {
		b.Secret.Recipient = c.BackupRecipient
	}
	return nil
}

func reportBackup(w io.Writer, b app.BackedUp) {
	rows := int64(0)
	for _, n := range b.Counts {
		rows += n
	}
	fmt.Fprintf(w, "%s/%s\n", strings.TrimSuffix(b.Where, "/"), b.Name)
	fmt.Fprintf(w, "%s %s, schema %d: %d rows of %d tables, %d files, %s in %s\n",
		b.Engine, b.Version, b.Schema, rows, len(b.Counts), countFiles(b.Manifest), formatMegabytes(b.Size),
		b.Took.Round(time.Millisecond))
	if len(b.Missing) > 0 {
		fmt.Fprintf(w, "%d files were deleted while the backup was made and are not in it\n", len(b.Missing))
	}
}

func countFiles(m backup.Manifest) (n int) {
	for _, p := range m.Parts {
		if strings.HasPrefix(p.Name, backup.Files) {
			n++
		}
	}
	return n
}

func formatMegabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func restoreCommand(o *options) *cobra.Command {
	var s secrets
	var until string
	r := app.Restoring{}
	c := &cobra.Command{
		Use:   "restore FILE|URL",
		Short: "Put a backup into a new data directory, compare it with what was saved, and swap it in",
		Args:  cobra.ExactArgs(1),
		Long: "Put a backup into a new data directory, compare it with what was saved, and swap it in.\n\n" +
			"All is unpacked and compared beside the data directory: hashes, rows, totals, stock and the audit log.\n" +
			"Only what is whole takes its place.\n" +
			"Afterwards everybody signs in again, webhooks are paused, and nothing is sent until `holdfast resume`.\n" +
			"With --database the rows go into an empty PostgreSQL database, by pg_restore.",
		Example: "  holdfast restore holdfast-20260102T030405Z-1a2b3c4d.backup --data /var/lib/holdfast\n" +
			"  holdfast restore /srv/backups/latest.backup --dry-run   # a drill: says whether it would do",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := o.loadConfig()
			if err != nil {
				return err
			}
			if r.Opener, err = s.backupOpener(cfg); err != nil {
				return err
			}
			if until != "" {
				at, err := time.Parse(time.RFC3339, until)
				if err != nil {
					return fmt.Errorf("--until %q is no time such as 2026-01-02T15:04:05Z", until)
				}
				r.Until = &at
			}
			r.From, r.Progress = args[0], showProgress(cmd.ErrOrStderr(), "restore")
			done, err := app.Restore(cmd.Context(), cfg, r)
			if err != nil {
				return err
			}
			reportRestore(cmd.OutOrStdout(), cfg, r, done)
			return nil
		},
	}
	c.Flags().StringVar(&s.passphraseFile, "passphrase-file", "", "file with the passphrase")
	c.Flags().StringVar(&s.identityFile, "identity-file", "", "file with the age identity that opens the backup")
	c.Flags().StringVar(&until, "until", "",
		"time (RFC 3339) to stop at in the log that was shipped behind the backup (backup_log); its end when absent")
	c.Flags().BoolVar(&r.Verify, "verify", true,
		"recompute totals, stock and the audit log too; hashes and rows are always compared")
	c.Flags().BoolVar(&r.Replace, "replace", false, "put the data directory that is there aside, as DIR.before-<time>")
	c.Flags().BoolVar(&r.DryRun, "dry-run", false, "restore and compare in a scratch place that goes afterwards")
	return c
}

func reportRestore(w io.Writer, c *config.Config, r app.Restoring, d app.Restored) {
	fmt.Fprintf(
		w,
		"%d rows of %d tables and %d files agree with the backup of %s\n",
		d.Rows,
		len(d.Counts),
		countFiles(d.Manifest),
		d.Made.UTC().Format(time.RFC3339),
	)
	if d.Segments > 0 {
		fmt.Fprintf(w, "%d segments of the log behind it lead to %s: %d rows\n", d.Segments,
			d.Reached.UTC().Format(time.RFC3339Nano), d.Rows)
	}
	if r.Verify {
		fmt.Fprintln(w, "totals, stock and the audit log agree with the records")
	}
	if r.DryRun {
		fmt.Fprintf(w, "nothing was kept (--dry-run); it took %s\n", d.Took.Round(time.Millisecond))
		return
	}
	fmt.Fprintf(w, "%d sessions ended, %d webhooks paused\n", d.Sessions, d.Webhooks)
	fmt.Fprintf(w, "restored into %s in %s; the settings of then are in restored.conf there\n", d.Dir,
		d.Took.Round(time.Millisecond))
	fmt.Fprintf(w, "numbers go on at least %d higher, so that none is given twice\n", installation.NumbersStep)
	if d.Aside != "" {
		fmt.Fprintf(w, "what was there before is in %s\n", d.Aside)
	}
	if c.BlobURL != "" {
		fmt.Fprintf(w, "%d uploaded files were brought to where blob_url says; the rest was there\n", d.Handed)
	}
	fmt.Fprintln(w, "this is a copy: it sends nothing and makes no backup until `holdfast resume`")
}

// showProgress is a line of progress on a terminal, and nothing elsewhere.
func showProgress(w io.Writer, name string) func(done, total int64) {
	line := newProgress(w, isTerminal(os.Stderr), name, 0)
	return func(done, total int64) {
		if line.setProgress(done, total); done >= total {
			line.clearLine()
		}
	}
}
