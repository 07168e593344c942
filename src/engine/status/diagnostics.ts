import type { EngineKind } from '../../model/engine-kinds.ts';
import { boundPolicy } from '../../model/fleet-policy.ts';
import { compareText } from '../../model/json.ts';
import type { ApprovalOutcome } from '../../model/ledger.ts';
import { displayKey, type ObjectKey } from '../../model/object-key.ts';
import type { Origin } from '../../model/output.ts';
import type { Declared } from '../fleet/declared.ts';
import { type DocumentRef, documentRefOf } from '../fleet/sources.ts';
import type { Engine } from '../graph.ts';
import type { EngineDiagnostic, ValueRef } from './diagnostic.ts';

/** Everything that the engine has to say, in canonical order. Cost follows the number of problems. */
export function engineDiagnostics(engine: Engine): readonly EngineDiagnostic[] {
  return [
    ...unplaced(engine),
    ...contested(engine),
    ...declaredTwice(engine),
    ...unknownClusters(engine),
    ...heldAsLastKnownGood(engine),
    ...cutPolicy(engine),
    ...judgedApprovals(engine),
    ...engine.domains.flatMap(({ parts }) => parts.diagnostics?.() ?? []),
    ...failures(engine),
  ].sort((a, b) => compareText(sortKey(a), sortKey(b)));
}

function unplaced(engine: Engine): readonly EngineDiagnostic[] {
  return engine.indexes.unplaced.members('all').map(({ partition, key, value }) => {
    const at = [documentRefOf({ partition, key })];
    return value.unknownCluster === undefined
      ? {
          severity: 'warning',
          reason: 'GoesNowhere',
          message: 'no Placement selects it and it lies under no clusters/NAME folder: it goes to no cluster',
          at,
        }
      : {
          severity: 'warning',
          reason: 'UnknownCluster',
          message: `no KubernetesCluster ${value.unknownCluster} is declared: it goes to no cluster`,
          at,
        };
  });
}

/** Two documents that want the same object in one cluster; clusters with the same quarrel share a line. */
function contested(engine: Engine): readonly EngineDiagnostic[] {
  const quarrels = new Map<
    string,
    {
      readonly key: string;
      readonly at: readonly DocumentRef[];
      readonly clusters: string[];
      readonly meanings: readonly string[];
      /** How many of those who want it derive it from live state. */
      readonly derived: number;
      /** What a person can do. */
      readonly advice: string;
    }
  >();
  for (const { partition: cluster, key, value } of engine.indexes.contested.members('all')) {
    const stays = engine.outputs.get(cluster, key)?.origins[0];
    const at = value
      .map((contribution) => documentRefOf(contribution.from))
      .sort((a, b) => Number(isAt(b, stays)) - Number(isAt(a, stays)));
    const derived = value.flatMap((contribution) => contribution.value.derived ?? []);
    const meanings = [
      ...new Set(derived.map(({ standsFor }) => `${displayKey(standsFor.key)} of cluster ${standsFor.cluster}`)),
    ];
    // Two documents of one domain may want the same object, as several Placements may select one document.
    if (meanings.length === 1 && derived.length === value.length) continue;
    const id = JSON.stringify([key, at, meanings]);
    const advice = engine.collisions.get(derived[0]?.domain ?? '')?.advice ?? '';
    const quarrel = quarrels.get(id) ?? { key, at, clusters: [], meanings, derived: derived.length, advice };
    quarrel.clusters.push(cluster);
    quarrels.set(id, quarrel);
  }
  return [...quarrels.values()].map(({ key, at, clusters, meanings, derived, advice }) => {
    const object = displayKey(key as ObjectKey);
    const where = clusters.join(', ');
    if (meanings.length === 0) {
      const message = `${object} is declared ${at.length} times for ${where}: the first one named here counts`;
      return { severity: 'error', reason: 'DeclaredTwice', message, at: at.map(atName) };
    }
    const declared = derived < at.length ? ', and is declared as well' : '';
    const message = `${object} of ${where} would stand for ${meanings.join(' and for ')}${declared}: the first one stays, ${advice}`;
    const places = new Map(at.map((ref) => [JSON.stringify(ref), ref]));
    return { severity: 'error', reason: 'NameCollision', message, at: [...places.values()] };
  });
}

function declaredTwice(engine: Engine): readonly EngineDiagnostic[] {
  return engine.indexes.troubledDeclarations.members('declaredTwice').map(({ key, value }) => ({
    severity: 'error',
    reason: 'DeclaredTwice',
    message: `${titleOf(value.kind, key)} is declared ${value.losers.length + 1} times: the first one named here counts`,
    at: [refOfDeclared(value), ...value.losers].map(atName),
  }));
}

function unknownClusters(engine: Engine): readonly EngineDiagnostic[] {
  return [...engine.placements.entries('')].flatMap(({ key, value: { declared, unknownClusters } }) =>
    unknownClusters.map((name) => ({
      severity: 'warning',
      reason: 'UnknownCluster',
      message: `Placement ${key} names clusters that no KubernetesCluster declares: ${name}`,
      at: [{ ...refOfDeclared(declared), field: ['spec', 'clusters', 'names', { item: name }] }],
    })),
  );
}

function heldAsLastKnownGood(engine: Engine): readonly EngineDiagnostic[] {
  return engine.indexes.troubledDeclarations.members('lastKnownGood').map(({ key, value }) => ({
    severity: 'warning',
    reason: 'LastKnownGood',
    message: `${titleOf(value.kind, key)} ${whyHeld(value)} and holds as last known good`,
    at: [{ ...value.origin, identity: value.identity }],
  }));
}

function whyHeld({ refusal }: Declared): string {
  return refusal === undefined ? 'cannot be read' : `cannot be changed so (${refusal.message})`;
}

function titleOf(kind: EngineKind, key: string): string {
  return key === '' ? `the ${kind}` : `${kind} ${key}`;
}

/** A policy that asks for more than the server's own file allows. */
function cutPolicy(engine: Engine): readonly EngineDiagnostic[] {
  const declared = engine.policy.get('', '');
  const settings = engine.inputs.fleet.get('', '');
  if (declared === undefined || settings === undefined) return [];
  return boundPolicy(declared.value, settings.bounds).cuts.map(({ field, message }) => ({
    severity: 'warning',
    reason: 'PolicyBounded',
    message: `the FleetPolicy is looser than the server allows: ${message}`,
    at: [{ ...refOfDeclared(declared), field }],
  }));
}

/** RemovalApprovals that have been judged: none of them does anything any more. */
function judgedApprovals(engine: Engine): readonly EngineDiagnostic[] {
  return [...engine.declarations.entries('RemovalApproval')].flatMap(({ key: name, value }) => {
    const verdict = engine.inputs.approvalOutcomes.get('', name);
    if (verdict === undefined) return [];
    const { field, ...said } = SAID[verdict.outcome](name);
    return [{ ...said, severity: 'warning', at: [{ ...refOfDeclared(value), field }, ...value.losers] }];
  });
}

const SAID: Readonly<
  Record<
    ApprovalOutcome['outcome'],
    (name: string) => Pick<EngineDiagnostic, 'reason' | 'message'> & Required<Pick<ValueRef, 'field'>>
  >
> = {
  used: (name) => ({
    reason: 'ApprovalUsed',
    field: NAME,
    message: `RemovalApproval ${name} was used and does nothing more: delete it`,
  }),
  stale: (name) => ({
    reason: 'ApprovalStale',
    field: ['spec', 'digest'],
    message: `RemovalApproval ${name} releases nothing: no removals of its digest were held before it came. If they are held now, approve them with another RemovalApproval in a later commit`,
  }),
  expired: (name) => ({
    reason: 'ApprovalExpired',
    field: ['spec', 'expires'],
    message: `RemovalApproval ${name} was void already when it was read: delete it`,
  }),
};

/** A function of the engine threw: a defect, reported with its key and without stopping anything else. */
function failures(engine: Engine): readonly EngineDiagnostic[] {
  return engine.derived.flatMap((collection) =>
    [...collection.failures.partitions()].flatMap((partition) =>
      [...collection.failures.entries(partition)].map(
        ({ key, value }): EngineDiagnostic => ({
          severity: 'error',
          reason: 'Failed',
          message: `${collection.name} failed for ${[partition, key.replaceAll('\u0000', ' ')].filter((part) => part !== '').join(' ')}: ${value.message}`,
          at: [],
        }),
      ),
    ),
  );
}

/** Two documents of one name are at fault by their names. */
const NAME = ['metadata', 'name'];

function atName(ref: DocumentRef): ValueRef {
  return { ...ref, field: NAME };
}

function refOfDeclared({ origin, identity }: Declared): DocumentRef {
  return { ...origin, identity };
}

function isAt(ref: DocumentRef, origin: Origin | undefined): boolean {
  return origin !== undefined && ref.source === origin.source && ref.path === origin.path;
}

function sortKey({ at, reason, message }: EngineDiagnostic): string {
  return `${at[0]?.source ?? ''}\u0000${at[0]?.path ?? ''}\u0000${reason}\u0000${message}`;
}
