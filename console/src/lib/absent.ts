// The parts of supabase-js that this server has no counterpart of, realtime and
// storage, in so far as the client makes them by itself: they are a third of it,
// and nobody would call them. What changes is followed by lib/live instead.

export class RealtimeClient {
  // The client tells it each new token.
  setAuth(): void {}
  getChannels(): never[] {
    return [];
  }
  channel(): never {
    throw new Error('realtime is no part of this console');
  }
}

export class StorageClient {
  from(): never {
    throw new Error('storage is no part of this console');
  }
}

export class StorageApiError extends Error {}
