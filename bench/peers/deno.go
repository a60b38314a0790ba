package peers

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	_ "embed" // the function
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed function.mjs
var function []byte

// Served is what the function works on.
type Served struct {
	Database   string // URL of PostgreSQL
	Role       string // that its statements run as
	Tenant     string
	Statements []string // of a snapshot made anew; the first are the counters
	Answer     string   // file of the cached snapshot
	Dir        string   // for its configuration
}

// The function's addresses.
const (
	DenoUp     = "/up"
	DenoObject = "/object"
	DenoText   = "/text"
	DenoAnew   = "/anew"
	DenoCount  = "/counted"
)

// counted is a statement that counts what the counters keep.
func counted() string {
	var parts []string
	for _, table := range []string{"zones", "items", "pick_lists", "shipments", "drivers", "incidents", "import_jobs"} {
		parts = append(parts, "SELECT '"+table+":' || status AS name, COUNT(*) AS sum FROM "+table+
			" WHERE tenant_id = $1 GROUP BY status")
	}
	return strings.Join(parts, " UNION ALL ")
}

// ServeDeno is the command that serves the function, and a token that it admits.
func ServeDeno(program string, s Served, address string) (cmd *exec.Cmd, token string, err error) {
	// It finds its package beside where it lies.
	home := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(program))))
	at := filepath.Join(home, "function.mjs")
	if err := os.WriteFile(at, function, 0o600); err != nil {
		return nil, "", err
	}
	db, err := pgx.ParseConfig(s.Database)
	if err != nil {
		return nil, "", err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", err
	}
	listen, err := strconv.Atoi(port)
	if err != nil {
		return nil, "", err
	}
	secret := rand.Text() + rand.Text()
	given, err := json.Marshal(map[string]any{"secret": secret, "listen": listen, "host": db.Host, "port": db.Port,
		"database": db.Database,
		"user":     db.User, "role": s.Role, "tenant": s.Tenant, "statements": s.Statements, "counted": counted(),
		"answer": s.Answer})
	if err != nil {
		return nil, "", err
	}
	config := filepath.Join(s.Dir, "function.json")
	if err := os.WriteFile(config, given, 0o600); err != nil {
		return nil, "", err
	}
	// Access to files is what opening PostgreSQL's socket asks for too.
	reach := fmt.Sprintf("--allow-net=127.0.0.1,unix:%s/.s.PGSQL.%d", db.Host, db.Port)
	cmd = exec.Command(program, "run", "--quiet", "--no-prompt", "--cached-only", reach, "--allow-read", "--allow-write",
		"--allow-env", "--allow-sys", at, config)
	cmd.Env = append(os.Environ(), "DENO_NO_UPDATE_CHECK=1", "DENO_DIR="+filepath.Join(s.Dir, "deno"), "NO_COLOR=1")
	return cmd, hs256(secret, map[string]any{"role": "authenticated", "tenant_id": s.Tenant}, time.Now().Add(time.Hour)),
		nil
}

// hs256 is a token with claims (RFC 7519).
func hs256(secret string, claims map[string]any, until time.Time) string {
	claims["exp"] = until.Unix()
	body, err := json.Marshal(claims)
	if err != nil {
		return ""
	}
	b64 := base64.RawURLEncoding
	text := b64.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + b64.EncodeToString(body)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return text + "." + b64.EncodeToString(mac.Sum(nil))
}
