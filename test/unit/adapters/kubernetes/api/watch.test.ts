import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLineReader, readWatchEvent } from '../../../../../src/adapters/kubernetes/api/watch.ts';

describe('lines of a watch', () => {
  it('are the same however the stream is cut, in the middle of a character too', () => {
    const text = fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replaceAll('\n', ' ')));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 7 }), (lines, size) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const reader = createLineReader(1_000_000);
        const read: string[] = [];
        for (let start = 0; start < bytes.length; start += size) {
          reader.push(bytes.subarray(start, start + size), (line) => read.push(line));
        }
        expect(read).toEqual(lines.filter((line) => line.trim() !== ''));
        expect(reader.pending()).toBe(0);
      }),
    );
  });

  it('have a longest length, within a chunk and over several', () => {
    const reader = createLineReader(10);
    const read: string[] = [];
    expect(reader.push(Buffer.from('0123456789\n01234'), (line) => read.push(line))).toBe(true);
    expect(reader.push(Buffer.from('56789'), (line) => read.push(line))).toBe(true);
    expect(reader.push(Buffer.from('x'), (line) => read.push(line))).toBe(false);
    expect(createLineReader(10).push(Buffer.from('0123456789x\n'), (line) => read.push(line))).toBe(false);
    expect(read).toEqual(['0123456789']);
  });
});

describe('an event of a watch', () => {
  it('that is an error carries the server’s status, reason and message', () => {
    const object = {
      kind: 'Status',
      code: 410,
      reason: 'Expired',
      message: 'too old',
      details: { retryAfterSeconds: 2 },
    };
    expect(readWatchEvent(JSON.stringify({ type: 'ERROR', object }))).toEqual({
      ok: true,
      value: {
        type: 'ERROR',
        status: 410,
        refusal: { reason: 'Expired', message: 'too old', causes: [], retryAfterMs: 2_000 },
      },
    });
    expect(readWatchEvent('{"type":"ERROR","object":{}}')).toMatchObject({ ok: true, value: { status: 500 } });
  });

  it('is refused if the line is any other text or JSON', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
        expect(readWatchEvent(line).ok).toBe(false);
      }),
    );
  });

  it('that is invalid is described without quoting the line', () => {
    expect(readWatchEvent('{"type":"ADDED","object":"secret"}')).toEqual({
      ok: false,
      problem: 'an event has no object',
    });
    expect(readWatchEvent('secret')).toEqual({ ok: false, problem: 'an event is not JSON' });
  });
});
