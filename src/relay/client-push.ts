import { KEEPS_KINDS } from '../model/agent.ts';
import type { Digest } from '../model/ids.ts';
import type { Log } from '../ports/log.ts';
import type { ClientStream, ServerWelcome } from './client-link.ts';
import { inputDigest } from './held-input.ts';
import { type AcknowledgedInput, acknowledgedInput, diffInput } from './input-diff.ts';
import type { InputSnapshot, ServerListener } from './session.ts';
import type { ReadSubject } from './transfer-receiver.ts';
import type { Assembler } from './wire/assembly.ts';
import { ObjectTooLargeError } from './wire/encode.ts';
import { createHeldInputAssembler, inputHead, inputRecords } from './wire/input.ts';
import { ProtocolError } from './wire/protocol-error.ts';

const NOTHING = inputDigest([]);

/** What outlasts a link of the input: the newest snapshot, and what the server is known to have. */
export interface InputState {
  latest: InputSnapshot | undefined;
  acknowledged: AcknowledgedInput;
  /** Keys that may differ between the two. */
  dirty: Set<string> | 'all';
  /** Objects that the server does not take: key to the digest of that content. */
  readonly tooLarge: Map<string, Digest>;
}

/** Starts with nothing. */
export function createInputState(): InputState {
  return { latest: undefined, acknowledged: acknowledgedInput([]), dirty: 'all', tooLarge: new Map() };
}

/** Takes what is published. */
export function noteInput(input: InputState, snapshot: InputSnapshot, changed: ReadonlySet<string> | undefined): void {
  input.latest = snapshot;
  if (changed === undefined) input.dirty = 'all';
  else if (input.dirty !== 'all') for (const key of changed) input.dirty.add(key);
}

/** The Push stream's part of an agent's link. */
export interface PushEnd {
  /** For the transfers that the server sends on Push. */
  open(subject: ReadSubject): Assembler;
  /** Finds out what the server holds; false if the link ended first. */
  synchronise(welcome: ServerWelcome): Promise<boolean>;
  /** Sends the difference to the newest snapshot, until there is none or the link is over. */
  pump(): Promise<void>;
}

interface PushDeps {
  readonly listener: ServerListener;
  readonly input: InputState;
  readonly log: Log;
  readonly stream: () => ClientStream;
}

interface PushState {
  readonly deps: PushDeps;
  readonly held: PromiseWithResolvers<Map<string, Digest>>;
  asked: boolean;
  synchronised: boolean;
  pumping: boolean;
  objectBytes: number;
  /** The server keeps the kinds where a delta says nothing of them. */
  keepsKinds: boolean;
}

/** The agent's side of a Push stream. */
export function createPushEnd(deps: PushDeps): PushEnd {
  const held = Promise.withResolvers<Map<string, Digest>>();
  const unknown = { asked: false, synchronised: false, pumping: false, objectBytes: 0, keepsKinds: false };
  const state: PushState = { deps, held, ...unknown };
  return {
    open(subject) {
      if (subject.case !== 'heldInput' || !state.asked) {
        throw new ProtocolError('OutOfTurn', `a transfer of "${subject.case}" on Push`);
      }
      state.asked = false;
      return createHeldInputAssembler(held.resolve);
    },
    synchronise: (welcome) => synchronise(state, welcome),
    pump: () => pump(state),
  };
}

async function synchronise(state: PushState, welcome: ServerWelcome): Promise<boolean> {
  const { input, stream } = state.deps;
  const { link } = stream();
  const digest = welcome.inputDigest;
  if (digest === undefined) {
    link.end({ code: 'invalid', reason: 'MalformedFrame', message: 'the welcome on Push lacks the input digest' });
    return false;
  }
  const acknowledged = knownInput(input, digest) ?? (await askForList(state, digest));
  if (acknowledged === undefined) return false;
  // The kinds' states are not a part of the digest: the first delta of a link always goes, to state them anew.
  input.acknowledged = { ...acknowledged, kinds: undefined };
  input.dirty = 'all';
  state.keepsKinds = welcome.capabilities.includes(KEEPS_KINDS);
  state.objectBytes = welcome.limits.objectBytes;
  state.synchronised = true;
  return true;
}

function knownInput(input: InputState, digest: Digest): AcknowledgedInput | undefined {
  if (digest === NOTHING) return acknowledgedInput([]);
  if (digest === input.acknowledged.held.digest()) return input.acknowledged;
  if (input.latest === undefined) return undefined;
  const latest = acknowledgedInput(digestsOf(input.latest));
  return latest.held.digest() === digest ? latest : undefined;
}

function* digestsOf({ objects }: InputSnapshot): Generator<readonly [string, Digest]> {
  for (const [key, object] of objects) yield [key, object.digest];
}

async function askForList(state: PushState, digest: Digest): Promise<AcknowledgedInput | undefined> {
  const { link } = state.deps.stream();
  state.asked = true;
  link.post({ case: 'heldInputRequest', value: {} });
  const objects = await Promise.race([state.held.promise, link.over.then(() => undefined)]);
  if (objects === undefined) return undefined;
  const listed = acknowledgedInput(objects);
  if (listed.held.digest() === digest) return listed;
  link.end({ code: 'invalid', reason: 'DigestMismatch', message: 'the list of held input has another digest' });
  return undefined;
}

async function pump(state: PushState): Promise<void> {
  if (state.pumping || !state.synchronised) return;
  state.pumping = true;
  while (await sendDifference(state)) {
    // A newer snapshot may have come meanwhile.
  }
  state.pumping = false;
}

async function sendDifference({ deps, objectBytes, keepsKinds }: PushState): Promise<boolean> {
  const { input, stream, listener, log } = deps;
  const { link, sender } = stream();
  const { acknowledged } = input;
  if (input.latest === undefined || link.isOver()) return false;
  const step = diffInput(acknowledged, input.latest, input.dirty, input.tooLarge);
  // What comes from now on is the next step's. Should this one not arrive, the next link compares everything.
  input.dirty = new Set();
  if (step === undefined) return false;
  const { delta } = step;
  const { kinds: _kinds, ...withoutKinds } = delta;
  const sent = keepsKinds && step.kinds === acknowledged.kinds ? withoutKinds : delta;
  try {
    const outcome = await sender.exchange(inputHead(sent), inputRecords(sent, objectBytes));
    if (outcome.type === 'over') return false;
    if (!outcome.verdict.accepted) {
      const { reason, message } = outcome.verdict;
      link.end({ code: 'refused', reason, message });
      return false;
    }
  } catch (error) {
    return giveUp(deps, error);
  }
  acknowledged.held.take(delta);
  acknowledged.kinds = step.kinds;
  listener.inputAcknowledged(delta.to);
  log.debug('relay: the server has the input', { digest: delta.to, upserts: delta.upserts.length });
  return true;
}

/** A transfer that has begun cannot be taken back: the next link leaves the object out. */
function giveUp({ input, stream, log }: PushDeps, error: unknown): false {
  const tooLarge = error instanceof ObjectTooLargeError ? input.latest?.objects.get(error.key) : undefined;
  if (tooLarge !== undefined) input.tooLarge.set(tooLarge.key, tooLarge.digest);
  log.error('relay: sending the input failed', { error });
  const message = error instanceof ObjectTooLargeError ? error.message : 'sending the input failed; the log says why';
  const reason = error instanceof ObjectTooLargeError ? 'ObjectTooLarge' : 'Internal';
  stream().link.end({ code: 'lost', reason, message });
  return false;
}
