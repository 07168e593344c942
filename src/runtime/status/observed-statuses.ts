import type { EntryAddress } from '../../engine/collections/types.ts';
import type { Engine } from '../../engine/graph.ts';
import { type ObservedStatus, readObserved } from '../../model/fleet/conditions.ts';
import { type EngineKind, isEngineKind } from '../../model/fleet/engine-kinds.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonEquals } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import type { ServerCore } from '../core.ts';
import { type LedgerRecords, recordKey } from '../ledger/records.ts';
import type { Loop } from '../loop.ts';
import type { Replica } from '../replica/replica.ts';
import { trustedStatus } from './status-documents.ts';
import type { StatusRules } from './status-rules.ts';

/** The status branch, for reading. */
export interface StatusBranch {
  readAll(): Promise<
    | { readonly ok: true; readonly files: ReadonlyMap<string, string> }
    | { readonly ok: false; readonly message: string }
  >;
  /** Throws if the text is not YAML. */
  readonly parse: (text: string) => JsonValue;
  /** Sources of custom resources whose status is written there: their declarations have no file on the branch. */
  readonly customSources: ReadonlySet<string>;
}

interface ObservedDeps extends ServerCore {
  /** Undefined: status is not written to a branch. */
  readonly branch: StatusBranch | undefined;
  readonly rules: StatusRules;
  readonly role: Pick<Replica, 'leads' | 'knowsAll'>;
}

/** Where a status was found; later ones are better. */
const PLACES = ['branch', 'resource', 'store'] as const;
type Place = (typeof PLACES)[number];

const READ_BRANCH_MS = 10_000;

export type ObservedStatuses = ReturnType<typeof createObservedStatuses>;

/**
 * Stages the statuses that were written last: from the store, else from the custom resource, else from the status branch.
 * Later statuses that a sink has written replace them. A recorder of the loop finds statuses of new declarations on the
 * branch, and forgets statuses of ended ones.
 */
export function createObservedStatuses(deps: ObservedDeps) {
  const { engine, loop, fleet, rules } = deps;
  const staged = createStagedStatuses(engine);
  const branch = createBranchTexts(deps);

  /** True: something was staged. Other replicas learn the status from the store. */
  const findOnBranch = (addresses: Iterable<EntryAddress>): boolean => {
    let found = false;
    for (const { partition: kind, key } of addresses) {
      const status = staged.isBelow('branch', kind, key) ? branch.take(kind, key) : undefined;
      const read = readObserved(status);
      if (status === undefined || read === undefined) continue;
      fleet.put(recordKey.observed(kind, key), status);
      staged.set('branch', kind, key, read);
      found = true;
    }
    return found;
  };
  /** Takes the texts of the status branch, for the present and later declarations. */
  const branchRead = (files: ReadonlyMap<string, string>): void =>
    betweenCommits(loop, () => {
      branch.set(files);
      const { statuses } = engine;
      const declared = [...statuses.partitions()].flatMap((kind) => [...statuses.entries(kind)]);
      if (findOnBranch(declared)) loop.transact(() => undefined);
    });
  /** Stages the records of the store, when this server begins to lead. */
  const load = (records: LedgerRecords['observed']): void => {
    // The leader before may have deleted a record since this process read it.
    for (const { partition: kind, key } of staged.all()) {
      if (staged.place(kind, key) === 'store' && records.get(kind)?.get(key) === undefined) staged.delete(kind, key);
    }
    for (const [kind, ofKind] of records) {
      if (!isEngineKind(kind)) continue;
      for (const [key, record] of ofKind) {
        const status = readObserved(record);
        fleet.noted(recordKey.observed(kind, key), record);
        if (status !== undefined) staged.set('store', kind, key, status);
      }
    }
  };
  load(deps.records.observed);
  loop.addRecorder('judgements', createFollower(deps, staged, branch, findOnBranch));

  return {
    load,
    branchRead,
    /**
     * Reads the status branch, when this server begins to lead. Takes ten seconds at most, and never rejects: without the
     * branch, statuses that only the branch has are unknown.
     */
    readBranch: async (): Promise<void> => {
      const files = await readWithin(deps, READ_BRANCH_MS);
      if (files !== undefined) branchRead(files);
    },
    /** Stages the leader's record at a follower; undefined: the store has none. */
    replicate: (kind: string, key: string, record: JsonValue | undefined): void =>
      betweenCommits(loop, () => {
        const read = readObserved(record);
        // A record of a declared status is missing: the store has lost it, and the leader writes it again.
        const isOver = record === undefined && engine.statuses.get(kind, key) === undefined;
        if (!isEngineKind(kind) || (read === undefined && !isOver)) return;
        loop.transact(() => (read === undefined ? staged.delete(kind, key) : staged.set('store', kind, key, read)));
      }),
    /**
     * Stages, in a recorder, the status of a custom resource, unless the store has one, or others write it now. True: it was
     * staged.
     */
    found: (kind: EngineKind, key: string, status: JsonValue | undefined): boolean => {
      const read = readObserved(status);
      if (read === undefined) return false;
      const before = engine.inputs.observed.get(kind, key);
      if (!staged.isBelow('resource', kind, key) && !isOthersChange(rules, kind, before, read)) return false;
      staged.set('resource', kind, key, read);
      return true;
    },
    /** A sink has written this status. */
    written: (kind: EngineKind, key: string, status: JsonObject): void => {
      const read = readObserved(status);
      if (read === undefined) return;
      const before = engine.inputs.observed.get(kind, key);
      const isKnown = before !== undefined && jsonEquals(asJson(before), asJson(read));
      if (isKnown && staged.place(kind, key) === 'store') return;
      betweenCommits(loop, () => {
        // The declaration may have ended meanwhile.
        if (engine.statuses.get(kind, key) === undefined) return;
        fleet.put(recordKey.observed(kind, key), status);
        loop.transact(() => staged.set('store', kind, key, read));
      });
    },
  };
}

/** During a commit declarations are still seen that it has ended, and whose statuses it may have forgotten already. */
function betweenCommits(loop: Loop, work: () => void): void {
  if (loop.isCommitting()) loop.transact(() => undefined, { committed: work });
  else work();
}

/** Returns the recorder that finds statuses of new declarations on the branch, and forgets statuses of ended ones. */
function createFollower(
  { engine, fleet, role }: ObservedDeps,
  staged: ReturnType<typeof createStagedStatuses>,
  branch: ReturnType<typeof createBranchTexts>,
  findOnBranch: (addresses: Iterable<EntryAddress>) => boolean,
): () => boolean {
  const changes = engine.graph.watch(engine.statuses);
  let hasForgottenOld = false;
  let wasLeading = false;
  /** Only the leader deletes the record. False: there is nothing to forget. */
  const forget = ({ partition: kind, key }: EntryAddress): boolean => {
    const isKnown = staged.delete(kind, key);
    if (isKnown && role.leads()) fleet.put(recordKey.observed(kind, key), null);
    return isKnown;
  };
  return () => {
    const changed = changes.take();
    const found = findOnBranch(changed);
    // A new leader has loaded the records again. While a source is not complete, nothing is forgotten.
    if (role.leads() !== wasLeading || !role.knowsAll()) hasForgottenOld = false;
    wasLeading = role.leads();
    if (!role.knowsAll()) return found;
    branch.set(new Map());
    const ended = [...changed, ...(hasForgottenOld ? [] : staged.all())].filter(
      ({ partition, key }) => engine.statuses.get(partition, key) === undefined,
    );
    hasForgottenOld = true;
    return ended.map(forget).includes(true) || found;
  };
}

/** The staged statuses, with the place where each was found. */
function createStagedStatuses({ inputs: { observed } }: Engine) {
  const places = new Map<string, Place>();
  const place = (kind: string, key: string): Place | undefined => places.get(`${kind}/${key}`);
  return {
    place,
    all: (): readonly EntryAddress[] => [...observed.partitions()].flatMap((kind) => [...observed.entries(kind)]),
    /** No status was found at this place or at a better one. */
    isBelow: (wanted: Place, kind: string, key: string): boolean => {
      const known = place(kind, key);
      return known === undefined || PLACES.indexOf(known) < PLACES.indexOf(wanted);
    },
    set: (found: Place, kind: string, key: string, status: ObservedStatus): void => {
      places.set(`${kind}/${key}`, found);
      observed.set(kind, key, status);
    },
    /** False: there was none. */
    delete: (kind: string, key: string): boolean => {
      places.delete(`${kind}/${key}`);
      // It may be staged and not committed yet.
      const isKnown = observed.latest(kind, key) !== undefined;
      if (isKnown) observed.delete(kind, key);
      return isKnown;
    },
  };
}

/** The texts of the branch that were not looked at yet, by path. A text is parsed when its declaration exists. */
function createBranchTexts({ engine, branch, clock }: ObservedDeps) {
  let texts = new Map<string, string>();
  let readAt = 0;
  return {
    set: (files: ReadonlyMap<string, string>): void => {
      texts = new Map(files);
      readAt = clock.now();
    },
    /** The status of the declaration on the branch. Other programs may have written it: no time is later than the reading. */
    take: (kind: string, key: string): JsonObject | undefined => {
      const { path = '', origin } = engine.statuses.get(kind, key) ?? {};
      const text = texts.get(path);
      if (branch === undefined || text === undefined) return undefined;
      texts.delete(path);
      if (origin !== undefined && branch.customSources.has(origin.source)) return undefined;
      const document = parsedOrNothing(text, branch.parse);
      return isJsonObject(document) ? trustedStatus(document.status, readAt) : undefined;
    },
  };
}

function parsedOrNothing(text: string, parse: StatusBranch['parse']): JsonValue | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** Undefined: the branch could not be read in time. */
async function readWithin(
  { branch, clock, log }: ObservedDeps,
  milliseconds: number,
): Promise<ReadonlyMap<string, string> | undefined> {
  if (branch === undefined) return undefined;
  const done = new AbortController();
  const reading = branch.readAll().catch((error: unknown) => ({ ok: false as const, message: errorText(error) }));
  const late = clock
    .sleep(milliseconds, done.signal)
    .then(() => ({ ok: false as const, message: `no answer within ${milliseconds / 1000} s` }));
  const read = await Promise.race([reading, late]);
  done.abort();
  if (read.ok) return read.files;
  log.warn('the status branch cannot be read: statuses that only the branch has are unknown', { detail: read.message });
  return undefined;
}

/** Whether others begin, go on or end to write the status. */
function isOthersChange(
  rules: StatusRules,
  kind: EngineKind,
  before: ObservedStatus | undefined,
  after: ObservedStatus,
): boolean {
  const isOfOthers = [before, after].some((status) => rules[kind]?.isOfOthers?.(status?.fields ?? {}) === true);
  return isOfOthers && (before === undefined || !jsonEquals(asJson(before), asJson(after)));
}

function asJson({ conditions, fields }: ObservedStatus): JsonObject {
  return { ...fields, conditions: conditions.map((condition) => ({ ...condition })) as JsonValue };
}
