package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// A message is a batch on Redis' channel.
type message struct {
	ID   string `json:"id"`
	Node string `json:"node"`
	Body string `json:"body"`
}

// publishTimeout bounds a publication; its row follows in any case.
const publishTimeout = 250 * time.Millisecond

// channelName names the deployment's channel: channels are not apart by database.
func (b *Cluster) channelName() string { return fmt.Sprintf("hf:notices:%d", b.o.Redis.Database()) }

// publishToRedis tries Redis. A failure costs time only, because the row follows;
// the limiter tells of a Redis that is away.
func (b *Cluster) publishToRedis(ctx context.Context, m message) {
	if b.o.Redis == nil || !b.o.Redis.Up() {
		return
	}
	text, err := json.Marshal(m)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	if _, err := b.o.Redis.Do(ctx, "PUBLISH", b.channelName(), string(text)); err != nil {
		b.o.Log.Debug("a notice goes by its row only", "error", err)
	}
}

// subscribeLoop hears the channel until the cluster is closed.
func (b *Cluster) subscribeLoop() {
	for b.ctx.Err() == nil {
		if b.o.Redis.Up() {
			err := b.o.Redis.Subscribe(b.ctx, b.channelName(), b.receiveMessage)
			if err != nil && b.ctx.Err() == nil {
				b.o.Log.Debug("notices come by their rows only", "error", err)
			}
		}
		b.waitFor(nil, time.Second)
	}
}

func (b *Cluster) receiveMessage(text string) {
	var m message
	if json.Unmarshal([]byte(text), &m) != nil || m.ID == "" || m.Node == b.id {
		return
	}
	b.deliverOnce(m.ID, m.Body)
}
