package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/rueidis"
)

// A message is a batch on Redis' channel.
type message struct {
	ID   string `json:"id"`
	Node string `json:"node"`
	Body string `json:"body"`
}

// publishTimeout bounds a publication; its row follows in any case.
const publishTimeout = 250 * time.Millisecond

// channel names the deployment's channel: channels are not apart by database.
func (b *Bus) channel() string { return fmt.Sprintf("hf:notices:%d", b.o.Redis.Database()) }

// publish tries Redis. A failure costs time only, because the row follows;
// the limiter tells of a Redis that is away.
func (b *Bus) publish(ctx context.Context, m message) {
	if b.o.Redis == nil {
		return
	}
	client, ok := b.o.Redis.Client()
	if !ok {
		return
	}
	text, err := json.Marshal(m)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	if err := client.Do(ctx, client.B().Publish().Channel(b.channel()).Message(string(text)).Build()).Error(); err != nil {
		b.o.Log.Debug("a notice goes by its row only", "error", err)
	}
}

// subscribing hears the channel until the bus is closed.
func (b *Bus) subscribing() {
	for b.ctx.Err() == nil {
		if client, ok := b.o.Redis.Client(); ok {
			err := client.Receive(b.ctx, client.B().Subscribe().Channel(b.channel()).Build(), b.received)
			if err != nil && b.ctx.Err() == nil {
				b.o.Log.Debug("notices come by their rows only", "error", err)
			}
		}
		b.rest(nil, time.Second)
	}
}

func (b *Bus) received(p rueidis.PubSubMessage) {
	var m message
	if json.Unmarshal([]byte(p.Message), &m) != nil || m.ID == "" || m.Node == b.id {
		return
	}
	b.hear(m.ID, m.Body)
}
