package signin

import (
	"net/url"
	"strconv"

	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/redirect"
	"holdfast/internal/identity/sessions"
)

// Fragment is the implicit flow's success: the session behind the #.
func Fragment(s *accounts.Links, sess *sessions.Session, target, typ string) string {
	v := url.Values{"access_token": {sess.AccessToken}, "refresh_token": {sess.RefreshToken},
		"expires_in": {strconv.FormatInt(sess.ExpiresIn, 10)},
		"expires_at": {strconv.FormatInt(sess.ExpiresAt, 10)}, "token_type": {"bearer"}, "sb": {""}}
	for k, text := range map[string]string{"type": typ, "provider_token": sess.ProviderToken,
		"provider_refresh_token": sess.ProviderRefreshToken} {
		if text != "" {
			v.Set(k, text)
		}
	}
	return redirect.WithFragment(s.Exactly(target), v)
}

// halfwayURL leads to target with the first of the two confirmations: in the query
// too where the client reads it there.
func halfwayURL(target string, query bool) string {
	v := url.Values{"message": {Halfway}}
	if query {
		target = redirect.WithQuery(target, v)
	}
	v.Set("sb", "")
	return redirect.WithFragment(target, v)
}
