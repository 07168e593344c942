import type { KubeClient } from './types.ts';

/** A client whose other requests say when they had no answer. */
export interface NoticingClient {
  readonly client: KubeClient;
  /** Calls the listener after each request or watch without an answer. */
  onSilence(listener: () => void): () => void;
}

/** Wraps a client, so that an outage is noticed by whichever request meets it first. */
export function noticeSilence(client: KubeClient): NoticingClient {
  const listeners = new Set<() => void>();
  const notice = (signal: AbortSignal | undefined): void => {
    if (signal?.aborted !== true) for (const listener of listeners) listener();
  };
  return {
    client: {
      ...client,
      request: async (asked) => {
        const answer = await client.request(asked);
        if (answer.type === 'unreachable' && answer.tooLarge !== true) notice(asked.signal);
        return answer;
      },
      watch: async (asked, event) => {
        const end = await client.watch(asked, event);
        if (end.type === 'broken') notice(asked.signal);
        return end;
      },
    },
    onSilence: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
