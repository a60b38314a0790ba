package codes

import (
	"context"
	"encoding/json"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/mail"
	"holdfast/internal/store"
)

// wordMail renders a letter in the language of its reader, as the tenant that
// sends it worded it, or in our own words. A template that can no longer be
// used is named in the log: the letter goes out all the same.
func (s *Post) wordMail(ctx context.Context, l mailtemplate.Letter) (mail.Message, error) {
	l.Site = s.Config.SiteURL
	var own *mailtemplate.Template
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) (err error) {
		own, err = s.readTemplate(tx, &l)
		return err
	})
	if err != nil {
		return mail.Message{}, err
	}
	if own != nil {
		m, err := own.Message(l)
		if err == nil {
			return m, nil
		}
		s.Config.Log.Error("a tenant's mail template cannot be used", "tenant", l.TenantID, "kind", l.Kind, "error", err)
	}
	return l.Message()
}

// readTemplate completes a letter's tenant and language and returns the tenant's
// template, or nil. The tenant is the one that sends it, else the one the
// account works in: never the one somebody merely wishes for.
func (s *Post) readTemplate(tx *db.Tx, l *mailtemplate.Letter) (*mailtemplate.Template, error) {
	if l.User != "" {
		u, err := accounts.UserByID(tx, l.User)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
		if err == nil {
			if err := s.styleOf(tx, u, l); err != nil {
				return nil, err
			}
		}
	}
	if l.TenantID == "" {
		return nil, nil
	}
	if l.Locale == "" {
		err := tx.Query(`
			SELECT value
			FROM settings
			WHERE tenant_id = $1
				AND section = 'general'
				AND lower(key) = $2`,
			[]any{l.TenantID, accounts.SettingLocale}, func(r *db.Row) error {
				l.Locale = localeIn(r.Text(0))
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	if l.Kind.Ours() {
		return nil, nil
	}
	var own *mailtemplate.Template
	locale := l.Locale
	if locale == "" {
		locale = mailtemplate.Locales()[0]
	}
	err := tx.Query(`
		SELECT subject, text, html
		FROM mail_templates
		WHERE tenant_id = $1
			AND kind = $2
			AND locale = $3`,
		[]any{l.TenantID, string(l.Kind), locale}, func(r *db.Row) error {
			own = &mailtemplate.Template{Subject: r.Text(0), Text: r.Text(1), HTML: r.Text(2)}
			return nil
		})
	return own, err
}

func localeIn(value string) string {
	var v string
	if json.Unmarshal([]byte(value), &v) != nil {
		return ""
	}
	return mailtemplate.LocaleOf(v)
}

func (s *Post) styleOf(tx *db.Tx, u *accounts.User, l *mailtemplate.Letter) error {
	if tag, ok := u.UserMetadata["locale"].(string); ok {
		l.Locale = mailtemplate.LocaleOf(tag)
	}
	if l.TenantID != "" {
		return nil
	}
	list, err := accounts.Memberships(tx, u.ID)
	for _, m := range list {
		if m.TenantID == u.LastTenant || len(list) == 1 {
			l.TenantID = m.TenantID
			if l.Tenant == "" {
				l.Tenant = m.Name
			}
		}
	}
	return err
}

// CheckMailTemplates refuses, before it is stored, a template that could not
// be sent or that leads elsewhere than to configured addresses.
func (s *Post) CheckMailTemplates(_ *store.Tx, changes []store.Change) error {
	for _, c := range changes {
		if c.Op == store.Delete {
			continue
		}
		t := mailtemplate.Template{Subject: c.After.Text("subject"), Text: c.After.Text("text"), HTML: c.After.Text("html")}
		if err := t.Check(mailtemplate.Kind(c.After.Text("kind")), s.Links.Linkable); err != nil {
			return err
		}
	}
	return nil
}

// PreviewMail renders a mail of the caller's tenant with sample values, for
// its administrators: the given words, or where they are empty those that
// would be sent now.
func (s *Post) PreviewMail(
	ctx context.Context, a actor.Actor, kind mailtemplate.Kind, locale string, t mailtemplate.Template,
) (mail.Message, error) {
	if !a.Administrator() || a.TenantID == "" {
		return mail.Message{}, fault.New(fault.Forbidden, "not_admin",
			"Only an administrator of the tenant may see its mails")
	}
	if locale != "" && mailtemplate.LocaleOf(locale) == "" {
		return mail.Message{}, fault.New(fault.Invalid, "validation_failed", "locale must be one of en, de").At("locale",
			"unknown")
	}
	l := mailtemplate.Sample(kind, mailtemplate.LocaleOf(locale))
	if l.Kind = kindNamed(kind); l.Kind == "" {
		return mail.Message{}, fault.New(fault.Invalid, "validation_failed", "there is no mail of this kind").At("kind",
			"unknown")
	}
	l.TenantID, l.Site = a.TenantID, s.Config.SiteURL
	if l.Link != "" {
		l.Link = s.TokenIssuer + "/verify?token=sample&type=signup"
	}
	if t == (mailtemplate.Template{}) {
		return s.wordMail(ctx, l)
	}
	if err := t.Check(kind, s.Links.Linkable); err != nil {
		return mail.Message{}, err
	}
	return t.Message(l)
}

func kindNamed(k mailtemplate.Kind) mailtemplate.Kind {
	for _, known := range mailtemplate.Kinds() {
		if known == k {
			return k
		}
	}
	return ""
}
