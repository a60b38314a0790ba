package imports_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// noSubstitute fails where a record holds the sign that stands for a lost letter.
func (k *kit) noSubstitute(names ...string) {
	k.Helper()
	if all := k.dump(names...); strings.ContainsRune(all, '\uFFFD') || strings.Contains(all, `\ufffd`) {
		k.Errorf("holds U+FFFD: %s", all)
	}
}

// A byte that the file's encoding does not define is an error of its row, and so
// is the sign that another program left in place of a letter; it is corrected like
// any other. Columns that no field takes may hold it.
func TestUndefinedBytes(t *testing.T) {
	each(t, func(k *kit) {
		body := []byte("code;name;remark\nZ1;Caf\xe9;a\nZ2;Gen\x8fve;a\nZ3;Zur\xfcck;b\nZ4;\x81\x8d\x90\x9d;c\n")
		_, p, a := k.imported("zones", "", "", "zones.csv", body)
		if diff := cmp.Diff([]string{"3 name encoding", "5 name encoding"}, where(p.Errors)); diff != "" || a.ImportedCount != 2 {
			k.Errorf("%s %+v", diff, p)
		}
		_, p, _ = k.imported("zones", "", "", "lost.csv", []byte("code,name,unknown\nY1,Gen\uFFFDve,a\nY2,Bern,\uFFFD\n"))
		if diff := cmp.Diff([]string{"2 name encoding"}, where(p.Errors)); diff != "" {
			k.Errorf("%s %+v", diff, p)
		}
		k.find("zones", "code", "Y2")
		k.noSubstitute("zones")
	})
}
