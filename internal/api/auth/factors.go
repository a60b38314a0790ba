package auth

import (
	"encoding/json"
	"net/http"

	"holdfast/internal/identity"
	"holdfast/internal/identity/factor"
	"holdfast/internal/web"
)

func (a *API) factors(w http.ResponseWriter, c *call) error {
	list, err := a.svc.Factors.List(c.Context(), c.actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"factors": list})
}

func (a *API) enrolFactor(w http.ResponseWriter, c *call) error {
	var in struct {
		Type   string `json:"factor_type"`
		Name   string `json:"friendly_name"`
		Issuer string `json:"issuer"`
		Phone  string `json:"phone"`
	}
	if err := body(c, &in); err != nil {
		return err
	}
	out, err := a.svc.Factors.EnrolFactor(c.Context(), c.actor, factor.Enrol{Kind: in.Type, FriendlyName: in.Name, Issuer: in.Issuer, Phone: in.Phone})
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

func (a *API) unenrolFactor(w http.ResponseWriter, c *call) error {
	if err := a.svc.Factors.UnenrolFactor(c.Context(), c.actor, c.id); err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]string{"id": c.id})
}

// webauthnBody are the members of webauthn in challenge and verify.
type webauthnBody struct {
	RPID       string          `json:"rpId"`
	Origins    []string        `json:"rpOrigins"`
	Type       string          `json:"type"`
	Credential json.RawMessage `json:"credential_response"`
}

func (a *API) challengeFactor(w http.ResponseWriter, c *call) error {
	var in struct {
		Channel  string       `json:"channel"`
		WebAuthn webauthnBody `json:"webauthn"`
	}
	if err := body(c, &in); err != nil {
		return err
	}
	out, err := a.svc.Factors.ChallengeFactor(c.Context(), c.actor, c.id, identity.Offer{RPID: in.WebAuthn.RPID, Origins: in.WebAuthn.Origins,
		Channel: in.Channel})
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

func (a *API) verifyFactor(w http.ResponseWriter, c *call) error {
	var in struct {
		Challenge string       `json:"challenge_id"`
		Code      string       `json:"code"`
		WebAuthn  webauthnBody `json:"webauthn"`
	}
	if err := body(c, &in); err != nil {
		return err
	}
	if err := a.countOwn(w, c); err != nil {
		return err
	}
	sess, err := a.svc.Factors.VerifyFactor(c.Context(), c.actor, c.id,
		factor.Answer{ChallengeID: in.Challenge, Code: in.Code, Type: in.WebAuthn.Type, Credential: in.WebAuthn.Credential})
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, sess)
}

func (a *API) recoveryCodes(w http.ResponseWriter, c *call) error {
	n, err := a.svc.Factors.RecoveryCodesLeft(c.Context(), c.actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]int{"remaining": n})
}

func (a *API) newRecoveryCodes(w http.ResponseWriter, c *call) error {
	codes, err := a.svc.Factors.NewRecoveryCodes(c.Context(), c.actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"codes": codes})
}

func (a *API) useRecoveryCode(w http.ResponseWriter, c *call) error {
	var in struct {
		Code string `json:"code"`
	}
	if err := body(c, &in); err != nil {
		return err
	}
	if err := a.countOwn(w, c); err != nil {
		return err
	}
	sess, err := a.svc.Factors.UseRecoveryCode(c.Context(), c.actor, in.Code)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, sess)
}

func (a *API) userFactors(w http.ResponseWriter, c *call) error {
	list, err := a.svc.Factors.UserFactors(c.Context(), c.actor, c.id)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, list)
}

func (a *API) changeUserFactor(w http.ResponseWriter, c *call) error {
	var in struct {
		Name  *string `json:"friendly_name"`
		Phone *string `json:"phone"`
	}
	if err := body(c, &in); err != nil {
		return err
	}
	return a.onUserFactor(w, c, func(user, id string) (factor.Factor, error) {
		return a.svc.Factors.ChangeUserFactor(c.Context(), c.actor, user, id, identity.FactorChange{FriendlyName: in.Name, Phone: in.Phone})
	})
}

func (a *API) removeUserFactor(w http.ResponseWriter, c *call) error {
	return a.onUserFactor(w, c, func(user, id string) (factor.Factor, error) {
		return a.svc.Factors.RemoveUserFactor(c.Context(), c.actor, user, id)
	})
}

func (a *API) onUserFactor(w http.ResponseWriter, c *call, do func(user, id string) (factor.Factor, error)) error {
	f, err := do(c.id, c.sub)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, f)
}
