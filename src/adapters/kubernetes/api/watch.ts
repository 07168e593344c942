import type { Clock } from '../../../ports/clock.ts';
import type { Credentials } from './credentials.ts';
import { raceAbort } from './deadline.ts';
import { MAX_EVENT_BYTES, WATCH_OPEN_MS } from './limits.ts';
import { networkErrorText } from './network-error.ts';
import { checkEncoding, discard, type Response, readAnswer, type ServerAddress, send } from './transport.ts';
import type { KubeWatchRequest, WatchEnd, WatchEvent } from './types.ts';
import { createLineReader, readWatchEvent } from './watch-events.ts';

/** Opens a watch and hands out its events until it ends. Never rejects. */
export async function openWatch(
  { clock, credentials }: { readonly clock: Clock; readonly credentials: Credentials },
  server: ServerAddress,
  userAgent: string,
  request: KubeWatchRequest,
  event: (event: WatchEvent) => void,
): Promise<WatchEnd> {
  if (request.signal.aborted) return { type: 'closed' };
  const silence = startSilence(clock, request.signal);
  try {
    silence.expectWithin(WATCH_OPEN_MS);
    const access = await raceAbort(credentials.access(), silence.signal);
    if (!access.ok) return broken(access.problem);
    const asked = { ...request, method: 'GET' as const };
    const response = await send(server, access.value, asked, userAgent, silence.signal);
    if (response.statusCode !== 200) return endOf(await readAnswer(response));
    request.opened?.();
    return await follow(response, () => silence.expectWithin(request.silentMs), request.signal, event);
  } catch (error) {
    if (request.signal.aborted) return { type: 'closed' };
    return broken(silence.silentFor() ?? networkErrorText(error));
  } finally {
    silence.end();
  }
}

function endOf(answer: Awaited<ReturnType<typeof readAnswer>>): WatchEnd {
  switch (answer.type) {
    case 'refused':
      return answer;
    case 'unreachable':
      return broken(answer.message);
    case 'ok':
      return broken(`a watch was answered with HTTP status ${answer.status}`);
  }
}

async function follow(
  response: Response,
  heard: () => void,
  signal: AbortSignal,
  event: (event: WatchEvent) => void,
): Promise<WatchEnd> {
  const encoding = checkEncoding(response);
  if (!encoding.ok) {
    discard(response);
    return broken(encoding.problem);
  }
  const lines = createLineReader(MAX_EVENT_BYTES);
  let wrong: string | undefined;
  heard();
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    heard();
    const taken = lines.push(chunk, (line) => {
      if (wrong !== undefined || signal.aborted) return;
      const read = readWatchEvent(line);
      if (read.ok) event(read.value);
      else wrong = read.problem;
    });
    if (signal.aborted) return { type: 'closed' };
    if (!taken) return broken(`an event is larger than ${MAX_EVENT_BYTES / 1024 / 1024} MiB`);
    if (wrong !== undefined) return broken(wrong);
  }
  return lines.pending() > 0 ? broken('it ended within an event') : { type: 'closed' };
}

/** Aborts when nothing has been heard for as long as was said last. */
function startSilence(clock: Clock, outer: AbortSignal) {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  outer.addEventListener('abort', abort, { once: true });
  let until = 0;
  let allowed = 0;
  let silent = false;
  let cancel: (() => void) | undefined;
  function look(): void {
    const left = until - clock.monotonic();
    if (left > 0) {
      cancel = clock.schedule(left, look);
      return;
    }
    silent = true;
    abort();
  }
  return {
    signal: controller.signal,
    /** The timer is moved only when the limit changes: a busy watch must not pay for it with each event. */
    expectWithin(milliseconds: number): void {
      until = clock.monotonic() + milliseconds;
      if (milliseconds === allowed) return;
      allowed = milliseconds;
      cancel?.();
      cancel = clock.schedule(milliseconds, look);
    },
    silentFor: () => (silent ? `nothing heard for ${Math.round(allowed / 1_000)} s` : undefined),
    end(): void {
      cancel?.();
      outer.removeEventListener('abort', abort);
    },
  };
}

function broken(message: string): WatchEnd {
  return { type: 'broken', message };
}
