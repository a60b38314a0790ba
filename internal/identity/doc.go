// Package identity puts its rooms together: Service builds them in order, each over
// those before it, and callers ask the room they mean. What goes in and comes out is
// the rooms' own types. Accounts, tenants, sessions and the ways to sign in are the
// rooms' work; what stands here sweeps what has expired, and asks for captchas.
//
//	accounts  what an account, a client, a credential and a membership are
//	codes     digits, links, authorization codes, and the mails that carry them
//	keyring   signing keys, API keys, another master key
//	tenants   tenants, members, invitations
//	sessions  sessions and their tokens; who a request is from
//	signin    passwords, codes, links, sign-up
//	mfa       second factors, passkeys
//	providers OpenID Connect, linked identities, organisations' providers
//	profile   what people do with their own account
//	admin     what service keys and the command line do with any account
//
// The packages beside the rooms (token, password, letter and so on) are one tool each
// and know no room.
//
// Layer: domains. Begin at [Service].
package identity
