package letter

import (
	"strings"
	"testing"
	"time"
)

func TestLetter_Message(t *testing.T) {
	for _, k := range []Kind{Confirmation, Known, Recovery, MagicLink, Invite, TenantInvite, EmailChangeCurrent, EmailChangeNew, Reauthentication, PasswordChanged, ProtectionChanged} {
		m, err := Letter{Kind: k, To: "a@x.example", Site: "https://site.example", Link: "https://site.example/v?a=1&b=2", Code: "123456", Valid: 10 * time.Minute,
			Tenant: "<b>North</b>", Role: "viewer", Other: "b@x.example"}.Message()
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject == "" || m.To != "a@x.example" || m.Kind != string(k) || strings.ContainsAny(m.Subject, "\r\n") {
			t.Errorf("%s: %+v", k, m)
		}
		if !strings.Contains(m.Text, "https://site.example/v?a=1&b=2") || !strings.Contains(m.Text, "123456") || !strings.Contains(m.Text, "10 minutes") {
			t.Errorf("%s: text\n%s", k, m.Text)
		}
		if !strings.Contains(m.HTML, `href="https://site.example/v?a=1&amp;b=2"`) || strings.Contains(m.HTML, "<b>North") {
			t.Errorf("%s: html\n%s", k, m.HTML)
		}
	}
}
