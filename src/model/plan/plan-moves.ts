import { compareText, isJsonObject, type JsonValue } from '../text/json.ts';
import { ok, problem, type Result } from '../values/result.ts';
import type { PlanView } from './plan.ts';
import { ACTIONS, namedClusters, shortRevision } from './plan-text.ts';

/** Reads a plan that `fleetrelay plan -o json` has printed. */
export function parsePlan(value: JsonValue | undefined): Result<PlanView> {
  if (!isJsonObject(value) || !Array.isArray(value.clusters) || !isJsonObject(value.state)) {
    return problem('is no plan as `fleetrelay plan -o json` prints it');
  }
  return ok(value as unknown as PlanView);
}

/** What has moved between two plans, as sentences in canonical order: inputs first, then the changes that differ. */
export function movedSince(before: PlanView, now: PlanView): readonly string[] {
  return [
    ...movedNames(
      before.state.revisions,
      now.state.revisions,
      (source, was, is) =>
        `source ${source} was at ${shortRevision(was ?? 'no revision')} and is at ${shortRevision(is ?? 'no revision')}`,
    ),
    ...(before.revision === now.revision
      ? []
      : [`the planned revision was ${shortRevision(before.revision)} and is ${shortRevision(now.revision)}`]),
    ...movedNames(waitsOf(before), waitsOf(now), (cluster, was, is) =>
      is === undefined ? `${cluster} does not wait any more (${was})` : `${cluster} waits: ${is}`,
    ),
    ...movedChanges(before, now),
  ];
}

function movedNames(
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
  sentence: (name: string, was: string | undefined, is: string | undefined) => string,
): readonly string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort(compareText);
  return names.filter((name) => before[name] !== now[name]).map((name) => sentence(name, before[name], now[name]));
}

function waitsOf({ clusters }: PlanView): Readonly<Record<string, string>> {
  return Object.fromEntries(
    clusters.flatMap(({ cluster, waits }) => (waits === undefined ? [] : [[cluster, waits] as const])),
  );
}

/** Changes that only one of the plans has. The same change in several clusters is one text. */
function movedChanges(before: PlanView, now: PlanView): readonly string[] {
  const [older, newer] = [changesOf(before), changesOf(now)];
  const all = [...new Set([...older.keys(), ...newer.keys()])].sort(compareText);
  return all.flatMap((change) => {
    const [was, is] = [new Set(older.get(change)), new Set(newer.get(change))];
    const added = [...is.difference(was)];
    const gone = [...was.difference(is)];
    return [
      ...(added.length === 0 ? [] : [`new: ${change} in ${namedClusters(added)}`]),
      ...(gone.length === 0 ? [] : [`gone: ${change} in ${namedClusters(gone)}`]),
    ];
  });
}

/** The clusters of each change. */
function changesOf({ clusters }: PlanView): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { cluster, changes } of clusters) {
    for (const { object, action } of changes) {
      const change = `${ACTIONS[action].word} ${object}`;
      const known = found.get(change);
      if (known === undefined) found.set(change, [cluster]);
      else known.push(cluster);
    }
  }
  return found;
}
