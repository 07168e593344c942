import type { Clock } from '../../../ports/clock.ts';
import type { Random } from '../../../ports/random.ts';
import type { Credentials } from './credentials.ts';
import { raceAbort, startDeadline } from './deadline.ts';
import { REQUEST_MS, THROTTLED_LONGEST_MS, THROTTLED_RETRIES } from './limits.ts';
import { networkErrorText } from './network-error.ts';
import { readAnswer, type ServerAddress, send } from './transport.ts';
import type { KubeAnswer, KubeClient, KubeRequest } from './types.ts';
import { openWatch } from './watch.ts';

/** What is asked for as this comes as the member `text` of the body. */
const TEXT = 'text/plain';

export interface KubeClientDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly credentials: Credentials;
}

export interface KubeClientOptions {
  /** `https://HOST:PORT`, with a path if the API server stands behind something. */
  readonly server: string;
  /** `fleetrelay-agent/VERSION`. */
  readonly userAgent: string;
}

/** Speaks to one API server. Opens no connection before the first request. */
export function createKubeClient(deps: KubeClientDeps, options: KubeClientOptions): KubeClient {
  const { credentials } = deps;
  const url = new URL(options.server);
  const server: ServerAddress = { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
  return {
    server: options.server,
    request: (request) =>
      requestWithRetries(deps, (signal) => requestOnce(deps, server, options, request, signal), request),
    async watch(request, event) {
      const watch = () => openWatch(deps, server, options.userAgent, request, event);
      const end = await watch();
      if (end.type !== 'refused' || end.status !== 401) return end;
      credentials.forget();
      return await watch();
    },
    close: () => credentials.close(),
  };
}

async function requestWithRetries(
  { clock, random, credentials }: KubeClientDeps,
  once: (signal: AbortSignal) => Promise<KubeAnswer>,
  { timeoutMs = REQUEST_MS, signal, maySend }: KubeRequest,
): Promise<KubeAnswer> {
  const deadline = startDeadline(clock, timeoutMs, signal);
  try {
    let renewed = false;
    for (let throttled = 0; ; ) {
      const answer = await once(deadline.signal);
      if (deadline.signal.aborted && answer.type === 'unreachable') {
        return unreachable(deadline.expired() ? `no answer within ${timeoutMs} ms` : 'called off');
      }
      if (answer.type !== 'refused') return answer;
      if (answer.status === 401 && !renewed) {
        renewed = true;
        credentials.forget();
        continue;
      }
      if (answer.status !== 429 || throttled === THROTTLED_RETRIES) return answer;
      throttled += 1;
      const asked = Math.min(answer.refusal.retryAfterMs ?? 1_000, THROTTLED_LONGEST_MS);
      const wait = asked + (asked * random.next()) / 4;
      if (wait >= deadline.left()) return answer;
      await clock.sleep(wait, deadline.signal);
      if (deadline.signal.aborted || maySend?.() === false) return answer;
    }
  } finally {
    deadline.end();
  }
}

async function requestOnce(
  { credentials }: KubeClientDeps,
  server: ServerAddress,
  { server: name, userAgent }: KubeClientOptions,
  request: KubeRequest,
  signal: AbortSignal,
): Promise<KubeAnswer> {
  try {
    const access = await raceAbort(credentials.access(), signal);
    if (!access.ok) return unreachable(access.problem);
    if (request.maySend?.() === false) return unreachable('called off before it was sent');
    const answer = await readAnswer(
      await send(server, access.value, request, userAgent, signal),
      request.accept?.startsWith(TEXT) === true,
    );
    return answer.type === 'unreachable' ? { ...answer, message: `${name}: ${answer.message}` } : answer;
  } catch (error) {
    return unreachable(`${name}: ${networkErrorText(error)}`);
  }
}

function unreachable(message: string): KubeAnswer {
  return { type: 'unreachable', message };
}
