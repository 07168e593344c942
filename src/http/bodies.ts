import type { IncomingMessage } from 'node:http';
import { ofFullestNetworks } from '../model/limits/fullest-networks.ts';
import { networkOf } from '../model/text/ip-address.ts';

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
  /** Bytes of the buffer that holds it. */
  memory: number;
  refuse(reason: RefusedBody['reason'], message: string): void;
}

/** The memory is divided into this number of equal parts. A network whose bodies fit in one part loses none to a larger network. */
const PARTS = 16;

/**
 * `most`: bytes of one body. `mostAtOnce`: bytes of memory for all unfinished bodies. A body counts as far as it has arrived, not
 * with the length that it announces. When the memory is full, the network that holds the most loses its largest body, so that a
 * caller that only occupies memory displaces its own bodies. If no network holds more than one part, the oldest body is refused,
 * so that a body that arrives at once displaces a slow one.
 */
export function createBodies({ most, mostAtOnce }: { readonly most: number; readonly mostAtOnce: number }): Bodies {
  const arriving = new Set<Arriving>();
  let atOnce = 0;
  const tooLarge: RefusedBody = { ok: false, reason: 'TooLarge', message: `the body is at most ${most} bytes` };
  /** Counts the memory of a body before it is taken. False: the body was refused for it. */
  const hold = (one: Arriving, memory: number): boolean => {
    atOnce += memory - one.memory;
    one.memory = memory;
    while (atOnce > mostAtOnce) {
      surplus(arriving, mostAtOnce / PARTS)?.refuse('Unavailable', 'too many bytes of requests wait');
    }
    return arriving.has(one);
  };
  const receive = (request: IncomingMessage, resolve: (body: Body) => void): void => {
    const announced = Number(request.headers['content-length'] ?? most);
    let text: Buffer = Buffer.alloc(0);
    let bytes = 0;
    const end = (body: Body): void => {
      if (!arriving.delete(one)) return;
      atOnce -= one.memory;
      text = Buffer.alloc(0);
      request.off('data', take);
      resolve(body);
    };
    const one: Arriving = {
      network: networkOf(request.socket.remoteAddress ?? ''),
      memory: 0,
      refuse: (reason, message) => end({ ok: false, reason, message }),
    };
    const take = (chunk: Buffer): void => {
      const after = bytes + chunk.length;
      if (after > most) {
        end(tooLarge);
        return;
      }
      // One buffer, because a list of small chunks would take many times their bytes.
      if (after > text.length) {
        const length = Math.max(after, Math.min(announced, most, text.length * 2));
        if (!hold(one, length)) return;
        text = grown(text, length);
      }
      text.set(chunk, bytes);
      bytes = after;
    };
    arriving.add(one);
    request.on('data', take);
    request.once('end', () => end({ ok: true, bytes: text.subarray(0, bytes) }));
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

/** The body to refuse. `part`: memory that no network loses while another one holds more. The oldest of `arriving` come first. */
function surplus(arriving: ReadonlySet<Arriving>, part: number): Arriving | undefined {
  const holding = [...arriving].filter(({ memory }) => memory > 0);
  const { items, weight } = ofFullestNetworks(
    holding,
    ({ network }) => network,
    ({ memory }) => memory,
  );
  if (weight <= part) return holding[0];
  return items.reduce((largest, one) => (one.memory > largest.memory ? one : largest));
}
