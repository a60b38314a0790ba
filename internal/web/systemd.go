package web

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"
)

// NotifySystemd tells systemd that the server is ready, as often as the unit's
// WatchdogSec= asks that it lives, and when it begins to stop (sd_notify(3)).
// Without systemd it does nothing.
func NotifySystemd(ctx context.Context) (end func()) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return func() {}
	}
	tellSystemd("READY=1")
	stopping := context.AfterFunc(ctx, func() { tellSystemd("STOPPING=1") })
	alive, cancel := context.WithCancel(context.Background())
	if every := watchdogInterval(); every > 0 {
		go func() {
			t := time.NewTicker(every)
			defer t.Stop()
			for {
				select {
				case <-alive.Done():
					return
				case <-t.C:
					tellSystemd("WATCHDOG=1")
				}
			}
		}()
	}
	return func() { stopping(); cancel() }
}

// watchdogInterval is half of what systemd waits for a sign of life.
func watchdogInterval() time.Duration {
	n, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || n <= 0 {
		return 0
	}
	return time.Duration(n) * time.Microsecond / 2
}

func tellSystemd(state string) {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: os.Getenv("NOTIFY_SOCKET"), Net: "unixgram"})
	if err == nil {
		_, err = c.Write([]byte(state))
		c.Close()
	}
	if err != nil {
		slog.Warn("systemd was not told", "state", state, "error", err)
	}
}
