package app_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// The demonstration has one file to look at: checked, with three wrong rows that
// can be read, put right on the screen or taken home, and the rest applied.
func TestDemoFile(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		type job struct {
			ID, Status, Message string
			Valid               int `json:"valid_rows"`
			Invalid             int `json:"invalid_rows"`
			Imported            int `json:"imported_count"`
		}
		files := func() []job {
			return testkit.List[job](t, k, testkit.As(actor.Manager), "import-jobs?file_name=eq."+demo.FileName)
		}
		for range 2 { // and at the next start
			if err := demo.Upload(context.Background(), k.App.Store, k.App.Imports); err != nil {
				t.Fatal(err)
			}
		}
		got := files()
		if len(got) != 1 || got[0].Status != "ready" || got[0].Valid != 37 || got[0].Invalid != 3 {
			t.Fatalf("%+v", got)
		}
		at := "/v1/import-jobs/" + got[0].ID
		var wrong struct {
			Errors []struct {
				Line         int
				Column, Code string
			}
		}
		k.Get(testkit.As(actor.Manager), at+"/errors").JSON(t, &wrong)
		if s := fmt.Sprint(wrong.Errors); s != "[{8 Cost number} {20 Article required} {29 Cost invalid}]" {
			t.Errorf("errors: %s", s)
		}
		if r := k.Get(testkit.As(actor.Manager), at+"/corrected?status=invalid"); r.Status != http.StatusOK ||
			strings.Count(string(r.Body), "\n") != 4 {
			t.Errorf("the refused rows: %d %s", r.Status, r.Body)
		}
		cell := map[string]any{"cells": map[string]string{"Cost": "12.50"}}
		if r := k.Call(testkit.Request{Method: "PATCH", Path: at + "/rows/7", As: testkit.As(actor.Manager),
			Body: cell}); r.Status != http.StatusOK {
			t.Errorf("a correction: %d %s", r.Status, r.Body)
		}
		callFunction[any](t, k, testkit.As(actor.Manager), "POST", "apply-import-job?job_id="+got[0].ID)
		if got := files(); got[0].Status != "completed" || got[0].Imported != 38 {
			t.Errorf("applied: %+v", got)
		}
	})
}
