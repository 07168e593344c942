import type { Collection } from '../../../engine/collections/types.ts';
import type { Entity, EntityCondition, EntityKind, Fact, Reason } from '../../../engine/domain.ts';
import type { Condition, ConditionValue } from '../../../model/fleet/conditions.ts';
import { displayKey } from '../../../model/objects/object-key.ts';
import { formatGoDuration } from '../../../model/text/go-duration.ts';
import { type JsonValue, objectOf, objectsOf, textOf, textsOf } from '../../../model/text/json.ts';
import { rfc3339 } from '../../../model/text/time.ts';
import { given } from '../../../model/values/given.ts';
import { isOfGardener } from '../model/shoot.ts';
import type { CareSettingsRead } from './settings.ts';
import { type ShownShoot, type ShownSources, shownShoots } from './shown-shoots.ts';
import type { Judged } from './thresholds.ts';
import { shootRow } from './views.ts';

/** What explanations of Shoots read. */
export interface ExplainedSources extends ShownSources {
  readonly judged: Collection<Judged>;
  readonly judgedConstraints: Collection<readonly Judged[]>;
  readonly settings: Collection<JsonValue>;
}

/** An explanation names at most this many conditions, and as many errors. */
const NAMED = 20;

/** Shoots, as people ask about them: `NAMESPACE/NAME`, or `NAME`. */
export function shootEntities(sources: ExplainedSources): EntityKind {
  return {
    words: ['shoot', 'shoots'],
    isNamespaced: true,
    names: () => shownShoots(sources).map(nameOf),
    named: (name) =>
      shownShoots(sources)
        .filter((shoot) => nameOf(shoot) === name || shoot.name === name)
        .map((shoot) => entityOf(shoot, sources)),
  };
}

function nameOf({ namespace, name }: ShownShoot): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

function entityOf(shoot: ShownShoot, sources: ExplainedSources): Entity {
  const { liveIn, binding } = shoot;
  return {
    name: nameOf(shoot),
    ...(liveIn === undefined ? {} : { cluster: liveIn.cluster }),
    ...(binding === undefined ? {} : { declaration: { kind: 'Shoot', key: binding.key } as const }),
    conditions: () => conditionsOf(shoot, sources),
    explain: () => {
      const row = shootRow(shoot);
      const description = textOf(objectOf(shoot.fields.lastOperation).description);
      const conditions = conditionsOf(shoot, sources).filter(({ condition }) => condition.status !== 'True');
      return {
        row,
        message: [textOf(row.lastOperation), description].filter((text) => text !== '').join(': '),
        reasons: [
          ...originFacts(shoot),
          ...errorFacts(shoot),
          ...conditions.slice(0, NAMED).flatMap(({ facts }) => facts),
        ],
      };
    },
  };
}

/** Who cares for the Shoot, and where it is. */
function originFacts({ liveIn, binding, fields }: ShownShoot): readonly (Reason | Fact)[] {
  const caretaker = textOf(objectOf(fields.gardener).name);
  const writes = 'fleetrelay writes nothing to it';
  if (liveIn !== undefined) {
    const stale = liveIn.isStale ? '; its agent is not connected, and this was known last' : '';
    const part = `is the Shoot; no source declares it: ${writes}${stale}`;
    return [{ type: 'live', cluster: liveIn.cluster, key: liveIn.key, part }];
  }
  if (binding === undefined) return [];
  if (isOfGardener(fields)) return [fact('Gardener', caretaker, `cares for it: ${writes}`)];
  const { cluster, seed, controlPlaneNamespace, isIgnored } = binding;
  return [
    ...(isIgnored ? [fact('annotation', 'shoot.gardener.cloud/ignore', 'switches care off')] : []),
    fact('cluster', cluster, 'is the cluster of the Shoot'),
    ...(seed === undefined
      ? []
      : [fact('Seed', seed, `runs the control plane, in namespace ${controlPlaneNamespace}`)]),
  ];
}

function errorFacts({ fields }: ShownShoot): readonly Fact[] {
  const errors = objectsOf(fields.lastErrors);
  const shown = errors.slice(0, NAMED).map(({ taskID, description, codes }) => {
    const known = textsOf(codes);
    return fact('error', textOf(taskID), `${textOf(description)}${known.length === 0 ? '' : ` (${known.join(', ')})`}`);
  });
  const left = errors.length - shown.length;
  return left === 0 ? shown : [...shown, fact('errors', '', `and ${left} more`)];
}

/** The conditions and constraints of a Shoot, each with what it follows from. */
function conditionsOf(shoot: ShownShoot, sources: ExplainedSources): readonly EntityCondition[] {
  const { conditions, constraints, fields } = shoot;
  // What a Gardener has written does not follow from what is judged here.
  const binding = isOfGardener(fields) ? undefined : shoot.binding;
  const { judged, judgedConstraints, observed } = sources;
  const written = binding === undefined ? undefined : observed.get('Shoot', binding.key);
  // Conditions follow from the operation that was written last.
  const operation = objectOf((written?.fields ?? fields).lastOperation);
  const ofCondition = (condition: ConditionValue): Judged | undefined =>
    binding === undefined ? undefined : judged.get(condition.type, binding.key);
  const ofConstraint = ({ type }: ConditionValue): Judged | undefined =>
    binding === undefined
      ? undefined
      : judgedConstraints.get('', binding.key)?.find(({ condition }) => condition.type === type);
  const { thresholds } = sources.settings.get('', '') as unknown as CareSettingsRead;
  return [
    ...conditions.map((condition) => {
      const last = written?.conditions.find(({ type }) => type === condition.type);
      const end = endOf(ofCondition(condition), {
        written: last,
        thresholdMillis: thresholds[condition.type],
        operation,
      });
      return explained('condition', condition, sinceOf(condition, last), end, ofCondition(condition));
    }),
    ...constraints.map((constraint) => {
      const last = objectsOf(written?.fields.constraints).find(({ type }) => type === constraint.type);
      const judgment = ofConstraint(constraint);
      const end = judgment?.isPardoned === true ? endOf(judgment, { operation }) : {};
      return explained('constraint', constraint, sinceOf(constraint, last), end, judgment);
    }),
  ];
}

/** When a condition that is Progressing turns False. */
interface End {
  /** RFC 3339. */
  readonly turnsFalseAt?: string;
  readonly text?: string;
}

function explained(
  kind: 'condition' | 'constraint',
  { type, status, reason, message, codes }: ConditionValue,
  since: string | undefined,
  { turnsFalseAt, text }: End,
  { cause }: Pick<Judged, 'cause'> = {},
): EntityCondition {
  const note = [`${status} ${since === undefined ? 'since just now' : `since ${since}`}`, text ?? ''];
  return {
    condition: { type, status, reason, message, ...given({ codes }) },
    ...given({ since, turnsFalseAt, cause }),
    facts: [
      fact(kind, type, note.filter((part) => part !== '').join('; ')),
      ...(cause === undefined
        ? []
        : [
            { ...fact('live object', displayKey(cause.key), 'is the cause'), depth: 1, at: { cluster: cause.cluster } },
          ]),
    ],
  };
}

/** Since when a condition has its status: as it was written last; undefined: the status was not written yet. */
function sinceOf(
  condition: ConditionValue | Condition,
  written:
    | Pick<Condition, 'status' | 'lastTransitionTime'>
    | { readonly [name: string]: JsonValue | undefined }
    | undefined,
): string | undefined {
  if ('lastTransitionTime' in condition) return condition.lastTransitionTime;
  return written?.status === condition.status ? textOf(written.lastTransitionTime) || undefined : undefined;
}

function endOf(
  judged: Judged | undefined,
  {
    written,
    thresholdMillis,
    operation,
  }: {
    readonly written?: Condition | undefined;
    readonly thresholdMillis?: number | undefined;
    readonly operation: { readonly [name: string]: JsonValue | undefined };
  },
): End {
  if (judged?.condition.status !== 'Progressing') return {};
  if (judged.isPardoned === true) {
    const { type, state } = operation;
    const which = typeof state === 'string' ? `${textOf(type)} ${state}` : 'there was no operation yet';
    return { text: `the last operation excuses it (${which}); it turns False after that` };
  }
  if (judged.until !== undefined) {
    const turnsFalseAt = rfc3339(judged.until * 1000);
    return { turnsFalseAt, text: `turns False at ${turnsFalseAt} unless it recovers before` };
  }
  // The time of the change is known when the status is written.
  if (written?.status !== 'Progressing' && thresholdMillis !== undefined) {
    return { text: `turns False after ${formatGoDuration(thresholdMillis)}` };
  }
  return { text: 'does not turn False by itself' };
}

function fact(kind: string, name: string, note: string): Fact {
  return { type: 'fact', depth: 0, kind, name, note };
}
