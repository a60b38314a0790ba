package auth

import (
	"fmt"
	"holdfast/internal/api/route"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/admin"
	"holdfast/internal/web"
)

// Page sizes of the list of accounts.
const defaultPerPage, maxPerPage = 50, 1000

func (a administration) listUsers(w http.ResponseWriter, c *route.Call) error {
	q := c.URL.Query()
	page, err := positiveParameter(q, "page", 1)
	if err != nil {
		return err
	}
	per, err := positiveParameter(q, "per_page", defaultPerPage)
	if err != nil {
		return err
	}
	per = min(per, maxPerPage)
	if page > 1<<31/per {
		return fault.New(fault.Invalid, "validation_failed", "Bad Pagination Parameters: page is out of range")
	}
	list, total, err := a.svc.Admin.Users(c.Context(), c.Actor,
		identity.UserPage{Page: page, PerPage: per, Filter: q.Get("filter"), Sort: q.Get("sort")})
	if err != nil {
		return err
	}
	w.Header().Set("X-Total-Count", strconv.FormatInt(total, 10))
	w.Header().Set("Link", pageLinks(q, page, per, total))
	return web.JSON(w, http.StatusOK, map[string]any{"users": list, "aud": "authenticated"})
}

// positiveParameter reads a whole number from 1; an empty value counts as absent,
// because clients send one for an option that is not set.
func positiveParameter(q url.Values, name string, def int) (int, error) {
	s := q.Get(name)
	if s == "" {
		return def, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fault.New(fault.Invalid, "validation_failed", "Bad Pagination Parameters: %s must be a whole number from 1",
			name)
	}
	return n, nil
}

// pageLinks is the Link header as auth-js reads it: split at every comma,
// semicolon and equals sign, page the first parameter, rel in double quotes,
// no next on the last page.
func pageLinks(q url.Values, page, per int, total int64) string {
	last := max(1, int((total+int64(per)-1)/int64(per)))
	link := func(n int, rel string) string {
		s := fmt.Sprintf("</admin/users?page=%d&per_page=%d", n, per)
		for _, k := range []string{"filter", "sort"} {
			if v := q.Get(k); v != "" {
				s += "&" + k + "=" + url.QueryEscape(v)
			}
		}
		return s + `>; rel="` + rel + `"`
	}
	var parts []string
	if page < last {
		parts = append(parts, link(page+1, "next"))
	}
	return strings.Join(append(parts, link(last, "last")), ", ")
}

// adminBody are the members the service key may set.
type adminBody struct {
	ID           string  `json:"id"`
	Email        *string `json:"email"`
	Phone        *string `json:"phone"`
	Password     *string `json:"password"`
	PasswordHash *string `json:"password_hash"`
	EmailConfirm bool    `json:"email_confirm"`
	PhoneConfirm bool    `json:"phone_confirm"`
	UserMetadata object  `json:"user_metadata"`
	AppMetadata  object  `json:"app_metadata"`
	Role         *string `json:"role"`
	BanDuration  *string `json:"ban_duration"`
}

func (b adminBody) adminInput() identity.AdminUser {
	return identity.AdminUser{ID: b.ID, Email: b.Email, Phone: b.Phone, Password: b.Password, PasswordHash: b.PasswordHash,
		EmailConfirm: b.EmailConfirm, PhoneConfirm: b.PhoneConfirm,
		UserMetadata: b.UserMetadata, AppMetadata: b.AppMetadata, Role: b.Role, BanDuration: b.BanDuration}
}

func (a administration) createUser(w http.ResponseWriter, c *route.Call) error {
	var in adminBody
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	u, err := a.svc.Admin.CreateUser(c.Context(), c.Actor, in.adminInput())
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, u)
}

func (a administration) adminUser(w http.ResponseWriter, c *route.Call) error {
	u, err := a.svc.Admin.UserByID(c.Context(), c.Actor, c.PathValue("id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, u)
}

func (a administration) changeUser(w http.ResponseWriter, c *route.Call) error {
	var in adminBody
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	u, err := a.svc.Admin.ChangeUser(c.Context(), c.Actor, c.PathValue("id"), in.adminInput())
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, u)
}

func (a administration) deleteUser(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Soft bool `json:"should_soft_delete"`
	}
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	if err := a.svc.Admin.DeleteUser(c.Context(), c.Actor, c.PathValue("id"), in.Soft); err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, struct{}{})
}

// linkBody are the members of generate_link and invite.
type linkBody struct {
	Type     string `json:"type"`
	Email    string `json:"email"`
	Password string `json:"password"`
	NewEmail string `json:"new_email"`
	Data     object `json:"data"`
	Redirect string `json:"redirect_to"`
}

func (a administration) linkRequest(c *route.Call) (identity.LinkRequest, error) {
	var in linkBody
	err := decodeBody(c, &in)
	return identity.LinkRequest{Type: in.Type, Email: in.Email, Password: in.Password, NewEmail: in.NewEmail,
		Data: in.Data, Redirect: a.redirectTarget(c, in.Redirect)}, err
}

func (a administration) generateLink(w http.ResponseWriter, c *route.Call) error {
	in, err := a.linkRequest(c)
	if err != nil {
		return err
	}
	l, err := a.svc.Admin.GenerateLink(c.Context(), c.Actor, in)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, l)
}

func (a administration) inviteUser(w http.ResponseWriter, c *route.Call) error {
	in, err := a.linkRequest(c)
	if err != nil {
		return err
	}
	u, err := a.svc.Admin.InviteUser(c.Context(), c.Actor, in)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, u)
}

// setUp makes the first administrator.
func (m administration) setUp(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Token        string `json:"token"`
		Organisation string `json:"organisation"`
		Email        string `json:"email"`
		Password     string `json:"password"`
	}
	if err := decodeExact(c, &in); err != nil {
		return err
	}
	if err := m.countSecret(w, c); err != nil {
		return err
	}
	if err := m.svc.Admin.SetUp(c.Context(), admin.FirstSetup(in)); err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, struct{}{})
}
