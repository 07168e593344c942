import { type JsonObject, type JsonValue, objectsOf, textOf } from '../../../model/text/json.ts';
import { cutText } from '../../../model/text/messages.ts';
import { parseRfc3339 } from '../../../model/text/time.ts';
import type { WebhookChange } from './remediate.ts';

/** The ConfigMap with the record of the remediator, in the agent's own namespace. */
export const REMEDIATION_RECORD = 'fleetrelay-remediations';

/**
 * `changed`: the API server has made the change. `wouldChange`: it would, and was asked for a dry run. `refused`: it does not.
 * `leftAlone`: a field manager keeps reverting the change. `unknown`: the agent has no answer.
 */
const OUTCOMES = ['changed', 'wouldChange', 'refused', 'leftAlone', 'unknown'] as const;
export type RemediationOutcome = (typeof OUTCOMES)[number];

/** What the remediator of an agent has done about one field of one webhook, or about a configuration. */
export interface RecordedRemediation {
  /** Unique in the cluster. */
  readonly id: string;
  /** RFC 3339. */
  readonly time: string;
  /** `KIND/NAME`. */
  readonly configuration: string;
  /** Its name; empty: the configuration as such. */
  readonly webhook: string;
  /** Empty: the configuration as such. */
  readonly field: string;
  /** Null: it was not written. A long value is its JSON text, cut. */
  readonly from: JsonValue;
  readonly to: JsonValue;
  readonly dryRun: boolean;
  readonly outcome: RemediationOutcome;
  /** Why; may be empty. */
  readonly message: string;
}

/** Most remediations that an agent reports, the newest first. */
export const MOST_REMEDIATIONS = 100;
/** Rows for one look at a configuration. */
const MOST_AT_ONCE = 50;
const LONGEST_VALUE = 1_000;
const LONGEST_MESSAGE = 500;
const LONGEST_NAME = 300;

/** What the rows of one look at a configuration have in common. */
export type RemediationFacts = Pick<RecordedRemediation, 'time' | 'configuration' | 'dryRun' | 'outcome' | 'message'>;

/** A row for each change, or one for the configuration as such if there is none. If there are too many, the last row counts them. */
export function remediationRows(
  facts: RemediationFacts,
  changes: readonly WebhookChange[],
  newId: () => string,
): readonly RecordedRemediation[] {
  const row = (values: Partial<RecordedRemediation>): RecordedRemediation =>
    bounded({ webhook: '', field: '', from: null, to: null, ...facts, ...values, id: newId() });
  const shown = changes.length > MOST_AT_ONCE ? changes.slice(0, MOST_AT_ONCE - 1) : changes;
  const others = changes.length - shown.length;
  return [
    ...shown.map(({ webhook, field, from, to }) => row({ webhook, field, from, to })),
    ...(changes.length === 0 ? [row({})] : []),
    ...(others === 0 ? [] : [row({ message: `and ${others} more fields` })]),
  ];
}

/** Reads the rows of a report or a record, the oldest first. What is malformed in it is left out, and long values are cut. */
export function readRemediations({ changes }: JsonObject): readonly RecordedRemediation[] {
  return objectsOf(changes).slice(-MOST_REMEDIATIONS).flatMap(readRow);
}

function readRow(row: JsonObject): readonly RecordedRemediation[] {
  const outcome = OUTCOMES.find((each) => each === row.outcome);
  const id = textOf(row.id);
  const time = textOf(row.time);
  if (outcome === undefined || !/^[\w.-]{1,64}$/.test(id) || parseRfc3339(time) === undefined) return [];
  const [configuration, webhook, field, message] = [row.configuration, row.webhook, row.field, row.message].map(textOf);
  const texts = {
    configuration: configuration ?? '',
    webhook: webhook ?? '',
    field: field ?? '',
    message: message ?? '',
  };
  const { from = null, to = null } = row;
  return [bounded({ id, time, ...texts, from, to, dryRun: row.dryRun === true, outcome })];
}

function bounded(row: RecordedRemediation): RecordedRemediation {
  return {
    ...row,
    configuration: cutText(row.configuration, LONGEST_NAME),
    webhook: cutText(row.webhook, LONGEST_NAME),
    field: cutText(row.field, LONGEST_NAME),
    message: cutText(row.message, LONGEST_MESSAGE),
    from: boundedValue(row.from),
    to: boundedValue(row.to),
  };
}

function boundedValue(value: JsonValue): JsonValue {
  const text = JSON.stringify(value);
  return text.length <= LONGEST_VALUE ? value : cutText(typeof value === 'string' ? value : text, LONGEST_VALUE);
}
