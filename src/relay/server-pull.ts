import { TAKES_ROOTS, TAKES_SETTINGS } from '../model/agent.ts';
import type { SequencedDelta } from '../model/output.ts';
import type { StreamEnd } from '../ports/transport.ts';
import type { ClusterSlot, Greeted, PullStream, ServerState } from './server-state.ts';
import { endOfAdmission, welcomeFrame } from './server-welcome.ts';
import type { AgentSession, SendOutcome } from './session.ts';
import { createTransferReceiver, type ReadSubject, type TransferReceiver } from './transfer-receiver.ts';
import { createTransferSender } from './transfer-sender.ts';
import type { Assembler } from './wire/assembly.ts';
import { ObjectTooLargeError } from './wire/encode.ts';
import type { Frame } from './wire/frame.ts';
import { createHoldingAssembler } from './wire/holding.ts';
import { outputHead, outputRecords } from './wire/output.ts';
import { ProtocolError } from './wire/protocol-error.ts';
import { rootsFrame } from './wire/register.ts';
import { createResultsAssembler } from './wire/results.ts';
import { readReason, readText } from './wire/scalars.ts';
import { settingsFrame } from './wire/settings.ts';

/** How far the clocks of two servers of a fleet may differ. */
const DAY_MS = 24 * 60 * 60 * 1000;

const SUPERSEDED = 'a newer stream of the same agent, or of the agent that follows it, has taken its place';

/**
 * Judges and welcomes a Pull stream. An agent that comes back (the same instance) ends its own old stream. Another
 * instance of the same cluster id first makes the old one prove that it lives: if it does not answer, it is gone before
 * the listener judges; if it does, the listener sees two live ones.
 */
export async function welcomePull(greeted: Greeted): Promise<void> {
  const { state, slot, link, hello } = greeted;
  const old = slot.pull;
  if (old !== undefined && old.hello.instance === hello.instance) {
    closePull(state, slot, old, { code: 'unavailable', reason: 'Superseded', message: SUPERSEDED });
  } else if (old !== undefined && old.hello.clusterId === hello.clusterId) {
    const alive = await old.link.probe(state.limits.probeMs);
    if (!alive) closePull(state, slot, old, { code: 'lost', reason: 'PeerSilent', message: 'it answered no ping' });
  }
  if (link.isOver()) return;
  const admission = state.listener.admit(hello, greeted.certificate);
  if (admission.type !== 'admitted') return link.end(endOfAdmission(admission));
  if (slot.pull !== undefined) {
    closePull(state, slot, slot.pull, { code: 'unavailable', reason: 'Superseded', message: SUPERSEDED });
  }
  startPull(greeted);
}

function startPull(greeted: Greeted): void {
  const { state, slot, link } = greeted;
  const { clock } = state.deps;
  const pull = createPullStream(greeted);
  slot.pull = pull;
  void link.over.then((end) => closePull(state, slot, pull, end));
  greeted.onFrame(createPullReader(state, slot, pull));
  link.post(welcomeFrame(greeted));
  sayRoots(state, pull);
  const cancel = clock.schedule(state.limits.verdictMs, () => {
    link.end({ code: 'lost', reason: 'NoHolding', message: 'the agent did not say in time what it holds' });
  });
  void pull.established.promise.then(cancel);
}

/** Tells an agent the roots as they are now, if it takes them. */
export function sayRoots({ deps: { roots } }: ServerState, { hello, link }: PullStream): void {
  if (roots !== undefined && hello.capabilities.includes(TAKES_ROOTS)) link.post(rootsFrame(roots.current()));
}

function createPullStream({ state, link, hello, certificate, peerLimits }: Greeted): PullStream {
  const sender = createTransferSender({ link, clock: state.deps.clock, limits: state.limits });
  sender.setWindow(peerLimits.window);
  const session: AgentSession = {
    hello,
    send(delta) {
      if (pull.sending !== undefined) throw new Error(`a delta is being sent to ${hello.cluster} already`);
      const sending = sendDelta(state, pull, delta, peerLimits.objectBytes);
      pull.sending = sending;
      return sending.finally(() => {
        pull.sending = undefined;
      });
    },
    settings(settings) {
      if (!hello.capabilities.includes(TAKES_SETTINGS)) return;
      const frame = settingsFrame(settings);
      if (frame === undefined)
        state.deps.log.error('relay: the settings are nothing that an agent takes', { cluster: hello.cluster });
      else link.post(frame);
    },
    probe: () => link.probe(state.limits.probeMs),
    close(kind, reason, message) {
      link.end({ code: kind === 'drain' ? 'unavailable' : 'refused', reason, message });
    },
  };
  const pull: PullStream = {
    hello,
    link,
    sender,
    session,
    certificate,
    established: Promise.withResolvers<boolean>(),
    phase: 'greeting',
    holding: undefined,
    owedHolding: undefined,
    holdingDue: false,
    sending: undefined,
  };
  return pull;
}

/** Ends a Pull stream and tells the listener, once, before anything else happens. */
export function closePull(state: ServerState, slot: ClusterSlot, pull: PullStream, end: StreamEnd): void {
  if (pull.phase === 'gone') return;
  const wasEstablished = pull.phase === 'established';
  pull.phase = 'gone';
  if (slot.pull === pull) slot.pull = undefined;
  pull.link.end(end);
  pull.established.resolve(false);
  pull.owedHolding?.resolve(undefined);
  const reason = `${end.reason}: ${end.message}`;
  if (wasEstablished) state.listener.disconnected(pull.session, reason);
  else if (end.code === 'invalid') state.listener.broken(pull.hello.cluster, reason);
}

function createPullReader(state: ServerState, slot: ClusterSlot, pull: PullStream): (frame: Frame) => void {
  const { link, sender } = pull;
  const receiver: TransferReceiver = createTransferReceiver({ link, limits: state.limits }, (subject, transfer) =>
    openTransfer(state, slot, pull, subject, transfer),
  );
  return (frame) => {
    switch (frame.case) {
      case 'begin':
        return receiver.begin(frame.value);
      case 'chunk':
        return receiver.chunk(frame.value);
      case 'chunkAck':
        return sender.acknowledged(frame.value);
      case 'verdict':
        readVerdict(frame.value);
        // Before the sender of the delta wakes up: the holding may be in the very next frame.
        if (!frame.value.accepted) {
          pull.owedHolding = Promise.withResolvers();
          pull.holdingDue = true;
        }
        return sender.answered(frame.value);
      default:
        throw new ProtocolError('OutOfTurn', `a frame "${frame.case}" on an open Pull stream`);
    }
  };
}

function readVerdict(verdict: { readonly accepted: boolean; readonly reason: string; readonly message: string }): void {
  if (verdict.accepted) return;
  readReason(verdict.reason);
  readText(verdict.message);
}

/** The highest epoch that the fleet can be in. One that it is known to have begun counts, whatever the clock says since. */
function latestEpoch({ deps, listener }: ServerState): number {
  return Math.max(deps.clock.now() + DAY_MS, listener.latestEpoch());
}

function openTransfer(
  state: ServerState,
  slot: ClusterSlot,
  pull: PullStream,
  subject: ReadSubject,
  transfer: bigint,
): Assembler {
  if (subject.case === 'holding' && pull.phase === 'greeting') {
    return createHoldingAssembler(subject.value, state.limits, latestEpoch(state), (holding) => {
      pull.phase = 'established';
      pull.holding = holding;
      state.listener.connected(pull.session, holding);
      pull.established.resolve(true);
    });
  }
  if (subject.case === 'holding' && pull.holdingDue) {
    pull.holdingDue = false;
    return createHoldingAssembler(subject.value, state.limits, latestEpoch(state), (holding) => {
      pull.holding = holding;
      pull.owedHolding?.resolve(holding);
    });
  }
  if (subject.case === 'results' && pull.phase === 'established') {
    return createResultsAssembler((results) => {
      state.counts.results += results.length;
      state.listener.results(slot.cluster, results);
      pull.link.post({ case: 'verdict', value: { transfer, accepted: true } });
    });
  }
  throw new ProtocolError('OutOfTurn', `a transfer of "${subject.case}" is not due on Pull`);
}

async function sendDelta(
  state: ServerState,
  pull: PullStream,
  delta: SequencedDelta,
  objectBytes: number,
): Promise<SendOutcome> {
  try {
    const outcome = await pull.sender.exchange(outputHead(delta), outputRecords(delta, objectBytes));
    if (outcome.type === 'over') return { type: 'disconnected' };
    const { accepted, reason, message } = outcome.verdict;
    if (accepted) {
      state.counts.outputsAccepted += 1;
      return { type: 'accepted' };
    }
    const holding = await pull.owedHolding?.promise;
    pull.owedHolding = undefined;
    if (holding === undefined) return { type: 'disconnected' };
    state.counts.outputsRejected += 1;
    return { type: 'rejected', reason, message, holding };
  } catch (error) {
    // The transfer has begun and cannot go on: only a new stream can.
    if (!(error instanceof ObjectTooLargeError) || pull.holding === undefined) {
      state.deps.log.error('relay: sending an output failed', { cluster: pull.hello.cluster, error });
      pull.link.end({ code: 'unavailable', reason: 'Internal', message: 'sending failed; the log says why' });
      return { type: 'disconnected' };
    }
    const { message } = error;
    pull.link.end({ code: 'unavailable', reason: 'ObjectTooLarge', message });
    state.counts.outputsRejected += 1;
    return { type: 'rejected', reason: 'ObjectTooLarge', message, holding: pull.holding };
  }
}
