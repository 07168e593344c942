import { backOffMs } from '../../../model/limits/back-off.ts';
import type { FollowerDeps, KubeAnswer, KubeRequest } from '../api/types.ts';

/** An API server that is away is waited for this long. */
const PATIENCE_MS = 20_000;
const ATTEMPT_MS = 10_000;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 3_000;

export type Requests = ReturnType<typeof startRequests>;

/** Begins a task of several requests, with a time limit of its own. `check` throws once this process may send none. */
export function startRequests({ client, clock, random }: Omit<FollowerDeps, 'log'>, check: () => void) {
  const until = clock.monotonic() + PATIENCE_MS;
  let pauses = 0;
  return { once, pause, untilAnswered };

  /** One attempt. Rejects if `check` throws. */
  function once(request: KubeRequest): Promise<KubeAnswer> {
    check();
    return client.request({ timeoutMs: ATTEMPT_MS, ...request });
  }

  /** Waits before the next attempt, longer each time. Rejects with this reason when the time is up. */
  async function pause(reason: string): Promise<void> {
    const wait = backOffMs(pauses, FIRST_PAUSE_MS, LONGEST_PAUSE_MS) * (0.5 + 0.5 * random.next());
    pauses += 1;
    if (clock.monotonic() + wait >= until) throw new Error(reason);
    await clock.sleep(wait);
  }

  /** Attempts until there is an answer that another attempt would not change. For requests that may be sent twice. */
  async function untilAnswered(request: KubeRequest): Promise<Exclude<KubeAnswer, { type: 'unreachable' }>> {
    for (;;) {
      const answer = await once(request);
      if (answer.type === 'ok' || (answer.type === 'refused' && !isPassing(answer))) return answer;
      await pause(answerText(answer));
    }
  }
}

type NotOk = Exclude<KubeAnswer, { type: 'ok' }>;

/** Whether the server failed, not the request. It may have carried out the request. */
export function isPassing(answer: NotOk): boolean {
  return answer.type === 'unreachable' || answer.status >= 500 || answer.status === 429;
}

/** The answer for people. */
export function answerText(answer: NotOk): string {
  if (answer.type === 'unreachable') return `the API server does not answer: ${answer.message}`;
  return `the API server answered ${answer.status} ${answer.refusal.reason}: ${answer.refusal.message}`;
}
