import type { Engine } from '../../engine/graph.ts';
import { type JsonValue, parseJsonBytes } from '../../model/text/json.ts';
import type { StoredRecord } from '../../ports/snapshot-store.ts';
import type { ServerCore } from '../core.ts';
import type { Deadlines } from '../deadlines.ts';
import {
  type ApprovalRecord,
  type ElapsedRecord,
  type OutcomesRecord,
  recordKey,
  recordShape,
  type WindowRecord,
} from '../ledger/records.ts';
import type { Shape } from '../ledger/shapes.ts';
import type { ApprovalOutcomes } from '../removals/approval-files.ts';
import type { Approvals } from '../removals/approvals.ts';
import type { Windows } from '../removals/windows.ts';
import { createKeyedTask, type KeyedTask } from '../single-flight.ts';
import type { ObservedStatuses } from '../status/observed-statuses.ts';

/** Records that the leader writes and followers stage as entries of an input of the engine, or remember. */
interface ReplicatedInput {
  /** What stands before `PARTITION/KEY` in the keys of the records. */
  readonly prefix: string;
  /** The value of a record that does not match is ignored. */
  readonly shape: Shape;
  readonly staged: {
    readonly partitions: () => Iterable<string>;
    readonly entries: (partition: string) => Iterable<{ readonly key: string }>;
  };
  /** Stages the value of the record; undefined: the store has no record. */
  readonly replicate: (partition: string, key: string, value: JsonValue | undefined) => void;
}

/** For records that are missing from the store: nothing is deleted, because the store may have lost them. */
const noneStaged: ReplicatedInput['staged'] = { partitions: () => [], entries: () => [] };

/** The passed moments, the statuses that were written last, the windows of the guards, approvals and the outcomes of their files. */
export function replicatedInputs({
  engine,
  deadlines,
  observed,
  windows: { followed },
  approvals,
  outcomes,
}: {
  readonly engine: { readonly inputs: Pick<Engine['inputs'], 'elapsed' | 'observed'> };
  readonly deadlines: Pick<Deadlines, 'replicate'>;
  readonly observed: Pick<ObservedStatuses, 'replicate'>;
  readonly windows: Pick<Windows, 'followed'>;
  readonly approvals: { readonly followed: Pick<Approvals['followed'], 'replicate'> };
  readonly outcomes: Pick<ApprovalOutcomes, 'replicate'>;
}): readonly ReplicatedInput[] {
  return [
    {
      prefix: recordKey.elapsedOfAll,
      shape: recordShape.elapsed,
      staged: engine.inputs.elapsed,
      replicate: (owner, key, value) => deadlines.replicate(owner, key, (value as ElapsedRecord | undefined)?.at),
    },
    {
      prefix: recordKey.observedOfAll,
      shape: recordShape.observed,
      staged: engine.inputs.observed,
      replicate: observed.replicate,
    },
    {
      prefix: recordKey.windowOfAll,
      shape: recordShape.window,
      staged: { partitions: () => [''], entries: followed.entries },
      replicate: (_, cluster, value) => followed.replicate(cluster, value as unknown as WindowRecord | undefined),
    },
    {
      prefix: recordKey.approvalOfAll,
      shape: recordShape.approval,
      staged: noneStaged,
      replicate: (cluster, key, value) =>
        approvals.followed.replicate(cluster, key, value as unknown as ApprovalRecord | undefined),
    },
    {
      prefix: recordKey.approvalOutcomesOfAll,
      shape: recordShape.approvalOutcomes,
      staged: noneStaged,
      replicate: (_partition, _key, value) => outcomes.replicate(value as unknown as OutcomesRecord | undefined),
    },
  ];
}

/** From this number of changed records on, one listing costs less than reading each record. */
const LIST_FROM = 100;

/** Stages at a follower what the leader has written. The keys of the task are records of these inputs; others are ignored. */
export function createReplicatedRecords(
  deps: Pick<ServerCore, 'store' | 'clock' | 'log'> & {
    readonly inputs: readonly ReplicatedInput[];
    /** A leader reads nothing: it writes the records. */
    readonly leads: () => boolean;
  },
): KeyedTask {
  const { store, inputs, leads } = deps;

  const apply = (record: string, stored: StoredRecord | undefined): void => {
    const input = inputs.find(({ prefix }) => record.startsWith(prefix));
    const [, partition, key] = /^([^/]*)\/(.*)$/s.exec(record.slice(input?.prefix.length)) ?? [];
    if (input === undefined || partition === undefined || key === undefined) return;
    const json = stored === undefined ? undefined : parseJsonBytes(stored.value);
    if (stored !== undefined && (json === undefined || !input.shape(json))) return;
    input.replicate(partition, key, json);
  };
  const readAll = async ({ prefix, staged }: ReplicatedInput): Promise<readonly string[]> => {
    const listed = new Set<string>();
    for await (const record of store.list(prefix)) {
      listed.add(record.key);
      apply(record.key, record);
    }
    const known = [...staged.partitions()].flatMap((partition) =>
      [...staged.entries(partition)].map(({ key }) => `${prefix}${partition}/${key}`),
    );
    // Read once more: the leader may have written the record after the listing.
    return known.filter((record) => !listed.has(record));
  };
  const task = createKeyedTask(deps, 'reading what the leader has written', {
    allFrom: LIST_FROM,
    all: async () => (leads() ? [] : (await Promise.all(inputs.map(readAll))).flat()),
    each: async (record) => {
      if (!leads()) apply(record, await store.get(record));
    },
  });
  return {
    ...task,
    wake: (record) => {
      if (record === undefined || inputs.some(({ prefix }) => record.startsWith(prefix))) task.wake(record);
    },
  };
}
