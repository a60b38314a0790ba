package auth

import (
	"encoding/json"
	"holdfast/internal/api/route"
	"net/http"

	"holdfast/internal/identity"
	"holdfast/internal/identity/factor"
	"holdfast/internal/web"
)

func (a secondFactors) listFactors(w http.ResponseWriter, c *route.Call) error {
	list, err := a.svc.Factors.List(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"factors": list})
}

func (a secondFactors) enrolFactor(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Type   string `json:"factor_type"`
		Name   string `json:"friendly_name"`
		Issuer string `json:"issuer"`
		Phone  string `json:"phone"`
	}
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	out, err := a.svc.Factors.EnrolFactor(c.Context(), c.Actor,
		factor.Enrol{Kind: in.Type, FriendlyName: in.Name, Issuer: in.Issuer, Phone: in.Phone})
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

func (a secondFactors) unenrolFactor(w http.ResponseWriter, c *route.Call) error {
	if err := a.svc.Factors.UnenrolFactor(c.Context(), c.Actor, c.PathValue("id")); err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]string{"id": c.PathValue("id")})
}

// webauthnBody are the members of webauthn in challenge and verify.
type webauthnBody struct {
	RPID       string          `json:"rpId"`
	Origins    []string        `json:"rpOrigins"`
	Type       string          `json:"type"`
	Credential json.RawMessage `json:"credential_response"`
}

func (a secondFactors) challengeFactor(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Channel  string       `json:"channel"`
		WebAuthn webauthnBody `json:"webauthn"`
	}
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	out, err := a.svc.Factors.ChallengeFactor(c.Context(), c.Actor, c.PathValue("id"),
		identity.Offer{RPID: in.WebAuthn.RPID, Origins: in.WebAuthn.Origins, Channel: in.Channel})
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

func (a secondFactors) verifyFactor(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Challenge string       `json:"challenge_id"`
		Code      string       `json:"code"`
		WebAuthn  webauthnBody `json:"webauthn"`
	}
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	if err := a.countOwn(w, c); err != nil {
		return err
	}
	sess, err := a.svc.Factors.VerifyFactor(c.Context(), c.Actor, c.PathValue("id"),
		factor.Answer{ChallengeID: in.Challenge, Code: in.Code, Type: in.WebAuthn.Type, Credential: in.WebAuthn.Credential})
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, sess)
}

func (a secondFactors) recoveryCodes(w http.ResponseWriter, c *route.Call) error {
	n, err := a.svc.Factors.RecoveryCodesLeft(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]int{"remaining": n})
}

func (a secondFactors) newRecoveryCodes(w http.ResponseWriter, c *route.Call) error {
	codes, err := a.svc.Factors.NewRecoveryCodes(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"codes": codes})
}

func (a secondFactors) useRecoveryCode(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Code string `json:"code"`
	}
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	if err := a.countOwn(w, c); err != nil {
		return err
	}
	sess, err := a.svc.Factors.UseRecoveryCode(c.Context(), c.Actor, in.Code)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, sess)
}

func (a secondFactors) userFactors(w http.ResponseWriter, c *route.Call) error {
	list, err := a.svc.Factors.UserFactors(c.Context(), c.Actor, c.PathValue("id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, list)
}

func (a secondFactors) changeUserFactor(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Name  *string `json:"friendly_name"`
		Phone *string `json:"phone"`
	}
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	return a.onUserFactor(w, c, func(user, id string) (factor.Factor, error) {
		return a.svc.Factors.ChangeUserFactor(c.Context(), c.Actor, user, id,
			identity.FactorChange{FriendlyName: in.Name, Phone: in.Phone})
	})
}

func (a secondFactors) removeUserFactor(w http.ResponseWriter, c *route.Call) error {
	return a.onUserFactor(w, c, func(user, id string) (factor.Factor, error) {
		return a.svc.Factors.RemoveUserFactor(c.Context(), c.Actor, user, id)
	})
}

func (a secondFactors) onUserFactor(
	w http.ResponseWriter, c *route.Call, do func(user, id string) (factor.Factor, error),
) error {
	f, err := do(c.PathValue("id"), c.PathValue("factor_id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, f)
}
