import type { Clock } from '../ports/clock.ts';
import { CHUNK_BYTES, type RelayLimits } from './limits.ts';
import type { Link } from './link.ts';
import type { TransferAccount, TransferMemory } from './transfer-memory.ts';
import type { Frame } from './wire/frames.ts';
import { ProtocolError } from './wire/scalars.ts';

/** A frame that carries a transfer. */
export type TransferFrame = Extract<Frame, { case: 'begin' | 'chunk' }>;

/** Reads the frames of transfers. */
export interface Receiver {
  take(frame: TransferFrame): void;
  /** The memory that the open transfer takes. */
  bytes(): number;
  isOpen(): boolean;
  /** Tells the sender again what was read, so that it does not take this end for stalled. */
  acknowledgeAgain(): void;
}

/**
 * Passes frames on in their order. A chunk waits until there is memory for it, and all frames after it wait too; the sender stops
 * after a window of unacknowledged chunks. A transfer whose sender stops for `stallMs` ends the link, because it holds memory.
 */
export function inOrder(
  {
    link,
    clock,
    limits,
    memory,
  }: {
    readonly link: Link;
    readonly clock: Clock;
    readonly limits: RelayLimits;
    readonly memory?: TransferMemory;
  },
  receiver: Receiver,
): (frame: TransferFrame) => void {
  if (memory === undefined) return receiver.take;
  const waiting: TransferFrame[] = [];
  let account: TransferAccount | undefined;
  /** Memory for the first of the waiting frames is held. */
  let isGranted = false;
  let cancel = (): void => {};
  const close = (): void => {
    cancel();
    account?.close();
    account = undefined;
  };
  void link.over.then(() => {
    waiting.length = 0;
    close();
  });
  const stalled = (): void => {
    const message = `nothing of an open transfer has arrived for ${limits.stallMs / 1000} s`;
    link.end({ code: 'lost', reason: 'TransferStalled', message });
  };
  const stillWaiting = (): void => {
    receiver.acknowledgeAgain();
    cancel = clock.schedule(limits.stallMs / 3, stillWaiting);
  };
  const resume = (): void => {
    isGranted = true;
    try {
      advance();
    } catch (error) {
      link.fail(error);
    }
  };
  const advance = (): void => {
    for (let frame = waiting[0]; frame !== undefined && !link.isOver(); frame = waiting[0]) {
      cancel();
      if (frame.case === 'chunk' && receiver.isOpen()) {
        account ??= memory.open(link.end);
        if (!isGranted && !account.reserve(CHUNK_BYTES, resume)) {
          stillWaiting();
          return;
        }
      }
      isGranted = false;
      waiting.shift();
      receiver.take(frame);
      if (receiver.isOpen()) {
        cancel = clock.schedule(limits.stallMs, stalled);
        account?.hold(receiver.bytes());
      } else close();
    }
    if (waiting.length === 0) account?.queue(0);
  };
  return (frame) => {
    waiting.push(frame);
    if (waiting.length > 1) {
      // The end of one transfer and the beginning of the next one.
      if (waiting.length > 2 * (limits.window + 1)) {
        throw new ProtocolError('WindowExceeded', `more than ${limits.window} unacknowledged chunks`);
      }
      const bytes = waiting.reduce((sum, each) => sum + (each.case === 'chunk' ? each.value.data.length : 0), 0);
      if (account?.queue(bytes) === false) {
        throw new ProtocolError('Busy', 'too many transfers wait for memory', 'unavailable');
      }
      return;
    }
    advance();
  };
}
