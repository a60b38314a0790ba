package backups

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

const restoreTool = "pg_restore"

// CountArchive has pg_restore read an archive of pg_dump to its end, as a script that
// no server runs, and counts the rows of each table in it.
func CountArchive(ctx context.Context, path string) (map[string]int64, error) {
	program, err := exec.LookPath(restoreTool)
	if err != nil {
		return nil, fmt.Errorf("backups: %s is not installed: it comes with PostgreSQL's client programs "+
			"(Debian: postgresql-client)", restoreTool)
	}
	cmd := exec.CommandContext(ctx, program, "--data-only", "--file=-", path)
	var said bytes.Buffer
	cmd.Stderr = &said
	script, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("backups: %s: %w", restoreTool, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("backups: %s: %w", restoreTool, err)
	}
	counts, err := countCopied(script)
	if err != nil {
		cmd.Cancel() // it waits for its reader
	}
	if ended := cmd.Wait(); ended != nil {
		text, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return nil, errors.Join(fmt.Errorf("backups: %s: %w: %s", restoreTool, ended, text), err)
	}
	return counts, err
}

// countCopied counts the lines between each COPY of a script and its end.
func countCopied(script io.Reader) (map[string]int64, error) {
	counts, table := map[string]int64{}, ""
	in := bufio.NewReaderSize(script, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		begin := string(line[:min(len(line), 200)])
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			return counts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("backups: read the archive: %w", err)
		}
		switch copied, isCopy := strings.CutPrefix(begin, "COPY public."); {
		case table == "" && isCopy:
			table, _, _ = strings.Cut(copied, " ")
			table = strings.Trim(table, `"`)
			counts[table] = 0
		case begin == "\\.\n":
			table = ""
		case table != "":
			counts[table]++
		}
	}
}
