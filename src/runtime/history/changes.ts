import type { ChangeReason } from '../../api/history-api.ts';
import { declaresName, fileGroup } from '../../engine/fleet/sources.ts';
import type { Engine } from '../../engine/graph.ts';
import type { FileProvenance } from '../../engine/inputs.ts';
import type { LedgerEntry } from '../../model/fleet/ledger.ts';
import { metaOf, type ObjectMeta, type Origin, type SequencedDelta } from '../../model/fleet/output.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { sha256 } from '../../model/text/digest.ts';
import { type ChangedObject, MOST_OBJECT_BYTES, MOST_OBJECTS, sizeOfObject } from './records.ts';

/** A delta as it is when it is made: before the ledger has it. */
export interface DeltaDraft extends Pick<SequencedDelta, 'position' | 'revisions'> {
  readonly at: number;
  readonly keeps: number;
  readonly counts: Readonly<Record<ChangedObject['change'], number>>;
  readonly objects: readonly DraftedObject[];
  /** The cluster had nothing of the fleet. */
  readonly wasEmpty: boolean;
  /** Number of changes that wait for the next delta; absent: none. */
  readonly rest?: number;
}

/** An object of a delta, and what says why it is sent. */
interface DraftedObject extends Omit<ChangedObject, 'why'> {
  readonly meta: ObjectMeta;
  readonly isApproved: boolean;
  readonly wasLost: boolean;
  readonly isStillDeclared: boolean;
}

const DIGITS = 16;

/** Describes a delta by the state of the last commit, from which it was made. Work follows the delta, up to the bounds. */
export function draftOf(engine: Engine, cluster: string, delta: SequencedDelta, at: number): DeltaDraft {
  const { position, revisions, upserts, touches, removals, keeps } = delta;
  const before = (key: ObjectKey): LedgerEntry | undefined => engine.inputs.ledger.get(cluster, key);
  let created = 0;
  for (const { key } of upserts) if (isNew(before(key))) created += 1;
  const counts = {
    create: created,
    change: upserts.length - created,
    remove: removals.length,
    touch: touches.length,
  };
  const objects: DraftedObject[] = [];
  let bytes = 0;
  for (const object of drafted(engine, cluster, delta, before)) {
    const { meta: _, isApproved, wasLost, isStillDeclared, ...listed } = object;
    bytes += sizeOfObject({ ...listed, why: 'firstContact' });
    if (objects.length === MOST_OBJECTS || bytes > MOST_OBJECT_BYTES) break;
    objects.push(object);
  }
  const wasEmpty = engine.inputs.ledger.size(cluster) === 0;
  return { position, revisions, at, keeps: keeps.length, counts, objects, wasEmpty };
}

function isNew(entry: LedgerEntry | undefined): boolean {
  return entry === undefined || entry.phase === 'removing';
}

/** Removals first: where a delta is cut, they are the part that is asked for. */
function* drafted(
  engine: Engine,
  cluster: string,
  { upserts, touches, removals }: SequencedDelta,
  before: (key: ObjectKey) => LedgerEntry | undefined,
): Generator<DraftedObject> {
  const draft = (key: ObjectKey, change: ChangedObject['change'], meta: ObjectMeta): DraftedObject => {
    const [origin] = meta.origins;
    return {
      key,
      change,
      meta,
      isApproved: engine.inputs.approvals.get(cluster, key) !== undefined,
      wasLost: before(key)?.lost === true,
      isStillDeclared: change === 'remove' && meta.origins.some((each) => declaresNow(engine, each, key)),
      ...(origin === undefined ? {} : { origin, files: contentOf(engine, meta.origins) }),
    };
  };
  for (const key of removals) yield draft(key, 'remove', metaOf(before(key) ?? NOTHING));
  for (const object of upserts) {
    const change = isNew(before(object.key)) ? 'create' : 'change';
    yield { ...draft(object.key, change, metaOf(object)), digest: object.digest.slice(0, DIGITS) };
  }
  for (const touch of touches) yield draft(touch.key, 'touch', metaOf(touch));
}

/** The beginning of a digest of the paths and the blobs of these files. */
function contentOf({ inputs: { files } }: Engine, origins: readonly Origin[]): string {
  const blobOf = ({ source, path }: Origin): string | undefined =>
    (files.provenance(source, path) as FileProvenance | undefined)?.blob;
  return sha256(JSON.stringify(origins.map((each) => [each.source, each.path, blobOf(each)]))).slice(0, DIGITS);
}

const NOTHING: ObjectMeta = { origins: [], scope: [] };

function declaresNow({ indexes }: Engine, origin: Origin, key: ObjectKey): boolean {
  return indexes.documentsByFile.members(fileGroup(origin)).some(({ value }) => declaresName(value, key));
}

/** The sources whose revision has changed; all of them if nothing is known of a delta before. */
export function movedSources(
  before: DeltaDraft['revisions'] | undefined,
  { revisions }: Pick<DeltaDraft, 'revisions'>,
): readonly string[] {
  const known = new Map(before?.map(({ source, revision }) => [source as string, revision]));
  const now = new Set(revisions.map(({ source }) => source as string));
  const gone = [...known.keys()].filter((source) => !now.has(source));
  return [
    ...revisions.filter(({ source, revision }) => known.get(source) !== revision).map(({ source }) => source),
    ...gone,
  ];
}

type LastListed = Pick<ChangedObject, 'change' | 'files' | 'digest'>;

/**
 * The objects of a draft with the reason for each. `lastOf`: of the last delta that the agent has accepted with the object;
 * undefined: not known.
 */
export function explained(
  { objects, wasEmpty }: DeltaDraft,
  moved: readonly string[],
  lastOf: (key: ObjectKey) => LastListed | undefined,
): readonly ChangedObject[] {
  return objects.map(({ meta, isApproved, wasLost, isStillDeclared, ...object }) => {
    const isFirst = wasEmpty && object.change === 'create';
    const last = lastOf(object.key);
    const again =
      object.files === undefined || last?.files !== object.files ? undefined : reasonOfSame(object, last, meta);
    const facts = { isApproved, wasLost, isStillDeclared };
    return { ...object, why: isFirst ? 'firstContact' : reasonOf(meta, facts, moved, again) };
  });
}

/** The reason to send an object again although its files are the same; undefined: what has moved is the reason. */
function reasonOfSame(
  { change, digest }: Pick<ChangedObject, 'change' | 'digest'>,
  last: LastListed,
  { scope }: ObjectMeta,
): ChangeReason | undefined {
  if (change === 'create') return last.change === 'remove' ? undefined : 'restored';
  if (change !== 'change') return undefined;
  if (digest === last.digest) return 'other';
  return scope.length > 0 ? 'live' : undefined;
}

function reasonOf(
  { origins, scope }: ObjectMeta,
  { isApproved, wasLost, isStillDeclared }: Pick<DraftedObject, 'isApproved' | 'wasLost' | 'isStillDeclared'>,
  moved: readonly string[],
  again: ChangeReason | undefined,
): ChangeReason {
  if (isApproved) return 'approval';
  if (wasLost) return 'restored';
  if (again !== undefined) return again;
  const isMoved = origins.some(({ source }) => moved.includes(source));
  if (moved.length > 0 && (isStillDeclared || !isMoved) && scope.length === 0) return 'placement';
  if (isMoved) return 'revision';
  return scope.length > 0 ? 'live' : 'other';
}
