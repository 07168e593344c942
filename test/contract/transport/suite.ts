import { X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ClientConnection,
  type ClientTransport,
  type DialCredentials,
  type EndCode,
  type IncomingRegistration,
  type IncomingStream,
  MAX_MESSAGE_BYTES,
  type MessageStream,
  type RegistrationAnswer,
  type ServerTransport,
  type StreamMethod,
} from '../../../src/ports/transport.ts';
import { eventually } from '../../support/relay-poll.ts';

/** What a transport's suite needs: both ends of one. `client` is asked after the server has started. */
export interface TransportUnderTest {
  readonly server: ServerTransport;
  /** A certificate that the server believes; absent: this transport carries none. */
  readonly identity?: NonNullable<DialCredentials['identity']>;
  client(address: { readonly host: string; readonly port: number }): ClientTransport;
}

/** The promises of `ports/transport.ts`, for any implementation. */
export function describeTransport(name: string, make: () => Promise<TransportUnderTest>): void {
  describe(`transport: ${name}`, () => {
    let under: TransportUnderTest;
    let connection: ClientConnection;
    let dial: (identity?: TransportUnderTest['identity']) => ClientConnection;
    let registrations: IncomingRegistration[];
    let asked: string[];
    let answer: RegistrationAnswer;
    let incoming: IncomingStream[];
    let stopped: boolean;

    beforeEach(async () => {
      under = await make();
      incoming = [];
      stopped = false;
      const address = await under.server.start({
        stream: (stream) => incoming.push(stream),
        register: async (registration) => {
          registrations.push(registration);
          asked.push(Buffer.from((await registration.read()) ?? '').toString());
          return answer;
        },
      });
      registrations = [];
      asked = [];
      answer = { response: Buffer.from('certificate') };
      dial = (identity) => under.client(address).dial(identity === undefined ? undefined : { identity, roots: '' });
      connection = dial();
    });

    afterEach(async () => {
      connection.close();
      if (!stopped) await under.server.stop();
    });

    async function open(method: StreamMethod = 'Pull'): Promise<{ client: MessageStream; server: IncomingStream }> {
      const client = connection.open(method, { 'fleetrelay-cluster': 'east', authorization: 'Bearer abc' });
      await eventually('the stream arrives', () => incoming.length > 0);
      const server = incoming.shift();
      if (server === undefined) throw new Error('unreachable');
      return { client, server };
    }

    test.each(['Pull', 'Push'] as const)('%s arrives with its metadata and the peer', async (method) => {
      const { server } = await open(method);
      expect(server.method).toBe(method);
      expect(server.metadata).toMatchObject({ 'fleetrelay-cluster': 'east', authorization: 'Bearer abc' });
      expect(server.peer).not.toBe('');
    });

    test('a registration arrives with its metadata and the peer, and is answered', async () => {
      const answered = await connection.register(Buffer.from('request'), { 'fleetrelay-cluster': 'east' });
      expect(answered).toEqual({ response: expect.anything() });
      expect(Buffer.from('response' in answered ? answered.response : '').toString()).toBe('certificate');
      const [arrived] = registrations;
      expect(arrived?.metadata).toMatchObject({ 'fleetrelay-cluster': 'east' });
      expect(arrived?.peer).not.toBe('');
      expect(asked).toEqual(['request']);
    });

    test('a refused registration has a reason', async () => {
      answer = { refused: { code: 'unauthenticated', reason: 'WrongToken', message: 'no' } };
      expect(await connection.register(Buffer.from('request'), {})).toEqual(answer);
    });

    test('an end says when to come again', async () => {
      answer = { refused: { code: 'unavailable', reason: 'RateLimited', message: 'no', retryAfterMs: 43_000 } };
      expect(await connection.register(Buffer.from('request'), {})).toEqual(answer);
      const { client, server } = await open();
      server.end({ code: 'unavailable', reason: 'BecauseOfTest', message: '', retryAfterMs: 1_000 });
      expect(await client.ended).toMatchObject({ reason: 'BecauseOfTest', retryAfterMs: 1_000 });
    });

    test('a caller that shows no certificate has none', async () => {
      const { server } = await open();
      await connection.register(Buffer.from('request'), {});
      expect(server.certificate).toBeUndefined();
      expect(registrations[0]?.certificate).toBeUndefined();
    });

    test('a certificate that is shown arrives with each stream and registration of its connection', async (context) => {
      const { identity } = under;
      if (identity === undefined) return context.skip('this transport carries none');
      connection.close();
      connection = dial(identity);
      const streams = [await open('Pull'), await open('Push')];
      await connection.register(Buffer.from('request'), {});
      const shown = new X509Certificate(identity.certificate).raw;
      const arrived = [...streams.map(({ server }) => server), ...registrations].map(({ certificate }) => certificate);
      expect(arrived.map((certificate) => Buffer.from(certificate ?? '').equals(shown))).toEqual([true, true, true]);
    });

    test('messages arrive complete and in order, both ways', async () => {
      const { client, server } = await open();
      const sizes = [1, 0, 70_000, MAX_MESSAGE_BYTES, 3];
      for (const [writer, reader] of [
        [client, server],
        [server, client],
      ] as const) {
        const read: Uint8Array[] = [];
        const reading = (async () => {
          for (const _ of sizes) read.push((await reader.read()) ?? new Uint8Array(0));
        })();
        for (const size of sizes) expect(await writer.write(new Uint8Array(size).fill(size % 251))).toBe(true);
        await reading;
        expect(read.map((message) => [message.length, message.at(-1)])).toEqual(
          sizes.map((size) => [size, size === 0 ? undefined : size % 251]),
        );
      }
    });

    test.each<EndCode>(['done', 'unavailable', 'refused', 'unauthenticated', 'invalid', 'exhausted'])(
      'a server\'s end "%s" reaches the client after what was written',
      async (code) => {
        const { client, server } = await open();
        await server.write(Buffer.from('last words'));
        server.end({ code, reason: 'BecauseOfTest', message: 'naïve: 50 % of it' });
        expect(Buffer.from((await client.read()) ?? '').toString()).toBe('last words');
        expect(await client.read()).toBeUndefined();
        expect(await client.ended).toEqual({ code, reason: 'BecauseOfTest', message: 'naïve: 50 % of it' });
        expect(await server.ended).toMatchObject({ code, reason: 'BecauseOfTest' });
        expect(await server.write(Buffer.from('more'))).toBe(false);
        expect(await client.write(Buffer.from('more'))).toBe(false);
      },
    );

    test('only the first end counts', async () => {
      const { client, server } = await open();
      server.end({ code: 'refused', reason: 'First', message: '' });
      server.end({ code: 'invalid', reason: 'Second', message: '' });
      expect((await client.ended).reason).toBe('First');
    });

    test('when a client ends, the server reads the rest and can still answer', async () => {
      const { client, server } = await open();
      await client.write(Buffer.from('goodbye'));
      client.end({ code: 'done', reason: 'Stopping', message: '' });
      expect(await client.write(Buffer.from('more'))).toBe(false);
      expect(Buffer.from((await server.read()) ?? '').toString()).toBe('goodbye');
      expect(await server.read()).toBeUndefined();
      await server.write(Buffer.from('answer'));
      server.end({ code: 'done', reason: 'Closed', message: '' });
      expect(Buffer.from((await client.read()) ?? '').toString()).toBe('answer');
      expect((await client.ended).code).toBe('done');
    });

    test('closing the connection ends its streams at both ends', async () => {
      const { client, server } = await open();
      const reading = server.read();
      connection.close();
      expect((await server.ended).code).toBe('lost');
      expect(await reading).toBeUndefined();
      expect(await server.write(Buffer.from('x'))).toBe(false);
      expect((await client.ended).code).toBe('lost');
      expect(await client.read()).toBeUndefined();
    });

    test.each(['server', 'client'] as const)(
      'a %s that writes to a peer that does not read has to wait',
      async (who) => {
        const pair = await open();
        const [writer, reader] = who === 'server' ? [pair.server, pair.client] : [pair.client, pair.server];
        const message = new Uint8Array(MAX_MESSAGE_BYTES);
        const total = 64;
        let written = 0;
        const writing = (async () => {
          for (; written < total; written += 1) if (!(await writer.write(message))) break;
        })();
        // No way to wait for something not to happen but to give it its chance.
        let before = -1;
        while (before !== written) {
          before = written;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        expect(written).toBeLessThan(total / 2);
        for (let read = 0; read < total; read += 1) expect((await reader.read())?.length).toBe(message.length);
        await writing;
        expect(written).toBe(total);
      },
    );

    test('a message that is far too large ends the stream and nothing else', async () => {
      const first = await open();
      const second = await open();
      // A server may receive nothing of a stream before its first read.
      const reading = first.server.read();
      await first.client.write(new Uint8Array(8 * MAX_MESSAGE_BYTES));
      expect((await first.client.ended).code).toBe('exhausted');
      await first.server.ended;
      expect(await reading).toBeUndefined();
      await second.client.write(Buffer.from('still here'));
      expect(Buffer.from((await second.server.read()) ?? '').toString()).toBe('still here');
    });

    test('stopping ends open streams, and new ones are refused', async () => {
      const { client, server } = await open();
      await under.server.stop();
      stopped = true;
      expect(['lost', 'unavailable']).toContain((await client.ended).code);
      await server.ended;
      const late = connection.open('Pull', {});
      expect((await late.ended).code).toBe('lost');
      expect(await late.read()).toBeUndefined();
      expect(await late.write(Buffer.from('x'))).toBe(false);
      expect(incoming).toEqual([]);
    });
  });
}
