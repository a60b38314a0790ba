package operating_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

// rests is all that the stopped server left in its database: the bytes of the
// embedded engine's files, or the text of every row of PostgreSQL.
func rests(s *program.Site) (all []byte) {
	s.Helper()
	if s.DSN == "" {
		files, err := filepath.Glob(filepath.Join(s.Data, db.FileName) + "*")
		if err != nil || len(files) == 0 {
			s.Fatal(files, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				s.Fatal(err)
			}
			all = append(all, text...)
		}
		return all
	}
	s.Open(func(ctx context.Context, d *db.DB) error {
		return d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			var tables []string
			err := tx.Query("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()", nil,
				func(r *db.Row) error {
					tables = append(tables, r.Text(0))
					return nil
				})
			for _, name := range tables {
				if err != nil {
					break
				}
				err = tx.Query("SELECT CAST(x AS text) FROM "+name+" x", nil, func(r *db.Row) error {
					all = append(append(all, r.Text(0)...), '\n')
					return nil
				})
			}
			return err
		})
	})
	return all
}

// keepsNone fails for secrets that rest in the database as they are, in either
// alphabet that an engine writes bytes in.
func keepsNone(s *program.Site, secrets map[string]string) {
	s.Helper()
	all := rests(s)
	if !bytes.Contains(all, []byte("owner@north.example")) {
		s.Error("an address that is there is not found")
	}
	for what, secret := range secrets {
		if len(secret) < 8 {
			s.Errorf("%s: %q is too short to look for", what, secret)
		}
		if bytes.Contains(all, []byte(secret)) || bytes.Contains(all, []byte(hex.EncodeToString([]byte(secret)))) {
			s.Errorf("%s rests in the database as it is", what)
		}
	}
}

// No secret that the server was given or gave out rests in its database in
// clear, in the raw bytes of its files least of all.
func TestSecretsRestSealed(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		k := &rekeying{Site: s, outside: newOutside(s.T), email: "owner@north.example", password: "holdfast-demo"}
		master, err := os.ReadFile(s.MasterKeyFile())
		if err != nil {
			s.Fatal(err)
		}
		v := s.Serve("--dev", "--webhook-allow-private", "--sso-allow-private")
		k.fill(v)
		signed, _ := v.SignIn(k.email, k.password)
		keys := s.Keys()
		v.Stop()
		access := bytes.Split([]byte(signed.AccessToken), []byte("."))
		keepsNone(k.Site, map[string]string{
			"the password":                   k.password,
			"the signature of a token":       string(access[len(access)-1]),
			"a refresh token":                signed.RefreshToken,
			"the secret key":                 keys["SECRET_KEY"],
			"the key of an authenticator":    string(k.secret),
			"the secret of a webhook":        string(k.key),
			"the secret at a single sign-on": "secret-of-the-client",
			"the master key":                 string(bytes.TrimSpace(master)),
		})
	})
}
