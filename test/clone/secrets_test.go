package clone_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// madeUp are tracked files that hold a secret of made-up data, or look as if, with
// the reason.
var madeUp = map[string]string{
	"test/operating/testdata/0.1.0-sqlite.gz":     "a database of the first release, with the key that sealed its made-up rows",
	"test/operating/testdata/0.1.0-postgresql.gz": "the same as text of PostgreSQL",

	"internal/imports/testdata/cases/shift-jis.csv": "words in Shift JIS that happen to have 32 bytes",
}

// privateNames are names of files that belong to an installation or to a person.
var privateNames = []struct {
	what string
	name *regexp.Regexp
}{
	{"the data directory of a run", regexp.MustCompile(`(^|/)holdfast-data(/|$)`)},
	{"a lock", regexp.MustCompile(`\.(lock|pid)$`)},
	{"a database", regexp.MustCompile(`\.(db|sqlite3?)([-.]|$)`)},
	{"a key", regexp.MustCompile(`\.(key|pem|p8|p12|pfx|jks|keystore|kdbx)$`)},
	{"a key", regexp.MustCompile(`(^|/)id_(rsa|dsa|ecdsa|ed25519)$`)},
	{"where a server runs", regexp.MustCompile(`(^|/)server\.json$`)},
	{"a backup", regexp.MustCompile(`\.(backup|age)$`)},
	{"an upload", regexp.MustCompile(`(^|/)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)},
}

// privateContents are what files have somewhere, whatever their name.
var privateContents = []struct {
	what    string
	content *regexp.Regexp
}{
	{"a private key", regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----`)},
	{"a private key", regexp.MustCompile(`\bAGE-SECRET-KEY-1[0-9A-Z]{58}`)},
	{"a private key", regexp.MustCompile(`"d"\s*:\s*"[A-Za-z0-9_-]{42,}"`)}, // of a JWK, RFC 7518 section 6.2.2
	{"a key of 32 bytes", regexp.MustCompile(`(?m)^([A-Za-z0-9+/]{43}=|[0-9A-Fa-f]{64})\r?$`)},
}

// privateBeginnings are what files begin with, whatever their name: a database of
// SQLite, and its write-ahead log in either order of bytes.
var privateBeginnings = []string{"SQLite format 3\x00", "\x37\x7f\x06\x82", "\x37\x7f\x06\x83"}

// rawKeySize is the size of a master key that is not written as text.
const rawKeySize = 32

// secretIn says what a file holds that must not be in the repository, or "".
func secretIn(name string, content []byte) string {
	for _, private := range privateNames {
		if private.name.MatchString(name) {
			return private.what
		}
	}
	if len(content) == rawKeySize && !isText(content) {
		return "a key of 32 bytes"
	}
	for _, beginning := range privateBeginnings {
		if bytes.HasPrefix(content, []byte(beginning)) {
			return "a database"
		}
	}
	for _, private := range privateContents {
		if private.content.Match(content) {
			return private.what
		}
	}
	if unpacked, ok := unpack(content); ok {
		return secretIn(path.Join(path.Dir(name), "unpacked"), unpacked)
	}
	return ""
}

func isText(content []byte) bool {
	control := func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }
	return utf8.Valid(content) && bytes.IndexFunc(content, control) < 0
}

// unpack returns what a gzip file holds.
func unpack(content []byte) ([]byte, bool) {
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, false
	}
	unpacked, err := io.ReadAll(z)
	return unpacked, err == nil
}

// Keys, databases, locks and uploads of a run are of the machine that they were
// made on: whoever clones the repository gets neither them nor their trouble.
func TestFenceTrackedFiles(t *testing.T) {
	found := map[string]bool{}
	for _, name := range trackedFiles(t) {
		content, err := os.ReadFile(filepath.Join(checkout, name))
		if os.IsNotExist(err) {
			continue // removed, but not yet from the index
		}
		if err != nil {
			t.Fatal(err)
		}
		what := secretIn(name, content)
		found[name] = what != ""
		if what != "" && madeUp[name] == "" {
			t.Errorf("git tracks %s, which is %s: git rm --cached it and name it in .gitignore", name, what)
		}
	}
	for name := range madeUp {
		if !found[name] {
			t.Errorf("%s holds no secret, or is gone: take it out of the list", name)
		}
	}
}

// The fence sees each kind by its name or by what it holds.
func TestFenceTrackedFiles_sees(t *testing.T) {
	const id = "01a20848-d3bd-79c0-a697-46e4eae7bca3"
	const begin = "-----BEGIN " // not whole, so that this file passes
	raw := "\x00\x9f" + "a key of thirty bytes, or so...."[:rawKeySize-2]
	for name, content := range map[string]string{
		"holdfast-data/files/x": "", "internal/app/holdfast-data/x": "", "files/" + id: "",
		"x.db": "", "x.db-wal": "", "x.sqlite3": "", "a/beside.lock": "", "data/server.json": "", "x.backup": "",
		"tls/cert.pem": "", "x.p12": "", "master.key": "", "a/id_ed25519": "",

		"pem.txt": "so:\n" + begin + "EC PRIVATE KEY-----\n",
		"pgp":     begin + "PGP PRIVATE KEY BLOCK-----",
		"jwk":     `{"kty":"EC","d": "` + strings.Repeat("x", 43) + `"}`,
		"age":     "AGE-SECRET-KEY" + "-1" + strings.Repeat("Q", 58),

		"base64":   strings.Repeat("x", 43) + "=\n",
		"a line":   "one\n" + strings.Repeat("x", 43) + "=\r\ntwo",
		"hex":      strings.Repeat("0f", 32),
		"raw":      raw,
		"database": "SQLite format 3\x00...",
		"log":      "\x37\x7f\x06\x82",
		"packed":   packed(t, "SQLite format 3\x00..."),
	} {
		if secretIn(name, []byte(content)) == "" {
			t.Errorf("%s is not seen", name)
		}
	}
	for name, content := range map[string]string{
		"internal/db/lock.go":       "package db\n",
		"console/package-lock.json": "{}",
		"docs/operating/keys.md":    "`master.key`",
		"photos/" + id + ".md":      "",
		"x.go":                      "// 32 bytes of source text......",
		"a.json":                    `{"d":"short"}`,
		"packed":                    packed(t, "words"),
	} {
		if what := secretIn(name, []byte(content)); what != "" {
			t.Errorf("%s is taken for %s", name, what)
		}
	}
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
