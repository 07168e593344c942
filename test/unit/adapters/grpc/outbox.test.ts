import { expect, test } from 'vitest';
import { type ByteCall, createOutbox } from '../../../../src/adapters/grpc/stream.ts';

function fakeCall() {
  const written: ((error?: Error | null) => void)[] = [];
  const call: ByteCall = {
    on: () => undefined,
    pause: () => undefined,
    resume: () => undefined,
    write: (_message, callback) => written.push(callback),
    destroyed: false,
    writableEnded: false,
  };
  return { call, written };
}

test('a write resolves when it was taken, with whether it could be', async () => {
  const { call, written } = fakeCall();
  const outbox = createOutbox(call);
  const [good, bad] = [outbox.write(new Uint8Array()), outbox.write(new Uint8Array())];
  written[0]?.(null);
  written[1]?.(new Error('broken'));
  expect([await good, await bad]).toEqual([true, false]);
});

test('closing resolves waiting writes with false, and later messages are not written', async () => {
  const { call, written } = fakeCall();
  const outbox = createOutbox(call);
  const waiting = outbox.write(new Uint8Array());
  outbox.close();
  expect(await waiting).toBe(false);
  expect(await outbox.write(new Uint8Array())).toBe(false);
  expect(written).toHaveLength(1);
});
