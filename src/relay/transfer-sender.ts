import type { MessageInitShape } from '@bufbuild/protobuf';
import type { BeginSchema, ChunkAck, Verdict } from '../../generated/relay_pb.ts';
import { createTurns, type InTurn } from '../model/in-turn.ts';
import type { Clock } from '../ports/clock.ts';
import type { RelayLimits } from './limits.ts';
import type { Link } from './link.ts';
import { packChunks, type RecordInit } from './wire/chunks.ts';
import { ProtocolError } from './wire/protocol-error.ts';

/** What a transfer is about: the head that opens it. */
export type TransferSubject = NonNullable<MessageInitShape<typeof BeginSchema>['subject']>;

/** What became of an exchange; `over`: the link ended before the answer. */
export type ExchangeOutcome =
  | { readonly type: 'answered'; readonly verdict: Verdict; readonly transfer: bigint }
  | { readonly type: 'over' };

/**
 * Sends the transfers of one direction of a link, one after the other. Chunks are made one at a time, when the link
 * takes one and the window of unacknowledged ones is not full: a slow reader costs the memory of a few chunks.
 */
export interface TransferSender {
  /** Sends a transfer that needs no answer: true when all of it is with the transport. */
  send(subject: TransferSubject, records: Iterable<RecordInit>): Promise<boolean>;
  /** Sends a transfer and waits for its verdict. */
  exchange(subject: TransferSubject, records: Iterable<RecordInit>): Promise<ExchangeOutcome>;
  /** The peer's frames about these transfers. Throw a {@link ProtocolError} when they do not fit. */
  acknowledged(ack: ChunkAck): void;
  answered(verdict: Verdict): void;
  /** The peer's window, once it is known. */
  setWindow(chunks: number): void;
}

interface Transfer {
  readonly number: bigint;
  sent: number;
  acknowledged: number;
  complete: boolean;
  /** Wakes the sender up after an acknowledgement. */
  wake: () => void;
  /** Undefined if the link ended first. */
  readonly verdict: PromiseWithResolvers<Verdict | undefined> | undefined;
}

interface SenderState {
  readonly deps: SenderDeps;
  window: number;
  last: bigint;
  current: Transfer | undefined;
  /** One transfer after the other. */
  readonly inTurn: InTurn;
}

interface SenderDeps {
  readonly link: Link;
  readonly clock: Clock;
  readonly limits: RelayLimits;
}

/** A sender over a link; the owner passes the peer's acknowledgements and verdicts on. */
export function createTransferSender(deps: SenderDeps): TransferSender {
  const state: SenderState = { deps, window: 1, last: 0n, current: undefined, inTurn: createTurns() };
  // Once, and not at each wait: a promise keeps whoever waits for it, and a link lives for months.
  void deps.link.over.then(() => {
    state.current?.wake();
    state.current?.verdict?.resolve(undefined);
  });
  return {
    setWindow(chunks) {
      state.window = Math.max(1, chunks);
    },
    send: (subject, records) => state.inTurn(() => transmit(state, subject, records, begin(state, false))),
    exchange: (subject, records) => state.inTurn(() => exchange(state, subject, records)),
    acknowledged(ack) {
      const transfer = state.current;
      if (transfer === undefined || ack.transfer !== transfer.number) {
        // The acknowledgement of a transfer's last chunks may cross with the next transfer's begin.
        if (ack.transfer > 0n && ack.transfer <= state.last) return;
        throw new ProtocolError('OutOfTurn', 'an acknowledgement of a transfer that does not exist');
      }
      if (ack.received > transfer.sent) throw new ProtocolError('OutOfTurn', 'an acknowledgement of unsent chunks');
      transfer.acknowledged = Math.max(transfer.acknowledged, ack.received);
      transfer.wake();
    },
    answered(verdict) {
      const transfer = state.current;
      if (transfer?.verdict === undefined || verdict.transfer !== transfer.number || !transfer.complete) {
        throw new ProtocolError('OutOfTurn', 'an answer to nothing');
      }
      transfer.acknowledged = transfer.sent;
      transfer.verdict.resolve(verdict);
    },
  };
}

function begin(state: SenderState, answered: boolean): Transfer {
  state.last += 1n;
  const verdict = answered ? Promise.withResolvers<Verdict | undefined>() : undefined;
  return { number: state.last, sent: 0, acknowledged: 0, complete: false, wake: () => {}, verdict };
}

async function exchange(
  state: SenderState,
  subject: TransferSubject,
  records: Iterable<RecordInit>,
): Promise<ExchangeOutcome> {
  const { link, clock, limits } = state.deps;
  const transfer = begin(state, true);
  if (!(await transmit(state, subject, records, transfer)) || transfer.verdict === undefined) return { type: 'over' };
  const cancel = clock.schedule(limits.verdictMs, () => {
    const message = `no answer to a transfer within ${limits.verdictMs / 1000} s`;
    link.end({ code: 'lost', reason: 'NoVerdict', message });
  });
  const verdict = await transfer.verdict.promise;
  cancel();
  state.current = undefined;
  return verdict === undefined ? { type: 'over' } : { type: 'answered', verdict, transfer: transfer.number };
}

/** Sends begin and chunks; leaves `current` set for an answer to come. */
async function transmit(
  state: SenderState,
  subject: TransferSubject,
  records: Iterable<RecordInit>,
  transfer: Transfer,
): Promise<boolean> {
  const { link } = state.deps;
  state.current = transfer;
  if (!(await link.send({ case: 'begin', value: { transfer: transfer.number, subject } }))) return false;
  for (const { compressed, data, last } of packChunks(records)) {
    if (!(await roomInWindow(state, transfer))) return false;
    const index = transfer.sent;
    transfer.sent += 1;
    transfer.complete = last;
    const value = { transfer: transfer.number, index, compressed, data, last };
    if (!(await link.send({ case: 'chunk', value }))) return false;
  }
  if (transfer.verdict === undefined) state.current = undefined;
  return true;
}

async function roomInWindow(state: SenderState, transfer: Transfer): Promise<boolean> {
  const { link, clock, limits } = state.deps;
  while (!link.isOver() && transfer.sent - transfer.acknowledged >= state.window) {
    const { promise, resolve } = Promise.withResolvers<void>();
    transfer.wake = resolve;
    const cancel = clock.schedule(limits.stallMs, () => {
      const message = `the peer has acknowledged nothing for ${limits.stallMs / 1000} s`;
      link.end({ code: 'lost', reason: 'PeerStalled', message });
    });
    await promise;
    cancel();
  }
  return !link.isOver();
}
