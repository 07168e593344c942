import { sha256 } from '../../../../model/text/digest.ts';
import { canonicalJson, type JsonObject, type JsonValue, objectOf, textOf } from '../../../../model/text/json.ts';
import { errorText } from '../../../../model/text/messages.ts';
import { rfc3339 } from '../../../../model/text/time.ts';
import type { Clock } from '../../../../ports/clock.ts';
import type { Log } from '../../../../ports/log.ts';
import type { Random } from '../../../../ports/random.ts';
import type { WebhookChange } from '../../model/remediate.ts';
import {
  MOST_REMEDIATIONS,
  type RecordedRemediation,
  type RemediationFacts,
  type RemediationOutcome,
  readRemediations,
  remediationRows,
} from '../../model/remediations.ts';
import type { WebhookConfigurations } from '../../ports/webhook-configurations.ts';

export interface RemediationJournalDeps {
  readonly store: Pick<WebhookConfigurations, 'load' | 'save'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Most subjects with remembered words. */
const MOST_TOLD = 1_000;

export type RemediationJournal = ReturnType<typeof createRemediationJournal>;

/**
 * What the remediator has done, kept in the cluster. A change is recorded before it is made, so that none is lost with the
 * process. `changed` receives the newest rows.
 */
export function createRemediationJournal(
  { store, clock, random, log }: RemediationJournalDeps,
  changed: (rows: readonly RecordedRemediation[]) => void,
) {
  let rows: readonly RecordedRemediation[] = [];
  /** By subject: the digest of what was told of it, so that it is told once. */
  const told = new Map<string, string>();
  /** The rows whose change is under way, and all rows without them. */
  let pending: { readonly ids: ReadonlySet<string>; readonly before: typeof rows } | undefined;
  let isLoaded = false;

  const save = (): Promise<void> =>
    store.save({ changes: rows, told: Object.fromEntries(told) } as unknown as JsonObject);
  /** What has happened is known in any case. The next save makes it durable. */
  const saveIfPossible = (): Promise<void> =>
    save().catch((error: unknown) =>
      log.warn('the record of remediated webhooks could not be written', { reason: errorText(error) }),
    );
  const publish = (): void => changed(rows.filter(({ id }) => pending?.ids.has(id) !== true));
  const add = (facts: Omit<RemediationFacts, 'time'>, changes: readonly WebhookChange[]) => {
    const added = remediationRows({ ...facts, time: rfc3339(clock.now()) }, changes, () => random.id().slice(0, 16));
    rows = [...rows, ...added].slice(-MOST_REMEDIATIONS);
    return added;
  };

  return {
    /** Reads the record once. Rejects if the cluster does not answer. */
    async load(): Promise<void> {
      if (isLoaded) return;
      const record = (await store.load()) ?? {};
      rows = readRemediations(record);
      for (const [subject, digest] of Object.entries(objectOf(record.told))) told.set(subject, textOf(digest));
      isLoaded = true;
      publish();
    },
    /** Records that changes are about to be made. Rejects if it cannot: then they must not be made. */
    async begin(configuration: string, changes: readonly WebhookChange[]): Promise<void> {
      const before = rows;
      const message = 'the agent ended before the API server had answered';
      const added = add({ configuration, dryRun: false, outcome: 'unknown', message }, changes);
      try {
        await save();
      } catch (error) {
        rows = before;
        throw error;
      }
      pending = { ids: new Set(added.map(({ id }) => id)), before };
    },
    /** Records what became of the changes. */
    async settle(outcome: RemediationOutcome, message = ''): Promise<void> {
      const { ids } = pending ?? { ids: new Set() };
      rows = rows.map((row) => (ids.has(row.id) ? settled(row, outcome, message) : row));
      pending = undefined;
      publish();
      await saveIfPossible();
    },
    /** The changes were not made, and nothing is to be told of them. */
    async withdraw(): Promise<void> {
      rows = pending?.before ?? rows;
      pending = undefined;
      await saveIfPossible();
    },
    /** Records something that changes nothing, unless it was the last that was told of its subject. Returns whether it is new. */
    async tell(
      subject: string,
      facts: Omit<RemediationFacts, 'time'>,
      changes: readonly WebhookChange[],
      content: JsonValue,
    ): Promise<boolean> {
      const digest = sha256(canonicalJson(content));
      if (told.get(subject) === digest) return false;
      told.set(subject, digest);
      for (const oldest of told.keys()) if (told.size > MOST_TOLD) told.delete(oldest);
      add(facts, changes);
      publish();
      await saveIfPossible();
      return true;
    },
    /** What was told of the subject does not hold any more. */
    async forget(subject: string): Promise<void> {
      if (told.delete(subject)) await saveIfPossible();
    },
  };
}

/** A row that counts others keeps its message. */
function settled(row: RecordedRemediation, outcome: RemediationOutcome, message: string): RecordedRemediation {
  return { ...row, outcome, message: row.field === '' ? row.message : message };
}
