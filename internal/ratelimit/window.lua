-- Rolling windows in Redis, by Redis' own clock; see window.go, whose slots
-- and rules these are. One call is atomic and counts in several windows, which
-- must be on one cluster slot.
--
-- KEYS  the windows, each a string: last slot reached (8 bytes), units of the
--       minute (4), of the burst (4), last slot counted in (8), then 241 slots
--       of 2 bytes each.
-- ARGV  for each window four: units a minute, units a burst, units to count,
--       and 1 to count them whatever the rule says. Those without the 1 are
--       counted in all of their windows or in none.
-- Reply milliseconds of Redis' clock, then for each window five: 1 when its units
--       fit or are counted whatever the rule says, units of the minute, of the
--       burst, last slot counted in, and, only when the window is full, its string.
local SLOT, MINUTE, BURST, HEAD, LIFE, MOST = 250, 241, 41, 24, 61000, 65535

local time = redis.call('TIME')
local ms = time[1] * 1000 + math.floor(time[2] / 1000)
local now = math.floor(ms / SLOT)
local reply = {ms}

local function at(raw, slot)
  local i = HEAD + (slot % MINUTE) * 2
  local high, low = string.byte(raw, i + 1, i + 2)
  return high * 256 + low
end

local function zero(key, from, to)
  local i, j = from % MINUTE, to % MINUTE
  if i <= j then
    redis.call('SETRANGE', key, HEAD + i * 2, string.rep('\0', (j - i + 1) * 2))
  else
    redis.call('SETRANGE', key, HEAD + i * 2, string.rep('\0', (MINUTE - i) * 2))
    redis.call('SETRANGE', key, HEAD, string.rep('\0', (j + 1) * 2))
  end
end

-- read finds how full a window is now, and whether its units fit.
local function read(k, key)
  local perMinute, perBurst = tonumber(ARGV[4 * k - 3]), tonumber(ARGV[4 * k - 2])
  local n, forced = tonumber(ARGV[4 * k - 1]), ARGV[4 * k] == '1'

  local raw = redis.call('GET', key)
  local last, minute, burst, newest = now, 0, 0, 0
  local fresh = true
  if raw and #raw == HEAD + 2 * MINUTE then
    last, minute, burst, newest = struct.unpack('>i8I4I4i8', raw)
    fresh = math.abs(now - last) >= MINUTE
  end
  if fresh then
    last, minute, burst, newest = now, 0, 0, 0
  end
  local old = last
  while last < now do
    last = last + 1
    if last - BURST <= old then
      burst = burst - at(raw, last - BURST)
    end
    minute = minute - at(raw, last)
  end
  local held = 0
  if not fresh and last == old then
    held = at(raw, last)
  end

  if forced then
    n = math.min(n, MOST - held)
  end
  local fits = forced or n <= perMinute - minute and n <= perBurst - burst and n <= MOST - held
  return {key = key, perMinute = perMinute, perBurst = perBurst, n = n, forced = forced, fits = fits, fresh = fresh,
    old = old, last = last, minute = minute, burst = burst, newest = newest, held = held}
end

-- count adds a window's units.
local function count(w)
  local units = w.held + w.n
  w.minute, w.burst, w.newest = w.minute + w.n, w.burst + w.n, w.last
  if w.fresh then
    redis.call('SET', w.key, string.rep('\0', HEAD + 2 * MINUTE), 'PX', LIFE)
  elseif w.last > w.old then
    zero(w.key, w.old + 1, w.last)
    redis.call('PEXPIRE', w.key, LIFE)
  end
  redis.call('SETRANGE', w.key, 0, struct.pack('>i8I4I4i8', w.last, w.minute, w.burst, w.newest))
  redis.call('SETRANGE', w.key, HEAD + (w.last % MINUTE) * 2, string.char(math.floor(units / 256), units % 256))
end

local windows, room = {}, true
for k, key in ipairs(KEYS) do
  windows[k] = read(k, key)
  room = room and windows[k].fits
end

for k, w in ipairs(windows) do
  if w.n > 0 and (w.forced or room) then
    count(w)
  end
  local full = ''
  if not w.fits or w.minute >= w.perMinute or w.burst >= w.perBurst then
    full = redis.call('GET', w.key) or ''
  end
  local base = 1 + 5 * (k - 1)
  reply[base + 1], reply[base + 2], reply[base + 3] = w.fits and 1 or 0, w.minute, w.burst
  reply[base + 4], reply[base + 5] = w.newest, full
end
return reply
