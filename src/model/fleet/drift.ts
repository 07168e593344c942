import { kindOf, type ObjectKey } from '../objects/object-key.ts';
import { type JsonObject, objectsOf, textOf, textsOf } from '../text/json.ts';
import { cutText } from '../text/messages.ts';
import { parseRfc3339 } from '../text/time.ts';

/** What an agent does about drift: it applies the object again, or only reports the drift. */
export const DRIFT_MODES = ['Repair', 'Report'] as const;
export type DriftMode = (typeof DRIFT_MODES)[number];

/** The annotation of a manifest that overrides what Placements and the policy say of this object; in any case of letters. */
export const DRIFT_ANNOTATION = 'fleetrelay.dev/drift';

/** `putBack`: the agent has applied the object again. `left`: it only reports. `over`: it was left, and is as declared again. */
const OUTCOMES = ['putBack', 'left', 'over'] as const;
export type DriftOutcome = (typeof OUTCOMES)[number];

/** What others have done to an applied object. */
export interface Drift {
  readonly drift: 'changed' | 'removed';
  /** The declared fields that differ, as far as they are known; at most {@link MOST_DRIFT_FIELDS}. Never values. */
  readonly fields: readonly string[];
  /** The field managers that have changed them, as far as they are known. */
  readonly managers: readonly string[];
}

/** Drift of one applied object of a cluster. */
export interface DriftRecord extends Drift {
  /** When it was seen last, RFC 3339. */
  readonly time: string;
  /** For people: `Deployment.apps/web/frontend`. */
  readonly object: string;
  readonly outcome: DriftOutcome;
  /** How often it was seen since the agent has started. */
  readonly count: number;
}

/** The most objects that an agent reports: those that have drifted last. */
export const MOST_DRIFTS = 100;
/** The most fields of one object, and managers of them, that are told. */
export const MOST_DRIFT_FIELDS = 10;
const LONGEST_TEXT = 300;

/** An item of a list that is named by its value, and not by its keys or its name: `["a"]`, `[1]`, `[=1]`. */
const NAMED_BY_VALUE = /\[(?:["=[]|-?\d|(?:true|false|null)\]).*/s;

/**
 * Fields that differ, as they are told to people: never with values. A path ends before an item that is named by its value,
 * and of a Secret only `data` and `stringData` are told. A field without a name is left out.
 */
export function toldFields(key: ObjectKey, fields: readonly string[]): readonly string[] {
  const isSecret = kindOf(key) === '/Secret';
  const told = fields.map((field) => {
    const named = field.replace(NAMED_BY_VALUE, '').replace(/^\./, '');
    return isSecret ? named.replace(/^(data|stringData)\b.*/s, '$1') : named;
  });
  return short([...new Set(told)].filter((field) => field !== ''));
}

/** Most names that are told, and most characters of each. */
export function short(names: readonly string[]): readonly string[] {
  return names.slice(0, MOST_DRIFT_FIELDS).map((name) => cutText(name, LONGEST_TEXT));
}

/** For people: `data.greeting changed by "kubectl-edit"`. */
export function displayDrift({ drift, fields, managers }: Drift): string {
  const by = managers.length === 0 ? '' : ` by ${managers.map((name) => `"${name}"`).join(', ')}`;
  const what = drift === 'removed' || fields.length === 0 ? 'it was' : fields.join(', ');
  return `${what} ${drift}${by}`;
}

/** Reads the rows of a report, the oldest first. What is malformed is left out, and what is too long is cut. */
export function readDrifts({ drifts }: JsonObject): readonly DriftRecord[] {
  return objectsOf(drifts).slice(-MOST_DRIFTS).flatMap(readDrift);
}

function readDrift(row: JsonObject): readonly DriftRecord[] {
  const outcome = OUTCOMES.find((each) => each === row.outcome);
  const drift = (['changed', 'removed'] as const).find((each) => each === row.drift);
  const time = textOf(row.time);
  const object = textOf(row.object);
  if (outcome === undefined || drift === undefined || object === '' || parseRfc3339(time) === undefined) return [];
  const count = typeof row.count === 'number' && Number.isSafeInteger(row.count) ? row.count : 1;
  return [
    {
      time,
      drift,
      outcome,
      count,
      object: cutText(object, LONGEST_TEXT),
      fields: short(textsOf(row.fields)),
      managers: short(textsOf(row.managers)),
    },
  ];
}
