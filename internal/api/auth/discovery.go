package auth

import (
	"net/http"

	"holdfast/internal/api/route"
	"holdfast/internal/web"
)

// serveDiscovery lets a gateway or another service find the keys by the issuer
// alone (RFC 8414, OpenID Connect Discovery 1.0 section 4). It names what is
// served: there is no authorization endpoint for applications of others, so no
// response type.
func (a *API) serveDiscovery(w http.ResponseWriter, _ *route.Call) error {
	iss := a.svc.Issuer()
	w.Header().Set("Cache-Control", "public, max-age=600")
	return web.JSON(w, http.StatusOK, map[string]any{
		"issuer": iss, "jwks_uri": iss + "/.well-known/jwks.json", "token_endpoint": iss + "/token",
		"grant_types_supported": []string{"password",
			"refresh_token", "client_credentials"}, "response_types_supported": []string{},
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic", "client_secret_post"},
		"code_challenge_methods_supported":      []string{"S256"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"ES256"},
		"claims_supported": []string{"sub", "aud", "exp", "iat", "email", "phone", "role", "aal", "amr",
			"session_id", "is_anonymous", "tenant_id", "tenant_role"},
	})
}
