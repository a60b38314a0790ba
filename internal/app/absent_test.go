package app_test

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/websocket"

	"holdfast/internal/testkit"
)

// What Supabase has and this server has not answers 501 in words, with what is
// there instead.
func TestAbsentServices(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for path, instead := range map[string]string{"/realtime/v1": "/v1/events", "/realtime/v1/websocket": "/v1/events",
			"/realtime/v1/api/broadcast": "/v1/events", "/storage/v1/bucket": "/v1/photos",
			"/storage/v1/object/a/b.png": "/v1/photos", "/graphql/v1": "/v1/"} {
			for _, method := range []string{"GET", "POST", "DELETE"} {
				r := k.Call(testkit.Request{Method: method, Path: path})
				var body struct{ Code, Message string }
				r.JSON(t, &body)
				if r.Status != http.StatusNotImplemented || body.Code != "0A000" || !strings.Contains(body.Message, instead) {
					t.Errorf("%s %s: %d %s, want 501 with %s", method, path, r.Status, r.Body, instead)
				}
			}
		}
		for name, header := range map[string]map[string]string{
			"no key": {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"},
			"a short key": {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
				"Sec-WebSocket-Key": "YWJj"},
			"another version": {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "8",
				"Sec-WebSocket-Key": "YWJjZGVmZ2hpamtsbW5vcA=="},
		} {
			if r := k.Call(testkit.Request{Method: "GET", Path: "/realtime/v1/websocket",
				Header: header}); r.Status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", name, r.Status, r.Body)
			}
		}
	})
}

// A channel of Realtime is refused for good, in both versions of its protocol: with
// the reason, and with the channel's end, so that its client does not come back.
func TestRealtimeIsRefusedForGood(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		at := "ws" + strings.TrimPrefix(k.URL, "http") + "/realtime/v1/websocket?vsn="
		for version, said := range map[string][3]string{
			"2.0.0": {`["1","2","realtime:all","phx_join",{}]`,
				`["1","2","realtime:all","phx_reply",{"response":{"reason":"Realtime is not served here`,
				`["1","1","realtime:all","phx_close",`},
			"1.0.0": {`{"topic":"realtime:all","event":"phx_join","payload":{},"ref":"2","join_ref":"1"}`,
				`{"join_ref":"1","ref":"2","topic":"realtime:all","event":"phx_reply","payload":{"response":{"reason":"Realtime is not served here`,
				`{"join_ref":"1","ref":"1","topic":"realtime:all","event":"phx_close",`},
		} {
			conn, err := websocket.Dial(at+version, "phoenix", k.URL)
			if err != nil {
				t.Fatal(err)
			}
			receive := func(want string) {
				t.Helper()
				var got string
				if err := websocket.Message.Receive(conn, &got); err != nil || !strings.HasPrefix(got, want) {
					t.Errorf("%s: %v %s, want %s", version, err, got, want)
				}
			}
			for _, message := range []string{"nonsense", "[]", "{}", said[0]} { // only the last is a message
				if err := websocket.Message.Send(conn, message); err != nil {
					t.Fatal(err)
				}
			}
			receive(said[1])
			receive(said[2])
			conn.Close()
		}
	})
}
