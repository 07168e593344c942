import type { HoldingClaim, ObjectResult } from '../model/agent/agent.ts';
import type { AgentSettings } from '../model/agent/agent-settings.ts';
import type { FleetName } from '../model/fleet/ids.ts';
import type { SequencedDelta } from '../model/fleet/output.ts';
import type { Log } from '../ports/log.ts';
import type { RelayLimits } from './limits.ts';
import type { Link } from './link.ts';
import type { ServerListener } from './session.ts';
import type { ReadSubject, Refusal, TransferAnswer, Transfers } from './transfer.ts';
import type { ServerWelcome } from './wire/frames.ts';
import { resultRecords } from './wire/input.ts';
import { createOutputAssembler, holdingHead, holdingRecords } from './wire/output.ts';
import type { Assembler } from './wire/records.ts';
import { ProtocolError } from './wire/scalars.ts';

/** Results in one batch; with the longest messages such a batch is about 2 MB. */
const BATCH = 500;

/** The state of Pull that outlives a link. */
export interface PullMemory {
  /** The newest result per key that the server has not acknowledged, oldest key first. */
  readonly results: Map<string, ObjectResult>;
  /** Settles when no delta is being taken: the agent reports no holding while a delta changes it. Undefined: none is. */
  taking: Promise<void> | undefined;
}

/** Queues results; a newer result of a key replaces the unacknowledged one. */
export function queueResults({ results }: PullMemory, added: readonly ObjectResult[]): void {
  for (const result of added) {
    results.delete(result.key);
    results.set(result.key, result);
  }
}

interface PullDeps {
  readonly memory: PullMemory;
  readonly listener: ServerListener;
  readonly limits: RelayLimits;
  readonly log: Log;
  /** Receives roots (PEM) from a server of the right fleet. */
  readonly takeRoots: (roots: string) => void;
  readonly stream: () => PullStream;
}

interface PullStream {
  readonly link: Link;
  readonly transfers: Transfers;
  readonly welcome: Promise<ServerWelcome | undefined>;
}

/** The agent's end of a Pull stream. */
export type PullEnd = ReturnType<typeof createPullEnd>;

/** The agent's end of a Pull stream; `stream` is called after the stream is open. */
export function createPullEnd(deps: PullDeps) {
  const { listener, limits, memory, stream, takeRoots } = deps;
  /** A delta is not answered yet. */
  let answering = false;
  /** The server serves the right fleet, and knows the holding. */
  let reported = false;
  let earlyRoots: string | undefined;
  let pumping = false;
  let hasClaimed = false;
  const isOtherFleet = ({ fleet }: ServerWelcome): boolean => {
    const own = listener.fleet();
    if (own === undefined || own === fleet) return false;
    const message = `the objects in this cluster belong to the fleet ${own}, the server serves the fleet ${fleet}; nothing is changed`;
    stream().link.end({ code: 'refused', reason: 'OtherFleet', message });
    return true;
  };
  const noteReported = (): void => {
    reported = true;
    if (earlyRoots !== undefined) takeRoots(earlyRoots);
  };
  return {
    /** What the hello says of the holding; undefined while a delta changes it. */
    claim(): HoldingClaim | undefined {
      hasClaimed = memory.taking === undefined;
      return hasClaimed ? listener.claim() : undefined;
    },
    /** Takes the welcome, before any frame that follows it. */
    welcomed(welcome: ServerWelcome): void {
      if (!welcome.holdingKnown || isOtherFleet(welcome)) return;
      if (!hasClaimed) throw new ProtocolError('OutOfTurn', 'a holding is known that the hello does not claim');
      noteReported();
    },
    /** The assembler for a transfer from the server. */
    open(subject: ReadSubject, respond: TransferAnswer): Assembler {
      if (subject.case !== 'output') throw new ProtocolError('OutOfTurn', `a transfer of "${subject.case}" on Pull`);
      if (answering) throw new ProtocolError('OutOfTurn', 'a delta before the answer to the one before');
      return createOutputAssembler(subject.value, limits, (delta) => {
        answering = true;
        // The next delta may follow the answer at once.
        const answer: TransferAnswer = (refusal) => {
          answering = false;
          respond(refusal);
        };
        const taking = takeDelta(deps, delta, answer)
          .catch((error: unknown) => {
            deps.log.error('relay: answering an output failed', { error });
            stream().link.end({ code: 'lost', reason: 'Internal', message: 'answering an output failed' });
          })
          .finally(() => {
            if (memory.taking === taking) memory.taking = undefined;
          });
        memory.taking = taking;
      });
    },
    takeSettings(settings: AgentSettings): void {
      if (!reported) throw new ProtocolError('OutOfTurn', 'settings before the holding');
      listener.settings(settings);
    },
    takeRoots(roots: string): void {
      if (reported) takeRoots(roots);
      else earlyRoots = roots;
    },
    /**
     * Sends the holding, unless the server knows it. Then a removal that ends meanwhile reaches the server as a result. False:
     * the link ended first, or the server serves another fleet, which ends the link.
     */
    async reportHolding(welcome: ServerWelcome): Promise<boolean> {
      if (welcome.holdingKnown) return !stream().link.isOver();
      await memory.taking;
      if (isOtherFleet(welcome)) return false;
      noteReported();
      return sendHolding(deps);
    },
    /** Sends the queued results until the queue is empty or the link is over. */
    async pumpResults(): Promise<void> {
      if (pumping) return;
      pumping = true;
      while (await sendResults(deps)) {
        // Further results may be queued.
      }
      pumping = false;
    },
  };
}

function sendHolding({ listener, stream }: PullDeps): Promise<boolean> {
  const holding = listener.holding();
  return stream().transfers.send(holdingHead(holding), holdingRecords(holding));
}

/** Sends one batch; false if there is none or the link is over. */
async function sendResults({ memory: { results }, stream, log }: PullDeps): Promise<boolean> {
  const batch = [...results.values().take(BATCH)];
  if (batch.length === 0) return false;
  const welcome = await stream().welcome;
  if (welcome === undefined) return false;
  const records = resultRecords(batch, welcome.capabilities);
  const outcome = await stream().transfers.exchange({ case: 'results', value: {} }, records);
  if (outcome.type === 'over') return false;
  if (outcome.type === 'refused') log.error('relay: the server refused results', { count: batch.length });
  for (const result of batch) if (results.get(result.key) === result) results.delete(result.key);
  return true;
}

/** Passes a delta to the agent, which verifies it, and answers. If the answer is lost, the next holding replaces it. */
async function takeDelta(deps: PullDeps, delta: SequencedDelta, answer: TransferAnswer): Promise<void> {
  const { log, stream } = deps;
  const welcome = await stream().welcome;
  if (welcome === undefined) return;
  const refusal = await passOn(deps, delta, welcome.fleet);
  answer(refusal);
  const { position, upserts, touches, keeps, removals } = delta;
  if (refusal === undefined) {
    const counts = { put: upserts.length, touched: touches.length, kept: keeps.length, removed: removals.length };
    log.info('relay: an output was accepted', { position, ...counts });
    return;
  }
  log.warn('relay: an output was not accepted', { reason: refusal.reason, detail: refusal.message, position });
  await sendHolding(deps);
}

async function passOn(
  { listener, log }: PullDeps,
  delta: SequencedDelta,
  fleet: FleetName,
): Promise<Refusal | undefined> {
  try {
    const taken = await listener.delta(delta, fleet);
    return taken.accepted ? undefined : taken;
  } catch (error) {
    log.error('relay: taking an output failed', { error, position: delta.position });
    return { reason: 'Internal', message: 'the agent failed to take it; its log says why' };
  }
}
