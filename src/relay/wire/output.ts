import type { OutputDelta, OutputObject, SequencedDelta } from '../../model/output.ts';
import type { RelayLimits } from '../limits.ts';
import { type Assembler, createDrafts, createOrderCheck, createScopeTable, misplaced } from './assembly.ts';
import type { RecordInit } from './chunks.ts';
import { createScopeNumbers, objectRecords, revisionRecords, touchRecords } from './encode.ts';
import { ProtocolError } from './protocol-error.ts';
import {
  admittedInit,
  clipText,
  digestBytes,
  positionInit,
  readAdmitted,
  readDigest,
  readKey,
  readPosition,
  readRevision,
  readText,
} from './scalars.ts';

/** The head of an output delta. */
export function outputHead(delta: SequencedDelta) {
  return {
    case: 'output' as const,
    value: {
      from: digestBytes(delta.from),
      to: digestBytes(delta.to),
      position: positionInit(delta.position),
      ...admittedInit(delta.admitted),
    },
  };
}

/** The records of an output delta, made as they are asked for; throws when an object is larger than `objectBytes`. */
export function* outputRecords(delta: OutputDelta, objectBytes: number): Generator<RecordInit, void, void> {
  const scopes = createScopeNumbers();
  for (const object of delta.upserts) {
    const scope = yield* scopes.number(object.scope);
    yield* objectRecords(object, objectBytes, { origins: object.origins, scope });
  }
  for (const touch of delta.touches) {
    const scope = yield* scopes.number(touch.scope);
    yield* touchRecords(touch, scope);
  }
  for (const key of delta.removals) yield { case: 'removal', value: { key } };
  for (const { key, reason } of delta.keeps) yield { case: 'keep', value: { key, reason: clipText(reason) } };
  yield* revisionRecords(delta.revisions);
}

interface HeadRecord {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  readonly position?: { readonly epoch: bigint; readonly sequence: bigint } | undefined;
  readonly admitted?: { readonly epoch: bigint; readonly sequence: bigint } | undefined;
}

/** Reads an output delta; every list must be in key order, and a key in at most one of upserts, touches, removals. */
export function createOutputAssembler(
  head: HeadRecord,
  limits: RelayLimits,
  done: (delta: SequencedDelta) => void,
): Assembler {
  const state = {
    position: readPosition(head.position),
    ...readAdmitted(head.admitted),
    from: readDigest(head.from),
    to: readDigest(head.to),
    upserts: [] as OutputObject[],
    touches: [] as OutputDelta['touches'][number][],
    removals: [] as OutputDelta['removals'][number][],
    keeps: [] as OutputDelta['keeps'][number][],
    revisions: [] as OutputDelta['revisions'][number][],
  };
  const drafts = createDrafts(limits);
  const take = createOutputReader(state, drafts);
  return {
    take,
    finish() {
      drafts.close();
      const changed = [...state.upserts, ...state.touches].map(({ key }) => key).concat(state.removals);
      if (new Set(changed).size !== changed.length) {
        throw new ProtocolError('OutOfTurn', 'a key is in more than one of upserts, touches and removals');
      }
      done(state);
    },
  };
}

type OutputState = {
  readonly upserts: OutputObject[];
  readonly touches: OutputDelta['touches'][number][];
  readonly removals: OutputDelta['removals'][number][];
  readonly keeps: OutputDelta['keeps'][number][];
  readonly revisions: OutputDelta['revisions'][number][];
};

function createOutputReader(state: OutputState, drafts: ReturnType<typeof createDrafts>): Assembler['take'] {
  const scopes = createScopeTable();
  const orders = {
    object: createOrderCheck('object'),
    touch: createOrderCheck('touch'),
    removal: createOrderCheck('removal'),
    keep: createOrderCheck('keep'),
  };
  return (record) => {
    if (record.case !== 'more') drafts.close();
    switch (record.case) {
      case 'scope':
        return scopes.define(record.value);
      case 'more':
        return drafts.more(record.value);
      case 'object': {
        orders.object(record.value.key);
        const scope = scopes.get(record.value.scope);
        return drafts.object(record.value, (object) => state.upserts.push({ ...object, scope }));
      }
      case 'touch': {
        orders.touch(record.value.key);
        const key = readKey(record.value.key);
        const scope = scopes.get(record.value.scope);
        return drafts.open(record.value.origins, (origins) => state.touches.push({ key, origins, scope }));
      }
      case 'removal':
        orders.removal(record.value.key);
        state.removals.push(readKey(record.value.key));
        return;
      case 'keep':
        orders.keep(record.value.key);
        state.keeps.push({ key: readKey(record.value.key), reason: readText(record.value.reason) });
        return;
      case 'revision':
        state.revisions.push(readRevision(record.value));
        return;
      default:
        misplaced(record, 'an output');
    }
  };
}
