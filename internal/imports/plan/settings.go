package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/imports/targets"
)

// Settings are a job's options as JSON. A blank cell leaves the field as it
// is, or to its default in a new record.
type Settings struct {
	Mode string `json:"mode,omitempty"` // insert, upsert (default), update
	// false: the first row is data and the mapping gives column numbers; true: the first row
	// that is not blank is the header; found by looking when absent
	Header *bool `json:"header,omitempty"`
	// the line that the header begins on, or its row of a sheet; found by looking when absent
	HeaderRow int `json:"header_row,omitempty"`
	// comma, semicolon, tab, pipe; found by looking when absent
	Delimiter string `json:"delimiter,omitempty"`
	// dmy, mdy or ymd, of columns that do not prove another, and of defaults
	DateOrder   string            `json:"date_order,omitempty"`
	DecimalMark string            `json:"decimal_mark,omitempty"` // "." or ",", likewise
	Timezone    string            `json:"timezone,omitempty"`     // of times without zone; the tenant's when absent
	Defaults    map[string]string `json:"defaults,omitempty"`     // field -> value for blank cells and absent columns
	Force       bool              `json:"force,omitempty"`        // apply although the same file was applied before
	// how the file's letters are written (utf-8, windows-1250 ...); found by looking when absent
	Encoding string `json:"encoding,omitempty"`
	// name or number from 1 of a workbook's sheet; the first visible one when absent
	Sheet string `json:"sheet,omitempty"`
	// rows of a sheet that are hidden, by a filter or by hand, are left out
	SkipHidden bool `json:"skip_hidden,omitempty"`
	// rows of sums are left out
	SkipTotals bool `json:"skip_totals,omitempty"`
	// field -> text of a cell -> what it means, the text of a member, a record or a number
	Values Values `json:"values,omitempty"`
	// what numbers of ten or thirteen digits in columns of dates count from 1970: seconds, milliseconds
	Epoch string `json:"epoch,omitempty"`
	// past or future: where years of two digits lie, of fields that do not say so themselves
	ShortYears string `json:"short_years,omitempty"`

	Guess  bool `json:"guess,omitempty"`   // recognise the columns anew, not as they were mapped for a file like it
	DryRun bool `json:"dry_run,omitempty"` // check only: the job is never applied
}

// ParseSettings reads a job's options; a fault names the option that is wrong.
func ParseSettings(raw json.RawMessage) (Settings, error) {
	var s Settings
	if len(raw) == 0 || string(raw) == "null" {
		s.Mode = targets.ModeUpsert
		return s, nil
	}
	if err := strictJSON(raw, &s); err != nil {
		why := "must be an object of the documented options"
		var typ *json.UnmarshalTypeError
		if errors.As(err, &typ) && typ.Field != "" {
			why = "the option " + typ.Field + " cannot be " + typ.Value
		} else if strings.Contains(err.Error(), "unknown field") {
			why = strings.TrimPrefix(err.Error(), "json: ")
		}
		return s, fault.Wrap(err, fault.Invalid, "options", "the options cannot be used: %s", why).At("options", "%s", why)
	}
	if s.Mode == "" {
		s.Mode = targets.ModeUpsert
	}
	return s, s.checkSettings()
}

// Orders are the given order of dates, if any.
func (s *Settings) Orders() []string {
	if s.DateOrder == "" {
		return nil
	}
	return []string{s.DateOrder}
}

// Mark is the given decimal mark, 0 for none.
func (s *Settings) Mark() byte {
	if s.DecimalMark == "" {
		return 0
	}
	return s.DecimalMark[0]
}

func (s *Settings) checkSettings() error {
	bad := func(field, format string, args ...any) error {
		f := fault.New(fault.Invalid, "options", "the "+targets.Spoken(field)+" "+format, args...)
		return f.At("options."+field, format, args...)
	}
	switch {
	case s.Mode != targets.ModeInsert && s.Mode != targets.ModeUpsert && s.Mode != targets.ModeUpdate:
		return bad("mode", "must be insert, upsert or update")
	case s.DateOrder != "" && !slices.Contains([]string{cell.DMY, cell.MDY, cell.YMD}, s.DateOrder):
		return bad("date_order", "must be dmy, mdy or ymd")
	case s.HeaderRow < 0 || s.HeaderRow > 0 && s.Header != nil && !*s.Header:
		return bad("header_row", "must be a line from 1, of a file that has a header")
	case s.Epoch != "" && s.Epoch != cell.Seconds && s.Epoch != cell.Milliseconds:
		return bad("epoch", "must be seconds or milliseconds")
	case s.ShortYears != "" && s.ShortYears != YearsPast && s.ShortYears != YearsFuture:
		return bad("short_years", "must be past or future")
	case s.DecimalMark != "" && s.DecimalMark != "." && s.DecimalMark != ",":
		return bad("decimal_mark", `must be "." or ","`)
	}
	if _, err := sheet.ParseDelimiter(s.Delimiter); err != nil {
		return bad("delimiter", "must be comma, semicolon, tab or pipe")
	}
	if _, err := sheet.ParseEncoding(s.Encoding); err != nil {
		return bad("encoding", "must be one of %s", strings.Join(sheet.Encodings(), ", "))
	}
	if s.Timezone != "" {
		if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "Local" {
			return bad("timezone", "is not an IANA time zone")
		}
	}
	return nil
}

// Unclear refuses defaults that are no number or date as the settings have them
// written, or have several readings where these do not say.
func (s Settings) Unclear(t *targets.Target) error {
	for _, name := range slices.Sorted(maps.Keys(s.Defaults)) {
		c := t.Column(name)
		if c == nil {
			continue
		}
		var err error
		switch text := s.Defaults[name]; {
		case strings.TrimSpace(text) == "": // no default
		case Number(c.Field):
			_, err = cell.Number(text, s.Mark())
		case c.Field.Type == catalog.Date || c.Field.Type == catalog.Time:
			_, err = cell.Date(text, s.Orders()...)
		}
		if err != nil {
			f := fault.Wrap(err, fault.Invalid, "options", "the default %q of %s %s", fault.Clip(s.Defaults[name], 80),
				c.Called(), err)
			return f.At("options.defaults."+name, "%s", err)
		}
	}
	return nil
}

func strictJSON(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one JSON value")
	}
	return nil
}
