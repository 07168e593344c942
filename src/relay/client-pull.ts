import type { AgentSettings } from '../model/agent-settings.ts';
import type { FleetName } from '../model/ids.ts';
import type { SequencedDelta } from '../model/output.ts';
import type { Log } from '../ports/log.ts';
import type { ClientStream, ServerWelcome } from './client-link.ts';
import type { RelayLimits } from './limits.ts';
import type { ResultQueue } from './result-queue.ts';
import type { ServerListener } from './session.ts';
import type { ReadSubject } from './transfer-receiver.ts';
import { type Objection, verifyOutput } from './verify-output.ts';
import type { Assembler } from './wire/assembly.ts';
import { holdingHead, holdingRecords } from './wire/holding.ts';
import { createOutputAssembler } from './wire/output.ts';
import { ProtocolError } from './wire/protocol-error.ts';
import { resultRecords, resultsHead } from './wire/results.ts';
import { clipText, sendableReason } from './wire/scalars.ts';

/** The Pull stream's part of an agent's link. */
export interface PullEnd {
  /** For the transfers that the server sends on Pull. */
  open(subject: ReadSubject, transfer: bigint): Assembler;
  /** Settings have arrived. */
  settings(settings: AgentSettings): void;
  /** Roots (PEM) of the server's certificate have arrived. */
  roots(roots: string): void;
  /** Says what the agent holds; the first thing after the welcome. Leaves a server of another fleet: false. */
  sayHolding(welcome: ServerWelcome): Promise<boolean>;
  /** Sends what waits in the result queue, until it is empty or the link is over. */
  pumpResults(): Promise<void>;
}

/** The delta that the agent is taking. Outlasts a link: nobody says what is held while that is changing. */
export interface Taking {
  /** Settles when nothing is being taken. */
  pending: Promise<void>;
}

interface PullDeps {
  readonly taking: Taking;
  readonly listener: ServerListener;
  readonly results: ResultQueue;
  readonly limits: RelayLimits;
  readonly log: Log;
  /** Roots from a server of the right fleet. */
  readonly takeRoots: (roots: string) => void;
  /** The stream, once it is open. */
  readonly stream: () => ClientStream;
}

/** The agent's side of a Pull stream. */
export function createPullEnd(deps: PullDeps): PullEnd {
  const { results, limits, stream } = deps;
  let judging = false;
  let saidHolding = false;
  let pumping = false;
  let rootsBefore: string | undefined;
  return {
    open(subject, transfer) {
      if (subject.case !== 'output') throw new ProtocolError('OutOfTurn', `a transfer of "${subject.case}" on Pull`);
      if (judging) throw new ProtocolError('OutOfTurn', 'a delta before the one before it was answered');
      return createOutputAssembler(subject.value, limits, (delta) => {
        judging = true;
        const judged = (): void => {
          judging = false;
        };
        deps.taking.pending = answer(deps, delta, transfer, judged).catch((error: unknown) => {
          deps.log.error('relay: answering an output failed', { error });
          stream().link.end({ code: 'lost', reason: 'Internal', message: 'answering an output failed' });
        });
      });
    },
    settings(settings) {
      // Before that it is not certain that the server is this fleet's.
      if (!saidHolding) throw new ProtocolError('OutOfTurn', 'settings before the holding');
      deps.listener.settings(settings);
    },
    roots(roots) {
      if (saidHolding) deps.takeRoots(roots);
      else rootsBefore = roots;
    },
    async sayHolding({ fleet }) {
      await deps.taking.pending;
      const held = deps.listener.fleet();
      if (held === undefined || held === fleet) {
        saidHolding = true;
        if (rootsBefore !== undefined) deps.takeRoots(rootsBefore);
        return sayHolding(deps);
      }
      const message = `what is in this cluster belongs to the fleet ${held}, the server serves the fleet ${fleet}; nothing is changed`;
      stream().link.end({ code: 'refused', reason: 'OtherFleet', message });
      return false;
    },
    async pumpResults() {
      if (pumping) return;
      pumping = true;
      for (let batch = results.batch(); batch.length > 0; batch = results.batch()) {
        const outcome = await stream().sender.exchange(resultsHead(), resultRecords(batch));
        if (outcome.type === 'over') break;
        results.done(batch);
        if (!outcome.verdict.accepted) deps.log.error('relay: the server refused results', { count: batch.length });
      }
      pumping = false;
    },
  };
}

async function sayHolding({ listener, stream }: PullDeps): Promise<boolean> {
  const holding = listener.holding();
  return stream().sender.send(holdingHead(holding), holdingRecords(holding));
}

/** Checks a delta, lets the agent take it, and answers. The answer may be lost; the next holding tells. */
async function answer(deps: PullDeps, delta: SequencedDelta, transfer: bigint, judged: () => void): Promise<void> {
  const { link, welcome } = deps.stream();
  const welcomed = await welcome;
  if (welcomed === undefined) return;
  const objection = verifyOutput(delta, deps.listener.holding()) ?? (await take(deps, delta, welcomed.fleet));
  // The next one may come as soon as the answer is out.
  judged();
  if (objection === undefined) {
    deps.log.info('relay: an output was accepted', countsOf(delta));
    return link.post({ case: 'verdict', value: { transfer, accepted: true } });
  }
  const { reason, message } = objection;
  deps.log.warn('relay: an output was not accepted', { reason, detail: message, position: delta.position });
  const value = { transfer, accepted: false, reason: sendableReason(reason), message: clipText(message) };
  link.post({ case: 'verdict', value });
  await sayHolding(deps);
}

/** What a person who watches the agent wants to know of a delta. */
function countsOf({ position, upserts, touches, keeps, removals }: SequencedDelta) {
  return { position, put: upserts.length, touched: touches.length, kept: keeps.length, removed: removals.length };
}

async function take(
  { listener, log }: PullDeps,
  delta: SequencedDelta,
  fleet: FleetName,
): Promise<Objection | undefined> {
  try {
    const answered = await listener.delta(delta, fleet);
    return answered.accepted ? undefined : answered;
  } catch (error) {
    log.error('relay: taking an output failed', { error, position: delta.position });
    return { reason: 'Internal', message: 'the agent failed to take it; its log says why' };
  }
}
