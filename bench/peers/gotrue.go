package peers

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

// GoTrue's addresses.
const (
	GoTrueUp      = "/health"
	GoTrueSign    = "/token?grant_type=password"
	GoTrueUser    = "/user"
	GoTrueRefresh = "/token?grant_type=refresh_token"
)

// GoTrueSignBody signs the member in.
const GoTrueSignBody = `{"email":"` + member + `","password":"` + password + `"}`

// GoTrueSQL is what GoTrue wants to find in its database before its migrations.
func GoTrueSQL(database string) []string {
	return []string{"do $$ begin create role postgres superuser; exception when duplicate_object then null; end $$",
		"create role anon", "create role authenticated", "create role service_role",
		"create role supabase_auth_admin superuser login",
		"create schema auth authorization supabase_auth_admin", "alter database " + database + " set search_path = auth"}
}

// ServeGoTrue is the command that migrates a database and serves it.
func ServeGoTrue(ctx context.Context, program, database, address string) (*exec.Cmd, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	migrations, err := GoTrue.moduleDir(ctx, filepath.Dir(program))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program)
	cmd.Dir = filepath.Dir(program)
	cmd.Env = append(os.Environ(), "GOTRUE_DB_DRIVER=postgres", "DB_NAMESPACE=auth", "DATABASE_URL="+database,
		"GOTRUE_DB_MAX_POOL_SIZE=10",
		"GOTRUE_DB_MIGRATIONS_PATH="+filepath.Join(migrations, "migrations"), "GOTRUE_API_HOST="+host, "PORT="+port,
		"API_EXTERNAL_URL=http://"+address, "GOTRUE_SITE_URL=http://"+address, "GOTRUE_JWT_SECRET="+rand.Text()+rand.Text(),
		"GOTRUE_JWT_EXP=3600",
		"GOTRUE_JWT_AUD=authenticated", "GOTRUE_JWT_DEFAULT_GROUP_NAME=authenticated", "GOTRUE_JWT_ADMIN_ROLES=service_role",
		"GOTRUE_MAILER_AUTOCONFIRM=true", "GOTRUE_LOG_LEVEL=error",
		// Its limits are off like ours: they count by this header, which is never sent.
		"GOTRUE_RATE_LIMIT_HEADER=X-Nobody")
	return cmd, nil
}

// moduleDir is where Go keeps the source of the peer's module.
func (p Peer) moduleDir(ctx context.Context, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", p.Module+"@"+p.Version)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("source of %s: %w", p.Name, err)
	}
	var m struct{ Dir string }
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&m); err != nil || m.Dir == "" {
		return "", fmt.Errorf("source of %s: %.300q", p.Name, out)
	}
	return m.Dir, nil
}

// GoTrueMember makes the member and returns an access token.
func GoTrueMember(ctx context.Context, address string) (access string, err error) {
	c := client{address: address}
	if err := c.call(ctx, "POST", "/signup", json.RawMessage(GoTrueSignBody), nil); err != nil {
		return "", err
	}
	access, _, err = GoTrueSessions(ctx, address, 1)
	return access, err
}

// GoTrueSessions signs the member in n times.
func GoTrueSessions(ctx context.Context, address string, n int) (access string, refresh []string, err error) {
	c := client{address: address}
	for range n {
		var in struct {
			Access  string `json:"access_token"`
			Refresh string `json:"refresh_token"`
		}
		if err := c.call(ctx, "POST", GoTrueSign, json.RawMessage(GoTrueSignBody), &in); err != nil {
			return "", nil, err
		}
		access, refresh = in.Access, append(refresh, in.Refresh)
	}
	return access, refresh, nil
}
