package imports_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/store"
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
		_, p, a := k.imported("zones", `{"encoding":"windows-1252"}`, "", "zones.csv", body)
		if diff := cmp.Diff([]string{"3 name encoding", "5 name encoding"}, where(p.Errors)); diff != "" ||
			a.ImportedCount != 2 {
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

// Letters that make words in several encodings, or in none, are a question that shows
// the words in each, and the option answers it.
func TestQuestionForEncoding(t *testing.T) {
	each(t, func(k *kit) {
		for _, c := range []struct{ body, answer, want string }{
			{"code;name\nQ1;\xc2\xe8\xeb\xfb\n", "windows-1251", "Вилы"},
			{"code;name\nQ2;\xee\xe7\xf1\xef\n", "CP1252", "îçñï"},
		} {
			job := k.upload("zones", "", "", "zones.csv", []byte(c.body))
			_, err := k.m.Process(context.Background(), k.as, job.ID)
			f := fault.As(err)
			if f.Code != "import_question" || len(f.Fields) != 1 || f.Fields[0].Name != "options.encoding" ||
				!strings.Contains(f.Msg, c.want) {
				k.Errorf("%q is not asked about: %+v", c.want, f)
			}
			k.set("import_jobs", job.ID, store.Row{"options": json.RawMessage(`{"encoding":"` + c.answer + `"}`)})
			k.process(job)
			k.apply(job)
			k.find("zones", "name", c.want)
		}
		wish := imports.Request{Target: "zones", Options: []byte(`{"encoding":"ebcdic"}`)}
		_, err := k.m.Upload(context.Background(), k.as, wish, "zones.csv", strings.NewReader("code\nA\n"))
		if f := fault.As(err); f.Kind != fault.Invalid || f.Fields[0].Name != "options.encoding" {
			k.Errorf("an unknown encoding: %+v", f)
		}
	})
}

// Bytes that no character of the file's encoding has are an error of their row, in
// encodings of two bytes a character too.
func TestUndefinedPairs(t *testing.T) {
	each(t, func(k *kit) {
		body := []byte("code,name\nZ1,\x91\x71\x8c\xc9\x91\xe5\x8d\xe3\nZ2,\x91\x71\xfd\xfe\x8c\xc9\nZ3,\x93\xfc\x89\xd7\x8f\xea\n")
		_, p, a := k.imported("zones", `{"encoding":"shift_jis"}`, "", "zones.csv", body)
		if diff := cmp.Diff([]string{"3 name encoding"}, where(p.Errors)); diff != "" || a.ImportedCount != 2 {
			k.Errorf("%s %+v", diff, p)
		}
		k.noSubstitute("zones")
	})
}
