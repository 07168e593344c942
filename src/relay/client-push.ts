import { type InputDelta, KEEPS_KINDS, type KindState, type LiveObject, unknownKind } from '../model/agent/agent.ts';
import { type Digest, quote } from '../model/fleet/ids.ts';
import { backOffMs } from '../model/limits/back-off.ts';
import { displayKey, kindOf, type ObjectKey, parseObjectKey } from '../model/objects/object-key.ts';
import { snapshotDigest } from '../model/text/digest.ts';
import { canonicalJson, compareText, type JsonValue } from '../model/text/json.ts';
import { createBucketedMap } from '../model/values/bucketed-map.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { digestsAfter } from './input-digests.ts';
import type { Link } from './link.ts';
import type { InputSnapshot, ServerListener } from './session.ts';
import type { ReadSubject, Refusal, Transfers } from './transfer.ts';
import { contentProblem } from './wire/content.ts';
import type { ServerWelcome } from './wire/frames.ts';
import { createDigestsAssembler, inputHead, inputRecords } from './wire/input.ts';
import type { Assembler } from './wire/records.ts';
import { ProtocolError } from './wire/scalars.ts';

const EMPTY = snapshotDigest([]);
/** Delays of the next step after one that was refused. */
const REFUSED = { firstMs: 30_000, longestMs: 600_000 };

/** The state of the input that outlives a link. */
export type InputState = ReturnType<typeof createInputState>;

/** The state without an input. */
export function createInputState() {
  return {
    latest: undefined as InputSnapshot | undefined,
    acknowledged: acknowledgedInput([]),
    /** Keys that may differ between `latest` and `acknowledged`. */
    dirty: 'all' as Set<string> | 'all',
    /** Objects that the server does not take, by key. */
    leftOut: new Map<string, LeftOut>(),
    /** The largest object of the server that `leftOut` was judged for, in bytes. */
    judgedFor: 0,
  };
}

/** An object that the server does not take: the digest of that content, and why, as a predicate. */
interface LeftOut {
  readonly digest: Digest;
  readonly problem: string;
  /** No key can name it, so nothing can depend on it. */
  readonly isUnnameable?: true;
}

/** The input that the server has acknowledged. */
type AcknowledgedInput = ReturnType<typeof acknowledgedInput>;

function acknowledgedInput(objects: Iterable<readonly [string, Digest]>) {
  // `kinds` is the canonical text of the kinds; undefined: unknown.
  return { digests: createBucketedMap(objects, (digest) => digest), kinds: undefined as string | undefined };
}

/** Records a published snapshot. `changed`: every key that may differ from the one before; undefined: any key. */
export function noteInput(input: InputState, snapshot: InputSnapshot, changed: ReadonlySet<string> | undefined): void {
  input.latest = snapshot;
  if (changed === undefined) input.dirty = 'all';
  else if (input.dirty !== 'all') for (const key of changed) input.dirty.add(key);
}

interface PushDeps {
  readonly listener: Pick<ServerListener, 'inputAcknowledged'>;
  readonly input: InputState;
  readonly log: Log;
  readonly clock: Clock;
  readonly stream: () => { readonly link: Link; readonly transfers: Transfers };
}

type PushState = ReturnType<typeof newState>;

function newState(deps: PushDeps) {
  return {
    deps,
    /** The digests at the server, after the agent has asked for them. */
    listed: Promise.withResolvers<Map<string, Digest>>(),
    asked: false,
    pumping: false,
    /** Steps that the server has refused in a row. */
    refusals: 0,
    over: new AbortController(),
    /** Set by the welcome; undefined before the two ends have compared their digests. */
    server: undefined as { readonly objectBytes: number; readonly keepsKinds: boolean } | undefined,
  };
}

/** The agent's end of a Push stream. */
export type PushEnd = ReturnType<typeof createPushEnd>;

/** The agent's end of a Push stream; `stream` is called after the stream is open. */
export function createPushEnd(deps: PushDeps) {
  const state = newState(deps);
  return {
    /** The assembler for a transfer from the server. */
    open(subject: ReadSubject): Assembler {
      if (subject.case !== 'inputDigests' || !state.asked) {
        throw new ProtocolError('OutOfTurn', `a transfer of "${subject.case}" on Push`);
      }
      state.asked = false;
      return createDigestsAssembler(state.listed.resolve);
    },
    /** Determines which input the server has; false if the link ends first. */
    synchronise: (welcome: ServerWelcome) => synchronise(state, welcome),
    /** Sends the difference to the newest snapshot until there is none or the link is over. */
    pump: () => pump(state),
  };
}

async function synchronise(state: PushState, welcome: ServerWelcome): Promise<boolean> {
  const { input, stream } = state.deps;
  const digest = welcome.inputDigest;
  if (digest === undefined) {
    const message = 'the welcome on Push lacks the input digest';
    stream().link.end({ code: 'invalid', reason: 'MalformedFrame', message });
    return false;
  }
  const acknowledged = knownInput(input, digest) ?? (await askForDigests(state, digest));
  if (acknowledged === undefined) return false;
  // The digest does not cover the states of kinds: the first delta of a link is always sent, to state them again.
  input.acknowledged = { ...acknowledged, kinds: undefined };
  input.dirty = 'all';
  const keepsKinds = welcome.capabilities.includes(KEEPS_KINDS);
  const { objectBytes } = welcome.limits;
  // Another server may take what the one before did not.
  if (input.judgedFor !== objectBytes) input.leftOut.clear();
  input.judgedFor = objectBytes;
  state.server = { objectBytes, keepsKinds };
  void stream().link.over.then(() => state.over.abort());
  return true;
}

function knownInput(input: InputState, digest: Digest): AcknowledgedInput | undefined {
  if (digest === EMPTY) return acknowledgedInput([]);
  if (digest === input.acknowledged.digests.digest()) return input.acknowledged;
  if (input.latest === undefined) return undefined;
  const latest = acknowledgedInput([...input.latest.objects].map(([key, object]) => [key, object.digest]));
  return latest.digests.digest() === digest ? latest : undefined;
}

async function askForDigests(state: PushState, digest: Digest): Promise<AcknowledgedInput | undefined> {
  const { link } = state.deps.stream();
  state.asked = true;
  link.post({ case: 'inputDigestsRequest', value: {} });
  const objects = await Promise.race([state.listed.promise, link.over.then(() => undefined)]);
  if (objects === undefined) return undefined;
  const listed = acknowledgedInput(objects);
  if (listed.digests.digest() === digest) return listed;
  link.end({ code: 'invalid', reason: 'DigestMismatch', message: 'the list of input digests has another digest' });
  return undefined;
}

async function pump(state: PushState): Promise<void> {
  if (state.pumping) return;
  state.pumping = true;
  while (await sendDifference(state)) {
    // A newer snapshot may have been published meanwhile.
  }
  state.pumping = false;
}

/** Sends one step; false if there is none or it could not be sent. */
async function sendDifference(state: PushState): Promise<boolean> {
  const { deps, server } = state;
  const { input, stream, listener, log } = deps;
  const { link, transfers } = stream();
  const { acknowledged } = input;
  if (input.latest === undefined || server === undefined || link.isOver()) return false;
  leaveOut(deps, input.latest, server.objectBytes);
  const step = diffInput(acknowledged, input.latest, input.dirty, input.leftOut);
  // Later changes belong to the next step. If this step does not arrive, the next link compares all keys.
  input.dirty = new Set();
  if (step === undefined) return false;
  const { delta, digests } = step;
  const { kinds: _kinds, ...withoutKinds } = delta;
  const sent = server.keepsKinds && step.kinds === acknowledged.kinds ? withoutKinds : delta;
  try {
    const outcome = await transfers.exchange(inputHead(sent), inputRecords(sent, server.objectBytes));
    if (outcome.type === 'over') return false;
    if (outcome.type === 'refused') return waitAfter(state, outcome);
  } catch (error) {
    return endAfter(deps, error);
  }
  state.refusals = 0;
  acknowledged.digests = digests;
  acknowledged.kinds = step.kinds;
  listener.inputAcknowledged(delta.to);
  log.debug('relay: the server has the input', { digest: delta.to, upserts: delta.upserts.length });
  return true;
}

/**
 * Waits after a step that the server has refused, and lets the next one start from the input that the server has. The link stays:
 * outputs go on, and settings may arrive that make the input smaller. False: the link is over.
 */
async function waitAfter(state: PushState, { reason, message }: Refusal): Promise<boolean> {
  const { input, clock, log } = state.deps;
  input.dirty = 'all';
  const retryInMs = backOffMs(state.refusals, REFUSED.firstMs, REFUSED.longestMs);
  state.refusals += 1;
  log.warn('relay: the server refuses the input; it keeps the one before', { reason, detail: message, retryInMs });
  await clock.sleep(retryInMs, state.over.signal);
  return !state.deps.stream().link.isOver();
}

function endAfter({ stream, log }: PushDeps, error: unknown): false {
  log.error('relay: sending the input failed', { error });
  const message = 'sending the input failed; the log says why';
  stream().link.end({ code: 'lost', reason: 'Internal', message });
  return false;
}

/** Finds the objects that may have to be sent and that the server does not take: a transfer that has begun cannot be withdrawn. */
function leaveOut({ input, log }: PushDeps, { objects }: InputSnapshot, objectBytes: number): void {
  const { acknowledged, dirty, leftOut } = input;
  if (dirty === 'all') for (const key of leftOut.keys()) if (!objects.has(key as ObjectKey)) leftOut.delete(key);
  for (const key of dirty === 'all' ? objects.keys() : dirty) {
    const object = objects.get(key as ObjectKey);
    const known = leftOut.get(key);
    if (known !== undefined && known.digest === object?.digest) continue;
    leftOut.delete(key);
    if (object === undefined || acknowledged.digests.get(key) === object.digest) continue;
    const named = parseObjectKey(key);
    const problem = named.ok ? contentProblem(object, objectBytes) : named.problem;
    if (problem === undefined) continue;
    leftOut.set(key, { digest: object.digest, problem, ...(named.ok ? {} : { isUnnameable: true }) });
    log.warn('relay: an object is left out of the input', { object: quote(key), problem });
  }
}

/**
 * The step from the acknowledged input to the snapshot, with the digests and the canonical text of the kinds after it;
 * undefined: no difference. `keys` may differ, others do not. Objects in `leftOut` are left out, and their kinds are reported as unknown,
 * so that the server does not take their absence for a removal.
 */
function diffInput(
  { digests, kinds: before }: AcknowledgedInput,
  snapshot: InputSnapshot,
  keys: ReadonlySet<string> | 'all',
  leftOut: ReadonlyMap<string, LeftOut>,
): (Readonly<AcknowledgedInput> & { readonly delta: InputDelta; readonly kinds: string }) | undefined {
  const upserts: LiveObject[] = [];
  const removals: ObjectKey[] = [];
  const all = (): Set<string> => new Set([...snapshot.objects.keys(), ...digests.keys()]);
  for (const key of keys === 'all' ? all() : keys) {
    const object = snapshot.objects.get(key);
    const now = object === undefined || leftOut.get(key)?.digest === object.digest ? undefined : object;
    const known = digests.get(key);
    if (now !== undefined && now.digest !== known) upserts.push(now);
    else if (now === undefined && known !== undefined) removals.push(key as ObjectKey);
  }
  const kinds = withoutLeftOut(snapshot, leftOut);
  const text = canonicalJson(kinds as unknown as JsonValue);
  if (upserts.length === 0 && removals.length === 0 && text === before) return undefined;
  upserts.sort((a, b) => compareText(a.key, b.key));
  removals.sort(compareText);
  const after = digestsAfter(digests, { upserts, removals });
  const delta = { from: digests.digest(), to: after.digest(), upserts, removals, kinds };
  return { delta, digests: after, kinds: text };
}

function withoutLeftOut(
  { objects, kinds }: InputSnapshot,
  leftOut: ReadonlyMap<string, LeftOut>,
): readonly KindState[] {
  const unknown = new Map<string, string>();
  for (const [key, { digest, problem, isUnnameable }] of leftOut) {
    const object = objects.get(key as ObjectKey);
    if (object?.digest === digest && isUnnameable !== true)
      unknown.set(kindOf(object.key), `${displayKey(object.key)} ${problem}`);
  }
  if (unknown.size === 0) return kinds;
  return kinds.map((kind): KindState => {
    const message = unknown.get(kind.kind);
    return message === undefined ? kind : unknownKind(kind, message);
  });
}
