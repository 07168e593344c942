import type { HoldingHead, OutputHead } from '../../../generated/relay_pb.ts';
import type { AgentHolding, HoldingClaim, InventoryEntry } from '../../model/agent/agent.ts';
import { heldDigest } from '../../model/agent/inventory-digest.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import {
  MAX_SEQUENCE,
  metaOf,
  type OutputDelta,
  type OutputObject,
  type OutputPosition,
  type RevisionRef,
  type SequencedDelta,
} from '../../model/fleet/output.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { repairCommand } from '../../model/text/messages.ts';
import type { RelayLimits } from '../limits.ts';
import type { ReportedHolding } from '../session.ts';
import type { TagProof } from '../trust/step-tags.ts';
import {
  type Assembler,
  createAssembler,
  createScopeNumbers,
  marksInit,
  objectRecords,
  type RecordInit,
  readMarks,
  withOrigins,
} from './records.ts';
import {
  clipText,
  digestBytes,
  ProtocolError,
  positionsInit,
  readDigest,
  readOutputKey,
  readPositions,
  readRevision,
  readTag,
  readText,
  readWord,
  tagInit,
} from './scalars.ts';

/** The head of an output delta. */
export function outputHead(delta: SequencedDelta) {
  const value = {
    from: digestBytes(delta.from),
    to: digestBytes(delta.to),
    ...positionsInit(delta),
    ...tagInit(delta),
  };
  return { case: 'output' as const, value };
}

/** The records of an output delta, generated on demand; an object above `objectBytes` throws an `ObjectTooLargeError`. */
export function* outputRecords(delta: OutputDelta, objectBytes: number): Generator<RecordInit, void, void> {
  const numberOf = createScopeNumbers();
  for (const object of delta.upserts) {
    const scope = yield* numberOf(object.scope);
    yield* objectRecords(object, objectBytes, { ...metaOf(object), scope });
  }
  for (const touch of delta.touches) {
    const { key } = touch;
    const marks = marksInit(touch);
    const scope = yield* numberOf(touch.scope);
    yield* withOrigins(touch.origins, (origins) => ({ case: 'touch', value: { key, origins, scope, ...marks } }));
  }
  for (const key of delta.removals) yield { case: 'removal', value: { key } };
  for (const { key, reason } of delta.keeps) yield { case: 'keep', value: { key, reason: clipText(reason) } };
  yield* revisionRecords(delta.revisions);
}

function* revisionRecords(revisions: readonly RevisionRef[]): Generator<RecordInit, void, void> {
  for (const { source, revision } of revisions) yield { case: 'revision', value: { source, revision } };
}

/** Reads an output delta. Every list must be in key order, and a key in at most one of upserts, touches and removals. */
export function createOutputAssembler(
  head: OutputHead,
  { objectBytes }: Pick<RelayLimits, 'objectBytes'>,
  done: (delta: SequencedDelta) => void,
): Assembler {
  const upserts: OutputObject[] = [];
  let received = 0;
  const touches: OutputDelta['touches'][number][] = [];
  const removals: OutputDelta['removals'][number][] = [];
  const keeps: OutputDelta['keeps'][number][] = [];
  const revisions: RevisionRef[] = [];
  const digests = { from: readDigest(head.from), to: readDigest(head.to) };
  const delta = {
    ...readPositions(head),
    ...readTag(head.tag),
    ...digests,
    upserts,
    touches,
    removals,
    keeps,
    revisions,
  };
  return createAssembler(
    'an output',
    ({ scope, more, scopeOf, nextKey, object, origins }) => ({
      scope,
      more,
      object(record) {
        const key = nextKey('object', record.key, readOutputKey);
        const clusters = scopeOf(record.scope);
        object(key, record, objectBytes, ({ digest, origins, value, bytes }) => {
          received += bytes.byteLength;
          const meta = { origins, scope: clusters, ...readMarks(record) };
          upserts.push(
            new ReceivedObject({ key, digest, ...meta }, bytes, received < PARSED_BYTES ? value : undefined),
          );
        });
      },
      touch(record) {
        const key = nextKey('touch', record.key, readOutputKey);
        const clusters = scopeOf(record.scope);
        origins(record.origins, (all) => touches.push({ key, origins: all, scope: clusters, ...readMarks(record) }));
      },
      removal: ({ key }) => void removals.push(nextKey('removal', key, readOutputKey)),
      keep: ({ key, reason }) =>
        void keeps.push({ key: nextKey('keep', key, readOutputKey), reason: readText(reason) }),
      revision: (record) => void revisions.push(readRevision(record)),
    }),
    () => {
      const changed = [...upserts, ...touches].map(({ key }) => key).concat(removals);
      if (new Set(changed).size !== changed.length) {
        throw new ProtocolError('OutOfTurn', 'a key is in more than one of upserts, touches and removals');
      }
      done(delta);
    },
  );
}

/** Contents of larger outputs are kept as bytes, which take less memory, and parsed when they are read. */
const PARSED_BYTES = 1024 * 1024;

/** A class, because a copy of its metadata does not read the value then, as it does a getter of the object's own. */
class ReceivedObject implements OutputObject {
  readonly key: OutputObject['key'];
  readonly digest: OutputObject['digest'];
  readonly origins: OutputObject['origins'];
  readonly scope: OutputObject['scope'];
  readonly stopped?: true;
  readonly attempt?: number;
  readonly driftMode?: OutputObject['driftMode'] & {};
  readonly content: Uint8Array;
  readonly #value: JsonObject | undefined;

  constructor(head: Omit<OutputObject, 'value' | 'content'>, content: Uint8Array, value: JsonObject | undefined) {
    this.key = head.key;
    this.digest = head.digest;
    this.origins = head.origins;
    this.scope = head.scope;
    if (head.stopped !== undefined) this.stopped = head.stopped;
    if (head.attempt !== undefined) this.attempt = head.attempt;
    if (head.driftMode !== undefined) this.driftMode = head.driftMode;
    this.content = content;
    this.#value = value;
  }

  get value(): JsonObject {
    return this.#value ?? (JSON.parse(new TextDecoder().decode(this.content)) as JsonObject);
  }
}

/** The head of a holding. */
export function holdingHead(holding: AgentHolding) {
  return { case: 'holding' as const, value: headInit(holding) };
}

/** The wire form of what a hello says of the holding. */
export function claimInit(claim: HoldingClaim) {
  return { ...headInit(claim), inventory: digestBytes(claim.inventory) };
}

function headInit(holding: Omit<AgentHolding, 'entries'>) {
  return { digest: digestBytes(holding.digest), ...positionsInit(holding), ...tagInit(holding) };
}

/** The records of a holding, generated on demand. */
export function* holdingRecords(holding: AgentHolding): Generator<RecordInit, void, void> {
  const numberOf = createScopeNumbers();
  for (const { key, phase, digest, lost = false, ...entry } of holding.entries) {
    const scope = yield* numberOf(entry.scope);
    const head = { key, digest: digestBytes(digest), phase, scope, ...marksInit(entry), lost };
    yield* withOrigins(entry.origins, (origins) => ({ case: 'entry', value: { ...head, origins } }));
  }
}

/** An inventory without its entries, as its agent states it, and what its tag proves of that. */
export type ReportedHead = Omit<ReportedHolding, 'entries' | 'isKnown'>;

/**
 * Reads the head of a holding of a cluster. Its tag must be valid, or its positions plausible.
 *
 * @param latestEpoch the highest epoch that the fleet can have reached
 */
export function readHoldingHead(
  head: HoldingHead,
  { cluster, latestEpoch }: Plausible,
  verify: (claim: Omit<ReportedHead, 'proof'>) => TagProof,
): ReportedHead {
  const claim = { ...readPositions(head), ...readTag(head.tag), digest: readDigest(head.digest) };
  const proof = verify(claim);
  if (proof.type === 'nothing') {
    checkPlausible('the position', claim.position, { cluster, latestEpoch });
    if (claim.admitted !== undefined) checkPlausible('the admission', claim.admitted, { cluster, latestEpoch });
  }
  return { ...claim, proof };
}

/** Reads the rest of a holding. The digest of its head must match its entries, and its keys must be unique. */
export function createHoldingAssembler(
  head: ReportedHead,
  most: number,
  done: (holding: ReportedHolding) => void,
): Assembler {
  const entries = new Map<string, InventoryEntry>();
  return createAssembler(
    'a holding',
    ({ scope, more, scopeOf, origins }) => ({
      scope,
      more,
      entry(record) {
        const key = readOutputKey(record.key);
        const phase = readWord(record.phase, ['held', 'removing']);
        const clusters = scopeOf(record.scope);
        const entryDigest = readDigest(record.digest);
        if (entries.size >= most) {
          throw new ProtocolError('AboveQuota', `an inventory of more than ${most} objects`, 'exhausted');
        }
        if (entries.has(key)) throw new ProtocolError('OutOfTurn', `${key} is in a holding twice`);
        origins(record.origins, (all) => {
          const marks = { ...readMarks(record), ...(record.lost ? { lost: true as const } : {}) };
          entries.set(key, { key, digest: entryDigest, phase, origins: all, scope: clusters, ...marks });
        });
      },
    }),
    () => {
      const list = [...entries.values()];
      if (heldDigest(list) !== head.digest) {
        throw new ProtocolError('DigestMismatch', 'the digest of the holding does not fit its entries');
      }
      done({ ...head, entries: list, isKnown: false });
    },
  );
}

interface Plausible {
  readonly cluster: ClusterName;
  readonly latestEpoch: number;
}

/** Refuses a position without a proof after which the cluster could be sent nothing. */
function checkPlausible(what: string, { epoch, sequence }: OutputPosition, { cluster, latestEpoch }: Plausible): void {
  if (epoch <= latestEpoch && sequence <= MAX_SEQUENCE) return;
  const wrong =
    epoch > latestEpoch ? 'an epoch more than a day ahead of the clock of the server' : 'a sequence above 2^40';
  const message = `${what} (${epoch}, ${sequence}) has ${wrong}, and no tag proves that a server has sent it; repair the inventory: ${repairCommand(cluster)}`;
  throw new ProtocolError('ImplausiblePosition', message);
}
