import type { HoldingHead } from '../../generated/relay_pb.ts';
import { type AgentHello, TAKES_ROOTS, TAKES_SETTINGS } from '../model/agent/agent.ts';
import { type AgentSettings, CAPABILITY_OF_MEMBER } from '../model/agent/agent-settings.ts';
import { heldDigest } from '../model/agent/inventory-digest.ts';
import type { SequencedDelta } from '../model/fleet/output.ts';
import { given } from '../model/values/given.ts';
import type { StreamEnd } from '../ports/transport.ts';
import {
  type ClusterSlot,
  count,
  endOfDecision,
  type Greeted,
  type PullStream,
  type ServerState,
  welcomeFrame,
} from './server-state.ts';
import type { AgentSession, ReportedHolding, SendOutcome } from './session.ts';
import { createTransfers, type ReadSubject, type TransferAnswer } from './transfer.ts';
import { settingsFrame } from './wire/frames.ts';
import { createResultsAssembler } from './wire/input.ts';
import { createHoldingAssembler, outputHead, outputRecords, readHoldingHead } from './wire/output.ts';
import { type Assembler, ObjectTooLargeError } from './wire/records.ts';
import { ProtocolError, readDigest } from './wire/scalars.ts';

/** How far the clocks of two servers of a fleet may differ. */
const DAY_MS = 24 * 60 * 60 * 1000;

const SUPERSEDED: StreamEnd = {
  code: 'unavailable',
  reason: 'Superseded',
  message: 'a newer stream of the same agent, or of the agent that follows it, has taken its place',
};

const CATCHING_UP: StreamEnd = {
  code: 'unavailable',
  reason: 'CatchingUp',
  message: 'the server is still reading what other replicas have written',
};

/**
 * Decides about a Pull stream and welcomes it. An agent that reconnects (the same instance) ends its own old stream. If
 * another instance of the same cluster id connects, the old stream must first answer a ping; without an answer it ends
 * before the listener decides, with an answer the listener sees two live agents.
 */
export async function welcomePull(greeted: Greeted): Promise<void> {
  const { state, slot, link, hello } = greeted;
  if (!(await state.listener.caughtUp())) return link.end(CATCHING_UP);
  if (link.isOver()) return;
  const old = slot.pull;
  if (old !== undefined && old.hello.instance === hello.instance) {
    closePull(state, slot, old, SUPERSEDED);
  } else if (old !== undefined && old.hello.clusterId === hello.clusterId) {
    const alive = await old.link.probe(state.limits.probeMs);
    if (!alive) closePull(state, slot, old, { code: 'lost', reason: 'PeerSilent', message: 'it answered no ping' });
  }
  if (link.isOver()) return;
  const decision = state.listener.admit(hello, greeted.certificate);
  if (decision.type !== 'admitted') return link.end(endOfDecision(decision));
  if (slot.pull !== undefined) closePull(state, slot, slot.pull, SUPERSEDED);
  startPull(greeted);
}

function startPull(greeted: Greeted): void {
  const { state, slot, link } = greeted;
  const pull = createPullStream(greeted);
  slot.pull = pull;
  void link.over.then((end) => closePull(state, slot, pull, end));
  greeted.onFrame((frame) => {
    // Before the sender of the delta resumes: the holding may follow in the next frame.
    if (frame.case === 'nack') {
      pull.owedHolding = Promise.withResolvers();
      pull.holdingDue = true;
    }
    if (!pull.transfers.take(frame)) {
      throw new ProtocolError('OutOfTurn', `a frame "${frame.case}" on an open Pull stream`);
    }
  });
  const known = rememberedHolding(state, pull, greeted.claim);
  link.post(welcomeFrame(greeted, { holdingKnown: known !== undefined }));
  sendRoots(state, pull);
  if (known !== undefined) {
    establish(state, pull, known);
    return;
  }
  const cancel = state.deps.clock.schedule(state.limits.answerMs, () => {
    link.end({ code: 'lost', reason: 'NoHolding', message: 'the agent did not report its holding in time' });
  });
  void pull.established.promise.then(cancel);
}

/** Sends an agent with the capability `roots` the current roots. */
export function sendRoots({ deps: { roots } }: ServerState, { hello, link }: PullStream): void {
  if (roots === undefined || !hello.capabilities.includes(TAKES_ROOTS)) return;
  link.post({ case: 'roots', value: { roots: roots.current() } });
}

/** The settings without members that the agent does not know: it would refuse them. */
function knownSettings(settings: AgentSettings, { capabilities }: AgentHello): AgentSettings {
  const isKnown = (member: string): boolean => {
    const capability = CAPABILITY_OF_MEMBER[member];
    return capability === undefined || capabilities.includes(capability);
  };
  const { discovery, ignoredFields, ...members } = settings;
  const known = Object.entries(members).filter(([member]) => isKnown(member));
  return { discovery, ignoredFields, ...Object.fromEntries(known) };
}

function createPullStream({ state, slot, link, hello, certificate, peerLimits }: Greeted): PullStream {
  const { deps, limits } = state;
  const transfers = createTransfers({ link, clock: deps.clock, limits, memory: state.memory }, (subject, answer) =>
    openTransfer(state, slot, pull, subject, answer),
  );
  transfers.setWindow(peerLimits.window);
  const session: AgentSession = {
    hello,
    ...given({ certificate }),
    send(delta, provesInventory = false) {
      if (pull.sending !== undefined) throw new Error(`a delta is being sent to ${hello.cluster} already`);
      const sending = sendDelta(state, pull, withTag(state, hello, delta, provesInventory), peerLimits.objectBytes);
      pull.sending = sending;
      return sending.finally(() => {
        pull.sending = undefined;
      });
    },
    settings(settings) {
      if (!hello.capabilities.includes(TAKES_SETTINGS)) return;
      const frame = settingsFrame(knownSettings(settings, hello));
      if (frame !== undefined) return link.post(frame);
      deps.log.error('relay: no agent accepts these settings', { cluster: hello.cluster });
    },
    probe: () => link.probe(limits.probeMs),
    close(kind, reason, message) {
      link.end({ code: kind === 'drain' ? 'unavailable' : 'refused', reason, message });
    },
  };
  const pull: PullStream = {
    hello,
    link,
    transfers,
    session,
    certificate,
    established: Promise.withResolvers<boolean>(),
    phase: 'greeting',
    owedHolding: undefined,
    holdingDue: false,
    sending: undefined,
  };
  return pull;
}

/** Ends a Pull stream, and tells the listener once, before it returns. */
function closePull(state: ServerState, slot: ClusterSlot, pull: PullStream, end: StreamEnd): void {
  if (pull.phase === 'gone') return;
  const wasEstablished = pull.phase === 'established';
  pull.phase = 'gone';
  if (slot.pull === pull) slot.pull = undefined;
  pull.link.end(end);
  pull.established.resolve(false);
  pull.owedHolding?.resolve(undefined);
  const reason = `${end.reason}: ${end.message}`;
  if (wasEstablished) state.listener.disconnected(pull.session, reason);
}

function openTransfer(
  state: ServerState,
  { cluster }: ClusterSlot,
  pull: PullStream,
  subject: ReadSubject,
  answer: TransferAnswer,
): Assembler {
  const { listener, counts } = state;
  if (subject.case === 'holding' && (pull.phase === 'greeting' || pull.holdingDue)) {
    pull.holdingDue = false;
    const head = reportedHead(state, pull, subject.value);
    const { quotas, transferRecords } = state.limits;
    // Sources may declare more objects for a cluster than its quota has: what servers of the fleet have sent comes back.
    const most = head.proof.type === 'inventory' ? transferRecords : quotas.objects;
    return createHoldingAssembler(head, most, (holding) => {
      if (pull.phase === 'established') pull.owedHolding?.resolve(holding);
      else establish(state, pull, holding);
    });
  }
  if (subject.case === 'results' && pull.phase === 'established') {
    return createResultsAssembler((results) => {
      counts.results += results.length;
      const unknown = listener.results(cluster, results);
      if (unknown > 0) count(state.ofClusters.unknownResults, cluster, unknown);
      answer();
    });
  }
  throw new ProtocolError('OutOfTurn', `a transfer of "${subject.case}" is not due on Pull`);
}

function establish({ listener }: ServerState, pull: PullStream, holding: ReportedHolding): void {
  pull.phase = 'established';
  listener.connected(pull.session, holding);
  pull.established.resolve(true);
}

/**
 * The holding that the hello claims, if the server remembers exactly these entries: then it is what the agent would send.
 * A claim that is wrong in itself counts as unknown, and the holding that the agent then sends ends the stream.
 */
function rememberedHolding(
  state: ServerState,
  pull: PullStream,
  claim: HoldingHead | undefined,
): ReportedHolding | undefined {
  if (claim === undefined) return undefined;
  try {
    const entries = state.listener.remembered(pull.hello.cluster, readDigest(claim.inventory));
    if (entries === undefined) return undefined;
    const head = reportedHead(state, pull, claim);
    return heldDigest(entries) === head.digest ? { ...head, entries, isKnown: true } : undefined;
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/** Reads the head of a holding, and verifies its tag for the cluster of the stream. */
function reportedHead({ listener, deps, options: { fleet } }: ServerState, { hello }: PullStream, head: HoldingHead) {
  // An epoch that the fleet has begun is accepted even if the clock shows an earlier time now.
  const latestEpoch = Math.max(deps.clock.now() + DAY_MS, listener.latestEpoch());
  const { cluster, clusterId } = hello;
  return readHoldingHead(head, { cluster, latestEpoch }, ({ tag, ...claim }) =>
    deps.tags.verify({ ...claim, fleet, cluster, clusterId }, tag),
  );
}

function withTag({ deps, options: { fleet } }: ServerState, hello: AgentHello, delta: SequencedDelta, proves: boolean) {
  const { cluster, clusterId } = hello;
  const { position, admitted, to: digest } = delta;
  const step = { fleet, cluster, clusterId, position, digest, ...given({ admitted }) };
  return { ...delta, tag: deps.tags.sign(step, proves) };
}

async function sendDelta(
  state: ServerState,
  pull: PullStream,
  delta: SequencedDelta,
  objectBytes: number,
): Promise<SendOutcome> {
  const { counts, deps } = state;
  try {
    const outcome = await pull.transfers.exchange(outputHead(delta), outputRecords(delta, objectBytes));
    if (outcome.type === 'over') return { type: 'disconnected' };
    if (outcome.type === 'accepted') {
      counts.outputsAccepted += 1;
      return outcome;
    }
    const holding = await pull.owedHolding?.promise;
    pull.owedHolding = undefined;
    if (holding === undefined) return { type: 'disconnected' };
    counts.outputsRejected += 1;
    return { type: 'rejected', reason: outcome.reason, message: outcome.message, holding };
  } catch (error) {
    // The transfer has begun and cannot continue: the agent has to open a new stream.
    if (!(error instanceof ObjectTooLargeError)) {
      deps.log.error('relay: sending an output failed', { cluster: pull.hello.cluster, error });
      pull.link.end({ code: 'unavailable', reason: 'Internal', message: 'sending failed; the log says why' });
      return { type: 'disconnected' };
    }
    const { message } = error;
    pull.link.end({ code: 'unavailable', reason: 'ObjectTooLarge', message });
    counts.outputsRejected += 1;
    return { type: 'rejected', reason: 'ObjectTooLarge', message };
  }
}
