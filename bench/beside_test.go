package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"holdfast/bench/data"
	"holdfast/bench/peers"
)

// TestPeersPublished holds the page and the picture to the figures of the last run.
func TestPeersPublished(t *testing.T) {
	t.Chdir("..")
	run, err := peers.Load(peersFigures)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(peersPage)
	if err != nil {
		t.Fatal(err)
	}
	again, err := peers.Publish(page, run)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, again) {
		t.Errorf("%s is not of its figures: go run ./bench peers -draw", peersPage)
	}
	got, err := os.ReadFile(peersPicture)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, drawPeers(run)) {
		t.Errorf("%s is not of its figures: go run ./bench peers -draw", peersPicture)
	}
	for _, row := range peers.Rows {
		if f := run.Find(row); f.Why == "" && len(f.Other) != run.Rounds && row.Title != peers.Size {
			t.Errorf("%s of %s: %d rounds of %d", row.Title, row.Peer, len(f.Other), run.Rounds)
		}
	}
}

// Each row that is work has its requests, and each set of requests its row.
func TestPeersRows(t *testing.T) {
	for name, list := range map[string][]work{
		peers.PocketBase.Name: pocketWorks("token", "member", data.Number(1), 300, seeds{}),
		peers.Deno.Name:       denoWorks("token", "theirs", 50),
	} {
		var rows, works []string
		for _, r := range peers.Rows {
			if r.Peer == name && r.Unit == "" {
				rows = append(rows, r.Title)
			}
		}
		for _, w := range list {
			works = append(works, w.title)
			if w.conns == 0 || w.ours.Status == 0 || w.theirs.Status == 0 {
				t.Errorf("%s, %s: no connections or no status", name, w.title)
			}
		}
		if !slices.Equal(rows, works) {
			t.Errorf("%s: rows %q, requests for %q", name, rows, works)
		}
	}
}

// The README says what each peer does in the comparison.
func TestPeersTold(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "\n## Beside other servers\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !ok {
		t.Fatal("no section Beside other servers")
	}
	for _, row := range peers.Rows {
		found := false
		for line := range strings.Lines(section) {
			found = found || strings.HasPrefix(line, "| "+row.Peer+" | ") && strings.Contains(line, row.Title)
		}
		if !found {
			t.Errorf("no line of %s names %q", row.Peer, row.Title)
		}
	}
}
