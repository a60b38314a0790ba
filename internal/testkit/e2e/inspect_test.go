package main

import "testing"

func TestClean(t *testing.T) {
	const start = "ready\n  password  holdfast-demo\n  Stop: Ctrl-C\n\n"
	secrets := []string{"", "holdfast-demo", "token-of-ann", "token-of-ann"}
	for log, good := range map[string]bool{
		start + `{"msg":"request"}` + "\n" + `{"msg":"bye"}` + "\n":                                   true,
		start + `{"msg":"request","header":"token-of-ann"}` + "\n":                                    false,
		start + `{"msg":"holdfast-demo"}` + "\n":                                                      false,
		start + `{"msg":"request"}` + "\n" + "Set-Cookie: a=b\n":                                      false,
		start + `{"msg":"background work failed","error":"chain: seal: audit_tampered: gone"}` + "\n": false,
		start: false,
		`{"msg":"statement"}` + "\n" + start + `{"msg":"request"}` + "\n":    true,
		`{"msg":"token-of-ann"}` + "\n" + start + `{"msg":"request"}` + "\n": false,
	} {
		if err := checkCleanLog([]byte(log), secrets); (err == nil) != good {
			t.Errorf("%q: %v", log, err)
		}
	}
}
