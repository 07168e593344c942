import type { AgentHolding, InventoryEntry } from '../../model/agent.ts';
import { snapshotDigest } from '../../model/digest.ts';
import { MAX_SEQUENCE, type OutputPosition, type RevisionRef } from '../../model/output.ts';
import type { RelayLimits } from '../limits.ts';
import { type Assembler, createDrafts, createScopeTable, misplaced } from './assembly.ts';
import type { RecordInit } from './chunks.ts';
import { createScopeNumbers, moreOriginRecords, originBatches, revisionRecords } from './encode.ts';
import { ProtocolError } from './protocol-error.ts';
import {
  admittedInit,
  digestBytes,
  positionInit,
  readAdmitted,
  readDigest,
  readKey,
  readPosition,
  readRevision,
  readWord,
} from './scalars.ts';

/** The head of a holding. */
export function holdingHead(holding: AgentHolding) {
  return {
    case: 'holding' as const,
    value: {
      position: positionInit(holding.position),
      digest: digestBytes(holding.digest),
      ...admittedInit(holding.admitted),
    },
  };
}

/** The records of a holding, made as they are asked for. */
export function* holdingRecords(holding: AgentHolding): Generator<RecordInit, void, void> {
  const scopes = createScopeNumbers();
  for (const entry of holding.entries) {
    const scope = yield* scopes.number(entry.scope);
    const [origins = [], ...more] = originBatches(entry.origins);
    const { key, phase } = entry;
    yield { case: 'entry', value: { key, digest: digestBytes(entry.digest), phase, origins, scope } };
    yield* moreOriginRecords(more);
  }
  yield* revisionRecords(holding.revisions);
}

/** Digest over the entries that an agent holds: those on their way out do not count. */
export function heldDigest(entries: readonly InventoryEntry[]) {
  const held = entries.filter(({ phase }) => phase === 'held');
  return snapshotDigest(held.map(({ key, digest }) => [key, digest]));
}

interface HeadRecord {
  readonly digest: Uint8Array;
  readonly position?: { readonly epoch: bigint; readonly sequence: bigint } | undefined;
  readonly admitted?: { readonly epoch: bigint; readonly sequence: bigint } | undefined;
}

/**
 * Reads a holding; its digest must be that of its entries, a key may come once, and its positions must be ones that the
 * fleet can have reached: `latestEpoch` is the highest that it can be in.
 */
export function createHoldingAssembler(
  head: HeadRecord,
  limits: RelayLimits,
  latestEpoch: number,
  done: (holding: AgentHolding) => void,
): Assembler {
  const position = readPosition(head.position);
  const admitted = readAdmitted(head.admitted);
  checkPlausible('the position', position, latestEpoch);
  if (admitted.admitted !== undefined) checkPlausible('the admission', admitted.admitted, latestEpoch);
  const digest = readDigest(head.digest);
  const entries = new Map<string, InventoryEntry>();
  const revisions: RevisionRef[] = [];
  const drafts = createDrafts(limits);
  const scopes = createScopeTable();
  return {
    take(record) {
      if (record.case !== 'more') drafts.close();
      if (record.case === 'scope') scopes.define(record.value);
      else if (record.case === 'more') drafts.more(record.value);
      else if (record.case === 'revision') revisions.push(readRevision(record.value));
      else if (record.case === 'entry') {
        const key = readKey(record.value.key);
        const phase = readWord(record.value.phase, ['held', 'removing']);
        const scope = scopes.get(record.value.scope);
        const entryDigest = readDigest(record.value.digest);
        if (entries.has(key)) throw new ProtocolError('OutOfTurn', 'a key comes twice in a holding');
        drafts.open(record.value.origins, (origins) => {
          entries.set(key, { key, digest: entryDigest, phase, origins, scope });
        });
      } else misplaced(record, 'a holding');
    },
    finish() {
      drafts.close();
      const list = [...entries.values()];
      if (heldDigest(list) !== digest) {
        throw new ProtocolError('DigestMismatch', 'the digest of the holding is not that of its entries');
      }
      done({ position, digest, revisions, ...admitted, entries: list });
    },
  };
}

/** What an agent states must not use up the numbers that the fleet still needs. */
function checkPlausible(what: string, { epoch, sequence }: OutputPosition, latestEpoch: number): void {
  if (epoch <= latestEpoch && sequence <= MAX_SEQUENCE) return;
  const wrong =
    epoch > latestEpoch ? 'an epoch more than a day ahead of the clock of the server' : 'a sequence above 2^40';
  throw new ProtocolError('ImplausiblePosition', `${what} (${epoch}, ${sequence}) has ${wrong}: no server has sent it`);
}
