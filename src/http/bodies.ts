import type { IncomingMessage } from 'node:http';
import { networkOf } from '../model/ip-address.ts';

/** The bytes of a body, or why there are none; `message` is for the caller. */
export type Body = { readonly ok: true; readonly bytes: Uint8Array } | RefusedBody;

/** A body that is not received. */
export interface RefusedBody {
  readonly ok: false;
  /** `TooLarge`: it has more bytes than a body may have. `Unavailable`: too many bytes of other bodies wait. `Invalid`: it broke off. */
  readonly reason: 'TooLarge' | 'Unavailable' | 'Invalid';
  readonly message: string;
}

/** Receives the bodies of requests. */
export interface Bodies {
  /** Resolves when the body is complete or refused; never rejects. Once for each request. */
  receive(request: IncomingMessage): Promise<Body>;
}

/** A body of which some bytes have arrived. */
interface Arriving {
  readonly network: string;
  bytes: number;
  refuse(reason: RefusedBody['reason'], message: string): void;
}

/**
 * `most`: bytes of one body. `mostAtOnce`: bytes of all unfinished bodies, which count as far as they have arrived, whatever
 * length they announce. Of too many bytes, the network that has sent the most of them loses its largest body: a caller that
 * only occupies memory displaces its own bodies, and not those of others.
 */
export function createBodies({ most, mostAtOnce }: { readonly most: number; readonly mostAtOnce: number }): Bodies {
  const arriving = new Set<Arriving>();
  let atOnce = 0;
  const tooLarge: RefusedBody = { ok: false, reason: 'TooLarge', message: `the body is at most ${most} bytes` };
  const receive = (request: IncomingMessage, resolve: (body: Body) => void): void => {
    let text: Buffer = Buffer.alloc(0);
    const end = (body: Body): void => {
      if (!arriving.delete(one)) return;
      atOnce -= one.bytes;
      text = Buffer.alloc(0);
      request.off('data', take);
      resolve(body);
    };
    const one: Arriving = {
      network: networkOf(request.socket.remoteAddress ?? ''),
      bytes: 0,
      refuse: (reason, message) => end({ ok: false, reason, message }),
    };
    const take = (chunk: Buffer): void => {
      const before = one.bytes;
      one.bytes += chunk.length;
      atOnce += chunk.length;
      if (one.bytes > most) {
        end(tooLarge);
        return;
      }
      // One buffer, because a list of small chunks would take many times their bytes.
      if (one.bytes > text.length) text = grown(text, Math.min(most, Math.max(one.bytes, text.length * 2)));
      text.set(chunk, before);
      while (atOnce > mostAtOnce) largestOfFullest(arriving)?.refuse('Unavailable', 'too many bytes of requests wait');
    };
    arriving.add(one);
    request.on('data', take);
    request.once('end', () => end({ ok: true, bytes: text.subarray(0, one.bytes) }));
    for (const event of ['error', 'close']) request.once(event, () => one.refuse('Invalid', 'the body broke off'));
  };
  return {
    receive: (request) =>
      new Promise((resolve) => {
        if (Number(request.headers['content-length'] ?? 0) > most) resolve(tooLarge);
        else if (request.destroyed) resolve({ ok: false, reason: 'Invalid', message: 'the connection was closed' });
        else receive(request, resolve);
      }),
  };
}

function grown(buffer: Buffer, length: number): Buffer {
  const larger = Buffer.alloc(length);
  larger.set(buffer);
  return larger;
}

function largestOfFullest(arriving: ReadonlySet<Arriving>): Arriving | undefined {
  const sums = new Map<string, number>();
  for (const { network, bytes } of arriving) sums.set(network, (sums.get(network) ?? 0) + bytes);
  const sumOf = ({ network }: Arriving): number => sums.get(network) ?? 0;
  const [first, ...others] = arriving;
  return others.reduce<Arriving | undefined>((largest, one) => {
    const more = largest === undefined ? 1 : sumOf(one) - sumOf(largest) || one.bytes - largest.bytes;
    return more > 0 ? one : largest;
  }, first);
}
