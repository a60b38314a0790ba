package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/warehouse"
	"holdfast/internal/warehouse/label"
	"holdfast/internal/warehouse/papers"
)

// Labels serves labels and papers of the warehouse, to print.
type Labels struct{ printer *papers.Printer }

// NewLabels returns the face of a printer.
func NewLabels(p *papers.Printer) *Labels { return &Labels{p} }

// Routes lists what is served.
func (l *Labels) Routes() []route.Route {
	return []route.Route{
		{Method: "GET", Pattern: warehouse.LabelsPath + "{records}", Who: route.TenantMember, Handle: l.serveLabels,
			Tag: "labels", Media: "application/pdf",
			Query: map[string]string{"ids": "string", "format": "string", "dpi": "integer"},
			Doc: "Labels of packages, zones, items or lots (" + strconv.Itoa(papers.MostLabels) +
				" ids at most), as PDF or in ZPL II"},
		{Method: "GET", Pattern: "/v1/shipments/{id}/delivery-note.pdf", Who: route.TenantMember,
			Handle: l.servePaper(l.printer.DeliveryNote), Tag: "labels",
			Media: "application/pdf", Doc: "The delivery note of an outbound shipment"},
		{Method: "GET", Pattern: "/v1/pick-lists/{id}/pick-list.pdf", Who: route.TenantMember,
			Handle: l.servePaper(l.printer.PickList), Tag: "labels",
			Media: "application/pdf", Doc: "A pick list on paper, in walking order"},
	}
}

// servePaper answers with the paper of a record.
func (l *Labels) servePaper(of func(context.Context, actor.Actor, string) (*label.Paper, error)) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		id, err := uuid.Parse(c.PathValue("id"))
		if err != nil || len(c.PathValue("id")) != 36 {
			return noRecord()
		}
		d, err := of(c.Context(), c.Actor, id.String())
		if err != nil {
			return err
		}
		body, err := d.PDF(l.printer.Now())
		if err != nil {
			return err
		}
		return (&file{d.FileName(), "application/pdf", body}).sendFile(w)
	}
}

// serveLabels answers with a file of labels, in the order of the ids.
func (l *Labels) serveLabels(w http.ResponseWriter, c *route.Call) error {
	of := c.PathValue("records")
	if !slices.Contains(papers.Labelled, of) {
		return fault.New(fault.NotFound, "PGRST205", "%s have no labels: %s have", fault.Clip(of, 60),
			strings.Join(papers.Labelled, ", "))
	}
	in, err := readPrint(c.Query)
	if err != nil {
		return err
	}
	list, err := l.printer.Labels(c.Context(), c.Actor, of, in.ids)
	if err != nil {
		return err
	}
	if in.format == "zpl" {
		body, err := label.ZPL(in.dpi, list...)
		if err != nil {
			return err
		}
		return (&file{"labels-" + of + ".zpl", "text/plain; charset=utf-8", body}).sendFile(w)
	}
	body, err := label.PDF("Labels", l.printer.Now(), list...)
	if err != nil {
		return err
	}
	return (&file{"labels-" + of + ".pdf", "application/pdf", body}).sendFile(w)
}

// printRequest is what a request asks to print.
type printRequest struct {
	ids    []string
	format string
	dpi    int
}

func readPrint(q map[string][]string) (in printRequest, err error) {
	in = printRequest{format: "pdf", dpi: 203}
	for name, given := range q {
		if len(given) != 1 {
			return in, fault.New(fault.Invalid, "22023", "%s may be given once", fault.Clip(name, 60)).At(fault.Clip(name, 60),
				"repeated")
		}
		v := given[0]
		switch name {
		case "ids":
			in.ids, err = readIDs(v)
		case "format":
			if in.format = v; v != "pdf" && v != "zpl" {
				err = fault.New(fault.Invalid, "22023", "format must be pdf or zpl").At("format", "not pdf or zpl")
			}
		case "dpi":
			in.dpi, _ = strconv.Atoi(v)
			if label.Resolutions[in.dpi] == 0 {
				err = fault.New(fault.Invalid, "22023", "dpi must be 203 or 300").At("dpi", "not 203 or 300")
			}
		}
		if err != nil {
			return in, err
		}
	}
	if len(in.ids) == 0 {
		return in, fault.New(fault.Invalid, "22023", "ids must name what to print").At("ids", "missing")
	}
	return in, nil
}

func readIDs(v string) ([]string, error) {
	ids := strings.Split(v, ",")
	if len(ids) > papers.MostLabels {
		return nil, fault.New(fault.Invalid, "22023", "%d ids are more than the %d of one file", len(ids),
			papers.MostLabels).At("ids", "too many")
	}
	for i, s := range ids {
		id, err := uuid.Parse(s)
		if err != nil || len(s) != 36 {
			return nil, fault.New(fault.Invalid, "22P02", "ids: %q is not a UUID",
				fault.Clip(s, 60)).At(fmt.Sprintf("ids[%d]", i), "not a UUID")
		}
		ids[i] = id.String()
	}
	return ids, nil
}
