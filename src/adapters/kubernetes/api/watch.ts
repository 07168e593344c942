import type { IncomingMessage } from 'node:http';
import { isJsonObject, parseJson } from '../../../model/text/json.ts';
import { ok, problem, type Result } from '../../../model/values/result.ts';
import type { Clock } from '../../../ports/clock.ts';
import { checkEncoding, readAnswer, readStatus, refusalOfText } from './answer.ts';
import { MAX_EVENT_BYTES, WATCH_OPEN_MS } from './limits.ts';
import { networkErrorText } from './network-error.ts';
import type { KubeWatchRequest, WatchEnd, WatchEvent } from './types.ts';

/** Opens a watch and calls `event` for each of its events until it ends. `open` sends the request. Never rejects. */
export async function readWatch(
  clock: Clock,
  open: (signal: AbortSignal) => Promise<Result<IncomingMessage>>,
  request: KubeWatchRequest,
  event: (event: WatchEvent) => void,
): Promise<WatchEnd> {
  if (request.signal.aborted) return { type: 'closed' };
  const silence = createSilenceTimer(clock);
  try {
    silence.allow(WATCH_OPEN_MS);
    const opened = await open(AbortSignal.any([request.signal, silence.signal]));
    if (!opened.ok) return broken(opened.problem);
    if (opened.value.statusCode !== 200) return endOf(await readAnswer(opened.value));
    request.opened?.();
    return await readEvents(opened.value, () => silence.allow(request.silentMs), request.signal, event);
  } catch (error) {
    if (request.signal.aborted) return { type: 'closed' };
    return broken(silence.problem() ?? networkErrorText(error));
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

async function readEvents(
  response: IncomingMessage,
  received: () => void,
  signal: AbortSignal,
  event: (event: WatchEvent) => void,
): Promise<WatchEnd> {
  const encoding = checkEncoding(response);
  if (!encoding.ok) return broken(encoding.problem);
  const lines = createLineReader(MAX_EVENT_BYTES);
  let wrong: string | undefined;
  received();
  for await (const chunk of response as AsyncIterable<Buffer>) {
    received();
    const fits = lines.push(chunk, (line) => {
      if (wrong !== undefined || signal.aborted) return;
      const read = readWatchEvent(line);
      if (read.ok) event(read.value);
      else wrong = read.problem;
    });
    if (signal.aborted) return { type: 'closed' };
    if (!fits) return broken(`an event is larger than ${MAX_EVENT_BYTES / 1024 / 1024} MiB`);
    if (wrong !== undefined) return broken(wrong);
  }
  return lines.pending() > 0 ? broken('it ended within an event') : { type: 'closed' };
}

/** Aborts its signal when `allow` was not called again within the time that its last call allowed. */
function createSilenceTimer(clock: Clock) {
  const controller = new AbortController();
  let until = 0;
  let allowed = 0;
  let cancel: (() => void) | undefined;
  function check(): void {
    const left = until - clock.monotonic();
    if (left > 0) cancel = clock.schedule(left, check);
    else controller.abort();
  }
  return {
    signal: controller.signal,
    /** Allows this much silence from now on. Events are frequent, so the timer is replaced only if the limit differs. */
    allow(milliseconds: number): void {
      until = clock.monotonic() + milliseconds;
      if (milliseconds === allowed) return;
      allowed = milliseconds;
      cancel?.();
      cancel = clock.schedule(milliseconds, check);
    },
    problem: () => (controller.signal.aborted ? `nothing heard for ${Math.round(allowed / 1_000)} s` : undefined),
    end: () => cancel?.(),
  };
}

function broken(message: string): WatchEnd {
  return { type: 'broken', message };
}

/** Cuts a stream into lines. */
export interface LineReader {
  /** Calls `line` for each line that ends in `chunk`. Returns false if a line is too long; nothing more is taken then. */
  push(chunk: Buffer, line: (text: string) => void): boolean;
  /** Bytes of the line that has not ended. */
  pending(): number;
}

/** Creates a reader that holds at most `longest` bytes and one chunk. */
export function createLineReader(longest: number): LineReader {
  let parts: Buffer[] = [];
  let held = 0;
  return {
    push(chunk, line) {
      let rest = chunk;
      for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
        if (held + end > longest) return false;
        const text = Buffer.concat([...parts, rest.subarray(0, end)]).toString('utf8');
        parts = [];
        held = 0;
        rest = rest.subarray(end + 1);
        if (text.trim() !== '') line(text);
      }
      if (held + rest.length > longest) return false;
      if (rest.length > 0) parts.push(rest);
      held += rest.length;
      return true;
    },
    pending: () => held,
  };
}

/** Reads one line of a watch. The problem never quotes the line, which can hold secrets. */
export function readWatchEvent(line: string): Result<WatchEvent> {
  const event = parseJson(line);
  if (event === undefined) return problem('an event is not JSON');
  if (!isJsonObject(event) || !isJsonObject(event.object)) return problem('an event has no object');
  const { type, object } = event;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return ok({ type, object });
    case 'ERROR': {
      const status = typeof object.code === 'number' ? object.code : 500;
      return ok({ type, status, refusal: readStatus(object) ?? refusalOfText(status, 'an error without a Status') });
    }
    default:
      return problem(`an event has the type ${JSON.stringify(type)?.slice(0, 40)}`);
  }
}
