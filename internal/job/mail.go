package job

import (
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/mail"
)

// Mails is a kind whose jobs are mails: what Run returns of the mail server goes
// through Mailed. Name, Doc, Run and Life are the caller's.
func Mails(k Kind, away func() bool) Kind {
	k.Idle, k.Claim, k.Faults = away, 10*time.Minute, 3
	k.Retries = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour}
	return k
}

// Mailed is what an error of sending a mail means for its job: no further try
// helps a message that cannot be written, and one that was refused says nothing
// of the next.
func Mailed(err error) error {
	if mail.Hopeless(err) {
		return Stop(err)
	}
	if fault.Is(err, fault.Invalid) {
		return Alone(err)
	}
	return err
}
