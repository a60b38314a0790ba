package typegen

import (
	"bytes"
	"go/format"
	"regexp"
	"strings"
	"testing"

	"holdfast/internal/catalog"
	"holdfast/internal/schema"
)

func source() Source {
	text := schema.Shape{Kind: schema.Text}
	line := schema.Shape{Kind: schema.Object, Members: []schema.Member{
		{Name: "from", Required: true, Shape: text},
		{Name: "seen_at", Shape: schema.Shape{Kind: schema.Text, Format: "date-time", Null: true}},
		{Name: "sku-ids", Shape: schema.Shape{Kind: schema.List, Of: &schema.Shape{Kind: schema.Text, Null: true}}},
	}}
	in := schema.Shape{Kind: schema.Object, Members: []schema.Member{
		{Name: "lines", Required: true, Shape: schema.Shape{Kind: schema.List, Of: &line}},
		{Name: "strategy", Shape: schema.Shape{Kind: schema.Text, OneOf: []string{"fefo", "fifo"}, Doc: "What goes\nfirst."}},
		{Name: "item", Required: true, Shape: schema.Shape{Kind: schema.Record, Rows: "items"}},
	}}
	return Source{Catalog: catalog.Default(), Verbs: []Call{{Name: "take_in", Doc: "Says \"in\".", In: &in, Out: &in}}}
}

// The source is as gofmt writes it.
func TestGo_formatted(t *testing.T) {
	text := Go(source(), "holdfast")
	want, err := format.Source(text)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want) {
		t.Error("gofmt would change it")
	}
}

func TestGo_members(t *testing.T) {
	text := squeeze(Go(source(), "stock"))
	for _, want := range []string{
		"package stock",
		"type TakeInArgs struct { Lines []TakeInArgsLines `json:\"lines\"` // What goes first. Strategy *string `json:\"strategy,omitzero\"` " +
			"Item ItemsRow `json:\"item\"` }",
		"type TakeInArgsLines struct { From string `json:\"from\"` SeenAt *time.Time `json:\"seen_at,omitzero\"` " +
			"SKUIDs []*string `json:\"sku-ids,omitzero\"` }",
		"type TakeInAnswerLines struct {",
		"Description Nullable[string] `json:\"description,omitzero\"`",
		"OrdersStatusInProgress OrdersStatus = \"in_progress\"",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, column := range []string{"blob_key", "token_hash", "old_secret\""} {
		if strings.Contains(text, column) {
			t.Errorf("%s is shown", column)
		}
	}
}

func TestPython_members(t *testing.T) {
	text := squeeze(Python(source()))
	for _, want := range []string{
		`class TakeInArgsLines(BaseModel): from_: str = Field(..., alias="from") seen_at: Optional[datetime] = None ` +
			`sku_ids: Optional[List[Optional[str]]] = Field(default=None, alias="sku-ids")`,
		`class TakeInArgs(BaseModel): """Says 'in'.""" lines: List[TakeInArgsLines] # What goes first. ` +
			`strategy: Optional[Literal["fefo", "fifo"]] = None item: ItemsRow`,
		`OrdersType = Literal[`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}

// A class stands behind those that it is made of, which Python asks for.
func TestClasses_order(t *testing.T) {
	text := string(Python(source()))
	line, args := strings.Index(text, "class TakeInArgsLines("), strings.Index(text, "class TakeInArgs(")
	if line < 0 || args < line {
		t.Errorf("lines at %d, arguments at %d", line, args)
	}
}

// One name is one class: another of that name gets a number.
func TestClasses_declare(t *testing.T) {
	c := &classes{at: map[string]int{}}
	k := class{name: "Next", doc: "What can be done."}
	if a, b := c.declareClass(k), c.declareClass(k); a != "Next" || b != "Next" || len(c.list) != 1 {
		t.Errorf("%s, %s, %d classes", a, b, len(c.list))
	}
	k.doc = "Something else."
	if a, b := c.declareClass(k), c.declareClass(k); a != "Next2" || b != "Next2" || len(c.list) != 2 {
		t.Errorf("%s, %s, %d classes", a, b, len(c.list))
	}
}

func squeeze(text []byte) string {
	return regexp.MustCompile(`\s+`).ReplaceAllString(string(text), " ")
}
