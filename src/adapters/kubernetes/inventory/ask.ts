import type { Clock } from '../../../ports/clock.ts';
import type { Random } from '../../../ports/random.ts';
import type { KubeAnswer, KubeClient, KubeRequest } from '../api/types.ts';

/** How the inventory speaks to its API server: patiently, and only while it may. */
export interface Asking {
  /** One attempt. Rejects if this process may not speak any more. */
  once(request: KubeRequest): Promise<KubeAnswer>;
  /** Waits before the next attempt; longer each time. Rejects with the trouble if the time is up. */
  pause(trouble: string): Promise<void>;
  /** Attempts until there is an answer that trying again would not change. For requests that may be sent twice. */
  patiently(request: KubeRequest): Promise<Exclude<KubeAnswer, { type: 'unreachable' }>>;
}

/** The API server is tried for so long; then whoever waits is told. */
const PATIENCE_MS = 20_000;
const ATTEMPT_MS = 10_000;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 3_000;

/** Begins one piece of work, with its own time. `check` throws if this process may not speak any more. */
export function startAsking(
  deps: { readonly client: KubeClient; readonly clock: Clock; readonly random: Random },
  check: () => void,
): Asking {
  const until = deps.clock.monotonic() + PATIENCE_MS;
  let pauses = 0;
  return { once, pause, patiently };

  function once(request: KubeRequest): Promise<KubeAnswer> {
    check();
    return deps.client.request({ timeoutMs: ATTEMPT_MS, ...request });
  }

  async function pause(trouble: string): Promise<void> {
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** pauses);
    const wait = longest / 2 + (deps.random.next() * longest) / 2;
    pauses += 1;
    if (deps.clock.monotonic() + wait >= until) throw new Error(trouble);
    await deps.clock.sleep(wait);
  }

  async function patiently(request: KubeRequest): Promise<Exclude<KubeAnswer, { type: 'unreachable' }>> {
    for (;;) {
      const answer = await once(request);
      if (answer.type !== 'unreachable' && !isPassing(answer)) return answer;
      await pause(answerText(answer));
    }
  }
}

/** Trouble of the server itself: it says nothing about the request, and may have done what was asked. */
export function isPassing(answer: KubeAnswer): boolean {
  return (
    answer.type === 'unreachable' || (answer.type === 'refused' && (answer.status >= 500 || answer.status === 429))
  );
}

/** What became of a request, for people. */
export function answerText(answer: KubeAnswer): string {
  switch (answer.type) {
    case 'ok':
      return 'ok';
    case 'unreachable':
      return `the API server does not answer: ${answer.message}`;
    case 'refused':
      return `the API server answered ${answer.status} ${answer.refusal.reason}: ${answer.refusal.message}`;
  }
}
