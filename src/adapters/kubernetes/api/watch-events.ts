import { isJsonObject, type JsonValue } from '../../../model/json.ts';
import { ok, problem, type Result } from '../../../model/result.ts';
import { readStatus, refusalOfText } from './refusals.ts';
import type { WatchEvent } from './types.ts';

/** Cuts a stream into lines. */
export interface LineReader {
  /** Hands out each line that ends in `chunk`; false: a line is longer than allowed, and nothing more is taken. */
  push(chunk: Buffer, line: (text: string) => void): boolean;
  /** Bytes of a line that has not ended. */
  pending(): number;
}

/** Creates the reader; `longest` in bytes. No more than that is held at any time, beside one chunk. */
export function createLineReader(longest: number): LineReader {
  let parts: Buffer[] = [];
  let held = 0;
  return {
    push(chunk, line) {
      let rest = chunk;
      for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
        if (held + end > longest) return false;
        const last = rest.subarray(0, end);
        const text = held === 0 ? last.toString('utf8') : Buffer.concat([...parts, last]).toString('utf8');
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

/** Reads one line of a watch. The problem names what is wrong, not what was said. */
export function readWatchEvent(line: string): Result<WatchEvent> {
  let event: JsonValue;
  try {
    event = JSON.parse(line);
  } catch {
    return problem('an event is not JSON');
  }
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
