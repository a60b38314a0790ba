package openapi

import (
	"strings"

	"holdfast/internal/event"
	"holdfast/internal/schema"
	"holdfast/internal/verb"
)

func withDoc(schema object, doc string) object {
	schema["description"] = doc
	return schema
}

// memberDocs describe members of requests and answers by their names, which
// mean the same wherever they stand.
var memberDocs = map[string]string{
	"access_token": "Bearer token for requests, a JWT.", "refresh_token": "Redeemed once for the next session.",
	"expires_in": "Seconds until the access token expires.",
	"expires_at": "When it expires: Unix seconds of a token, else a time.", "token_type": "bearer.",
	"user": "The account.", "email": "Address of the account.",
	"phone": "Telephone number in E.164 form.", "password": "The password; never shown again.",
	"current_password": "The password until now.",
	"data":             "The account's own metadata; tenant_id asks for a tenant.",
	"user_metadata":    "The account's own metadata.",
	"app_metadata":     "Metadata that the server keeps.", "role": "Role.", "aud": "Audience of the account's tokens.",
	"identities":            "How the account can sign in.",
	"grant_type":            "password, refresh_token, pkce or id_token; found from the body when absent.",
	"auth_code":             "Code of a redirect, for pkce.",
	"code_verifier":         "What code_challenge was made from (RFC 7636).",
	"code_challenge":        "Hash of the code verifier (RFC 7636).",
	"code_challenge_method": "s256 or plain.", "redirect_to": "Where the browser is led afterwards; an allowed address.",
	"provider": "Name of an identity provider.",
	"scopes":   "Scopes to ask the provider for.",
	"nonce":    "One-time word of the flow, or the code of a reauthentication.", "id_token": "ID token of a provider.",
	"channel": "sms or whatsapp.", "create_user": "Whether an unknown address makes an account.", "type": "Kind.",
	"token":      "Mailed or texted code.",
	"token_hash": "Token of a mailed link.", "factor_type": "totp, phone or webauthn.",
	"friendly_name": "Name that tells it from others.",
	"challenge_id":  "The challenge that is answered.", "code": "One-time code.",
	"webauthn":   "Options or answer of a WebAuthn ceremony.",
	"credential": "Answer of the authenticator.", "page": "Page, from 1.", "per_page": "Records per page.",
	"filter": "Part of what is looked for.",
	"sort":   "Column and direction.", "sessions": "The sessions.", "tenants": "The tenants.", "users": "The accounts.",
	"factors": "The factors.",
	"keys":    "The public keys, as JWKs.", "codes": "The codes, shown once.", "file": "The file.",
	"target":  "Collection that the rows of the file are of.",
	"mapping": "Column of the file by field.", "options": "How the file is read, or options of a ceremony.",
	"cells": "New text of cells, by header.",
	"url":   "Address.", "events": "Types of event, each exact, a family (order.*) or everything (*).",
	"description": "What it is for.", "status": "State.",
	"tenant_id": "The tenant.", "user_id": "The account.", "session_id": "The session.", "id": "Its id.", "name": "Name.",
	"kind": "Kind.", "severity": "Severity.",
	"what": "What happened.", "when": "When it happened.", "photo": "A photo.", "locale": "Language.",
	"subject": "Subject of the mail.", "text": "Text of the mail.",
	"html":    "The mail in HTML.",
	"records": "packages, zones, items or lots.", "ids": "Ids, comma between.", "format": "pdf or zpl.",
	"dpi":        "203 or 300.",
	"EQ_bizStep": "Business steps of the CBV, comma between; all when absent.", "GE_recordTime": "Recorded from then on.",
	"LT_recordTime": "Recorded before then.",
	"perPage":       "Events of a page, 1 to 1000; 100 when absent.",
	"nextPageToken": "Where the next page begins, of the Link.",
	"scope":         "global, local or others.", "is_anonymous": "Whether nobody has claimed the account yet.",
}

// memberDoc describes a member by its name.
func memberDoc(name string) string {
	if doc := memberDocs[name]; doc != "" {
		return doc
	}
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + spacedName(name[1:]) + "."
}

// memberExamples stand for what a client would send.
var memberExamples = map[string]any{
	"email": "somebody@north.example", "password": "correct horse battery", "grant_type": "password",
	"phone":  "+4930123456",
	"target": "zones", "provider": "google", "url": "https://hooks.example.com/holdfast", "kind": "near_miss",
	"scope": "local", "status": "active",
	"records": "zones", "ids": exampleID, "format": "zpl", "dpi": 203,
	"EQ_bizStep": "receiving,shipping", "GE_recordTime": "2026-01-31T06:00:00Z", "LT_recordTime": "2026-02-01T06:00:00Z",
	"nextPageToken": "MjAyNi0wMS0zMVQwNjowMDowMC4wMDAwMDBaMDE5MGMwMDAtMDAwMC03MDAwLTgwMDAtMDAwMDAwMDAwMDAx",
}

func memberExample(name, kind string) any {
	if v := memberExamples[name]; v != nil && kind == "string" {
		return v
	}
	switch kind {
	case "integer":
		return 1
	case "boolean":
		return false
	case "object":
		return object{}
	case "array", "texts":
		return []any{}
	}
	return "example"
}

// errorSchemas are the error bodies of the three surfaces, and what a filter is.
func errorSchemas() object {
	text := func(doc string) object { return object{"type": []string{"string", "null"}, "description": doc} }
	return object{
		"CommonColumns": object{"type": "object", "description": "Columns that records have in common.",
			"properties": schemasOf(commonColumns...)},
		"WholeRow":     object{"description": "A row has all of these.", "required": commonColumns},
		"archived_at":  schemasOf("archived_at")["archived_at"],
		"VerbRequest":  withDoc(schema.Input(verb.Common{}).Schema(), "What every verb takes."),
		"VerbAnswer":   withDoc(schema.Of(verb.Answer{}).Schema(), "What every verb answers."),
		"EventHead":    event.Head(),
		schema.AnyName: object{"description": "Any JSON value: a text, a number, true, false, null, a list or an object."},
		"Filter": object{"type": "string",
			"description": "operator.value: eq.x, not.in.(a,b), gte.5, ilike.*x*, is.null."},
		"CollectionError": object{"type": "object",
			"description": "Error body of collections and verbs, as PostgREST has it.", "required": []string{"code", "message"},
			"properties": object{"code": text("Code for programs: of PostgreSQL, PGRST or HF."),
				"message": text("What is wrong."),
				"details": withDoc(schemaRef(schema.AnyName), "Where and why; a list where relations are ambiguous."),
				"hint":    text("What would help.")}},
		"FunctionError": object{"type": "object", "description": "Error body of functions.", "required": []string{"error"},
			"properties": object{"error": text("What is wrong."), "details": text("Where and why.")}},
		"IdentityError": object{"type": "object", "description": "Error body of identity.",
			"properties": object{
				"code": object{"oneOf": []object{{"type": "integer"}, {"type": "string"}, {"type": "null"}},
					"description": "HTTP status; with X-Supabase-Api-Version the code for programs."},
				"error_code": text("Code for programs."),
				"msg":        text("What is wrong."), "error": text("Code of OAuth."),
				"error_description": text("What is wrong, for OAuth.")}},
		"RateLimitError": object{"type": "object", "description": "Too many requests: the error body of every surface.",
			"properties": object{"error": text("Too many requests."), "message": text("What is limited."), "code": text("429."),
				"retry_after": object{"type": "integer", "description": "Wait this long. Unit: s."},
				"limit":       object{"type": "integer", "description": "Requests in the window."},
				"remaining":   object{"type": "integer", "description": "Requests left in the window."},
				"reset_at":    text("When the window ends.")}},
	}
}
