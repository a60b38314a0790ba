package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/xuri/excelize/v2"

	"holdfast/bench/limit"
	"holdfast/internal/imports/sheet"
	limiter "holdfast/internal/ratelimit"
)

// Parts of the product that are measured alone, each in a process of its own.

// spent is the CPU-seconds this process has used.
func spent() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// readBook reads a workbook's rows, by the product's reader or by the
// streaming reader of excelize, and says what CPU that took.
func readBook(args []string) error {
	open := func() (io.ReadCloser, error) { return os.Open(args[1]) }
	begin := spent()
	read := ourRows
	if args[0] == "excelize" {
		read = theirRows
	}
	n, err := read(open)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"cpu": spent() - begin, "rows": n})
}

func ourRows(open sheet.Source) (n int, err error) {
	f, err := sheet.Detect(open, sheet.Wish{Type: sheet.XLSX})
	if err != nil {
		return 0, err
	}
	rows, err := sheet.Open(open, f)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for ; ; n++ {
		if _, err := rows.Next(); err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

func theirRows(open sheet.Source) (n int, err error) {
	in, err := open()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	f, err := excelize.OpenReader(in)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	rows, err := f.Rows(f.GetSheetName(0))
	if err != nil {
		return 0, err
	}
	for ; rows.Next(); n++ {
		if _, err := rows.Columns(); err != nil {
			return n, err
		}
	}
	return n, rows.Error()
}

// takeLimits counts requests of many tenants against a plan that lets all
// through, and says what one costs.
func takeLimits([]string) error {
	const tenants, times = 1000, 2_000_000
	plan, err := limiter.Custom(map[limiter.Category]limiter.Rule{limiter.API: {Minute: 1_000_000, Burst: 1_000_000}})
	if err != nil {
		return err
	}
	keys := make([]string, tenants)
	for i := range keys {
		keys[i] = fmt.Sprint("tenant ", i)
	}
	l := limiter.New(limiter.Options{})
	begin := spent()
	for i := range times {
		l.Take(keys[i%tenants], limiter.API, plan, 1)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"cpu": spent() - begin, "rows": times})
}

// writeBook writes a workbook of items.
func writeBook(dir string, rows int) (string, error) {
	f := excelize.NewFile()
	defer f.Close()
	w, err := f.NewStreamWriter(f.GetSheetName(0))
	if err != nil {
		return "", err
	}
	cells := make([]any, len(limit.ItemHeader))
	for i := range rows + 1 {
		for j := range cells {
			if i == 0 {
				cells[j] = limit.ItemHeader[j]
			} else {
				cells[j] = itemCells(i - 1)[j]
			}
		}
		if err := w.SetRow(fmt.Sprintf("A%d", i+1), cells); err != nil {
			return "", err
		}
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "items.xlsx")
	return path, f.SaveAs(path)
}
