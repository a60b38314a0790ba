package programme

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/functions/programme/wording"
	"holdfast/internal/job"
	"holdfast/internal/mail"
)

// Kinds of the programme's jobs.
const (
	// MailJob is a mail on its way.
	MailJob = "safety-mail"
	// digestMark notes the days whose digests are made.
	digestMark = "safety-digest"
	// pageTurn keeps two reports at once from each writing a mail.
	pageTurn = "safety-page"
)

// queuedMail is a mail that is sent from a moment on.
type queuedMail struct {
	tenant, key string
	at          time.Time
	mailPayload
}

// mailPayload is what a mail's job knows.
type mailPayload struct {
	Message mail.Message    `json:"message"`
	User    string          `json:"user"`
	About   *wording.Alarms `json:"about,omitempty"` // what it tells of, where more may come to it
}

func (m queuedMail) mailJob() (job.Job, error) {
	payload, err := json.Marshal(m.mailPayload)
	if err != nil {
		return job.Job{}, fmt.Errorf("programme: mail %s: %w", m.key, err)
	}
	return job.Job{Tenant: m.tenant, Kind: MailJob, Key: m.key, Payload: payload, Made: m.at}, nil
}

// queueMails queues writing mails with the transaction.
func queueMails(tx *db.Tx, list []queuedMail) error {
	jobs := make([]job.Job, len(list))
	for i, m := range list {
		var err error
		if jobs[i], err = m.mailJob(); err != nil {
			return err
		}
	}
	return job.Add(tx, jobs...)
}

// replaceMails queues writing what mails say that have not gone yet.
func replaceMails(tx *db.Tx, list []queuedMail) error {
	for _, m := range list {
		j, err := m.mailJob()
		if err != nil {
			return err
		}
		job.Replace(tx, j)
	}
	return nil
}

// Mails is how the programme's mails are handed to the mail server. After a day,
// longer than a night's outage, a mail's news is old.
func Mails(to mail.Sender, away func() bool) job.Kind {
	return job.Mails(job.Kind{
		Name: MailJob, Doc: "a mail of the safety programme: a digest, critical incidents, legal clocks or overdue actions",
		Timeout: time.Minute, Life: 24 * time.Hour,
		Run: func(ctx context.Context, j job.Job) error {
			var m mailPayload
			if err := j.Decode(&m); err != nil {
				return err
			}
			return job.Mailed(to.Send(ctx, m.Message))
		},
	}, away)
}
