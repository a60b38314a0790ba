package peers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A run that is read from its file fills the page, every row of it: with figures,
// or with the reason why there are none. To publish it twice changes nothing.
func TestPublish(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	list := Row{Peer: "PocketBase", Engine: sqlite, Title: List}
	size := Row{Peer: "PocketBase", Engine: sqlite, Title: Size, Unit: megabytes}
	text := `{"at":"2026-11-25T21:00:00Z","processors":2,"load":[0.5,2],"rounds":3,"seconds":1.2,"versions":{"PocketBase":"v1.2"},
		"tenants":3,"records":26800,"orders":4000,"figures":[
		{"peer":"PocketBase","engine":"sqlite","title":"` + List + `","holdfast":[1000,900,1100],"other":[100,100,100],"by_hand":[2000,2000,2000]},
		{"peer":"PocketBase","engine":"sqlite","title":"` + Size + `","unit":"MB","holdfast":[51.5],"other":[32]},
		{"peer":"PocketBase","engine":"sqlite","title":"` + Read + `","why":"status 500: it broke"}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	page := []byte("Before.\n" + begin + "of yesterday\n" + end + "After.\n")
	once, err := Publish(page, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Before.\n", "After.\n",
		"2026-11-25, 2 processors, load 0.5 at the start and 2.0 at the end", "3 tenants of 26,800 records", "3 rounds of 1.2 s. PocketBase v1.2.\n",
		"| " + List + " | SQLite | PocketBase | **10.0** (9.00 - 11.0) | 0.50 | 0.050 |", "| " + Size + " | 51.5 MB | 32.0 MB of PocketBase |",
		"- **PocketBase**: status 500: it broke. Rows: " + Read + ".\n"} {
		if !strings.Contains(string(once), want) {
			t.Errorf("no %q in\n%s", want, once)
		}
	}
	if strings.Contains(string(once), "yesterday") {
		t.Error("the figures before these are still told")
	}
	for _, row := range Rows {
		if row != list && row != size && !strings.Contains(string(once), row.Title) {
			t.Errorf("%s of %s was dropped", row.Title, row.Peer)
		}
	}
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	if r, err = Load(path); err != nil || len(r.Figures) != len(Rows) {
		t.Fatalf("%d figures of %d rows: %v", len(r.Figures), len(Rows), err)
	}
	if twice, err := Publish(once, r); err != nil || string(twice) != string(once) {
		t.Errorf("published twice: %v\n%s", err, twice)
	}
	if _, err := Publish([]byte("no place"), r); err == nil {
		t.Error("published in a page without a place for it")
	}
}

// A round without an answer gives no ratio, and rounds are compared within themselves.
func TestRatio(t *testing.T) {
	if v, ok := Ratio([]float64{10, 40, 90}, []float64{10, 20, 30}); !ok || v != (Value{2, 1, 3}) {
		t.Errorf("%v %v", v, ok)
	}
	for _, pair := range [][2][]float64{{nil, nil}, {{1}, {0}}, {{1, 2}, {1}}} {
		if v, ok := Ratio(pair[0], pair[1]); ok {
			t.Errorf("%v of %v", v, pair)
		}
	}
}

// A reason names no registry's address and no folder, which are the reader's own affair.
func TestReason(t *testing.T) {
	for said, want := range map[string]string{
		"go: a\ngo: x@v1: reading https://registry.example/x/@v/v1.info: 403 Forbidden\n\tserver response: no\n": "go: a go: x@v1: reading " +
			"the registry: 403 Forbidden server response: no",
		os.TempDir() + "/a/b/peer ended at once\nGET /page/one: 500": "peer ended at once GET /page/one: 500",
		"one\ntwo\nthree\nfour": "two three four",
	} {
		if got := Reason(said); got != want {
			t.Errorf("%q of %q", got, said)
		}
	}
}

// Every row is of a peer, told once, and every peer has rows and one way to be had.
func TestRows(t *testing.T) {
	seen := map[Row]bool{}
	for _, row := range Rows {
		if !slices.ContainsFunc(All, func(p Peer) bool { return p.Name == row.Peer }) || seen[row] {
			t.Errorf("%+v: of nobody, or twice", row)
		}
		seen[row] = true
	}
	for _, p := range All {
		if len(p.Of()) == 0 || p.Version == "" || (p.Module == "") == (p.NPM == nil) {
			t.Errorf("%+v", p)
		}
	}
	if r := (&Run{At: time.Now()}); r.Find(Rows[0]).Why == "" {
		t.Error("a row that nobody measured does not say so")
	}
}
