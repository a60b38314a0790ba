// Package mention writes mails to people who are named in comments, if they may
// read the record that the comment is about.
//
// Layer: functions. Begin at [Mail].
package mention

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/functions/programme"
	"holdfast/internal/functions/programme/wording"
	"holdfast/internal/job"
	"holdfast/internal/mail"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// mailEvery is the part of an hour in which one person gets one mail about one record.
const mailEvery = 15 * time.Minute

// readerSQL selects those of some accounts that are active members with an address.
// $1 tenant, $2 accounts.
const readerSQL = `
	SELECT user_id, email, role, worker_id, zone_ids
	FROM members
	WHERE tenant_id = $1
		AND user_id IN {ids $2}
		AND status = 'active'
		AND email IS NOT NULL`

// reader is a member who is named.
type reader struct {
	email string
	actor actor.Actor
}

// Mail queues a mail to each member who is newly named in comments and may read
// the record: that, and where, not what was said, which stays in the record.
func Mail(tx *store.Tx, changes []store.Change, letterhead programme.Letterhead) error {
	comments := tx.Resource("comments")
	for _, c := range changes {
		named := newlyNamed(c)
		if len(named) == 0 {
			continue
		}
		for _, parent := range comments.ParentRecords() {
			if id := c.After.Text(parent.Column); id != "" {
				if err := mailNamed(tx, parent.Resource, id, named, letterhead); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// newlyNamed lists the accounts that a change names and its author is not among.
func newlyNamed(c store.Change) []string {
	if c.After == nil || c.After.Text("status") != "shown" {
		return nil
	}
	held := namedIn(c.Before)
	return slices.DeleteFunc(namedIn(c.After), func(account string) bool {
		return slices.Contains(held, account) || account == c.After.Text("created_by")
	})
}

func namedIn(row store.Row) (accounts []string) {
	raw, _ := row["mentions"].(json.RawMessage)
	_ = json.Unmarshal(raw, &accounts) // an array of ids: the store has checked it
	return accounts
}

// mailNamed queues the mails about one record.
func mailNamed(
	tx *store.Tx, r *catalog.Resource, id string, named []string, letterhead programme.Letterhead,
) error {
	readers, err := listReaders(tx, named)
	if err != nil {
		return err
	}
	records, err := tx.Rows(r.Name, "id IN {ids $2}", query.List([]string{id}))
	if err != nil || len(records) == 0 {
		return err
	}
	words := wording.QueueWords(tx.Tx, tx.TenantID)
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("mention: language of the tenant: %w", err)
	}

	link := wording.Letterhead{Product: letterhead.Product, Site: letterhead.Site + "/console/c/" + r.Name + "/" + id}
	for account, to := range readers {
		isReader, err := tx.As(to.actor).Reads(r, id)
		if err != nil {
			return err
		}
		if !isReader {
			continue
		}
		message, err := words.MentionMail(nameRecord(r, records[0]), link)
		if err != nil {
			return err
		}
		message.Kind, message.To = "mention", to.email
		if err := queueMail(tx, account, id, message); err != nil {
			return err
		}
	}
	return nil
}

// queueMail queues a mail, unless the person gets one about the record in this part of
// the hour already.
func queueMail(tx *store.Tx, account, record string, message mail.Message) error {
	payload, err := json.Marshal(map[string]any{"message": message, "user": account})
	if err != nil {
		return fmt.Errorf("mention: word a mail: %w", err)
	}
	now := tx.Now().UTC()
	key := "mention:" + account + ":" + record + ":" + query.FormatTime(now.Truncate(mailEvery))
	return job.Add(tx.Tx, job.Job{Tenant: tx.TenantID, Kind: programme.MailJob, Key: key, Payload: payload, Made: now})
}

func listReaders(tx *store.Tx, accounts []string) (map[string]reader, error) {
	readers := map[string]reader{}
	err := tx.Query(readerSQL, []any{tx.TenantID, query.List(accounts)}, func(r *db.Row) error {
		a := actor.Actor{TenantID: tx.TenantID, UserID: r.Text(0), Role: actor.Role(r.Text(2)), WorkerID: r.Text(3)}
		if !r.Null(4) {
			_ = json.Unmarshal([]byte(r.Text(4)), &a.ZoneIDs) // an array of ids: the store has checked it
		}
		readers[a.UserID] = reader{r.Text(1), a}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("mention: look up members: %w", err)
	}
	return readers, nil
}

// nameRecord is what people call a record: its number or code, else its kind.
func nameRecord(r *catalog.Resource, row store.Row) string {
	for i := range r.Fields {
		f := &r.Fields[i]
		if number := row.Text(f.Name); number != "" && (f.Format == catalog.Number || f.Format == catalog.Code) {
			return number
		}
	}
	return catalog.Label(r.Name)
}
