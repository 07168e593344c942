import { explainObject } from '../../engine/explain/explain-object.ts';
import { clustersWith, findDeclaration, findObject } from '../../engine/explain/object-name.ts';
import type { Reason } from '../../engine/explain/reason.ts';
import type { Engine } from '../../engine/graph.ts';
import { progressConditions } from '../../engine/status/objects.ts';
import { displayObjectName, type ObjectName, parseObjectName } from '../../model/explain-query.ts';
import { quote } from '../../model/ids.ts';
import { displayKey, type ObjectKey } from '../../model/object-key.ts';
import { suggestion } from '../../model/suggestion.ts';
import type { Answer, ExplainRequest, Explanation, ObjectExplanation } from '../../server/api.ts';
import { conditionAmong, explainDeclared, isCondition } from './explain-declared.ts';
import { type ExplainDeps, fieldOf, stepOf } from './explain-steps.ts';

type Refusal = Extract<Answer<never>, { readonly ok: false }>;

/** At most so many candidates are listed. */
const LISTED = 20;

/** Answers where an object of a cluster or a declaration comes from, down to file:line@commit, and why it is as it is. */
export async function explain(
  deps: ExplainDeps,
  { cluster, object, part }: ExplainRequest,
): Promise<Answer<Explanation>> {
  const name = parseObjectName(object);
  if (!name.ok) return { ok: false, kind: 'invalid', message: `${quote(object)} ${name.problem}` };
  return cluster === undefined
    ? explainNamedDeclaration(deps, name.value, part)
    : explainNamedObject(deps, cluster, name.value, part);
}

async function explainNamedDeclaration(
  deps: ExplainDeps,
  name: ObjectName,
  part: string | undefined,
): Promise<Answer<Explanation>> {
  const found = findDeclaration(deps.engine, name);
  const written = displayObjectName(name);
  switch (found.type) {
    case 'found':
      return explainDeclared(deps, found, part);
    case 'ambiguous':
      return several(`${written} can be several declarations`, found.names);
    case 'none': {
      if (found.kinds.length > 0) {
        const meant = suggestion(written, found.known);
        const known = meant === undefined ? listed(found.known) : `did you mean ${meant}?`;
        const message = `no source declares ${written}${known === '' ? '' : `; ${known}`}`;
        return { ok: false, kind: 'notFound', message };
      }
      const clusters = clustersWith(deps.engine, name);
      const where = clusters.length === 0 ? '' : `, one of ${clusters.join(', ')}`;
      const message = `the engine reads no kind ${name.kind}, so ${written} is an object of a cluster: name the cluster${where}`;
      return { ok: false, kind: 'invalid', message };
    }
  }
}

async function explainNamedObject(
  deps: ExplainDeps,
  cluster: string,
  name: ObjectName,
  part: string | undefined,
): Promise<Answer<Explanation>> {
  const found = findObject(deps.engine, cluster, name);
  switch (found.type) {
    case 'none':
      return notFound(deps.engine, cluster, name, found.elsewhere);
    case 'ambiguous':
      return several(`${displayObjectName(name)} can be several objects of ${cluster}`, found.names);
    case 'found':
      return explainKey(deps, cluster, found.key, part);
  }
}

async function explainKey(
  deps: ExplainDeps,
  cluster: string,
  key: ObjectKey,
  part: string | undefined,
): Promise<Answer<ObjectExplanation>> {
  const { progress, reasons } = explainObject(deps.engine, cluster, key);
  const whole: ObjectExplanation = {
    cluster,
    object: displayKey(key),
    state: progress?.state ?? 'pending',
    message: progress?.message ?? '',
    because: await Promise.all(reasons.map((reason) => stepOf(deps, reason))),
  };
  if (part === undefined) return { ok: true, value: whole };
  if (isCondition(part)) {
    const condition = conditionAmong(whole.object, progress === undefined ? [] : progressConditions([progress]), part);
    return condition.ok ? { ok: true, value: { ...whole, condition: condition.value } } : condition;
  }
  const winner = reasons.find((reason): reason is Reason & { readonly type: 'declares' } => reason.type === 'declares');
  if (winner === undefined) {
    const message = `no document that is there now declares ${whole.object}, so none of its fields is written`;
    return { ok: false, kind: 'notFound', message };
  }
  const field = await fieldOf(deps, winner.at, part);
  if (!field.ok) return { ok: false, kind: 'invalid', message: field.problem };
  return { ok: true, value: { ...whole, field: field.value } };
}

function several(what: string, names: readonly string[]): Refusal {
  return { ok: false, kind: 'conflict', message: `${what}: ${listed(names)}` };
}

function listed(names: readonly string[]): string {
  const more = names.length > LISTED ? `, and ${names.length - LISTED} more` : '';
  return `${names.slice(0, LISTED).join(', ')}${more}`;
}

function notFound(engine: Engine, cluster: string, name: ObjectName, elsewhere: readonly string[]): Refusal {
  const written = displayObjectName(name);
  if (engine.clusters.get('', cluster) === undefined) {
    return { ok: false, kind: 'notFound', message: `there is no cluster ${cluster}` };
  }
  const declared = findDeclaration(engine, name);
  if (elsewhere.length === 0 && (declared.type !== 'none' || declared.kinds.length > 0)) {
    const message = `${written} is of a kind that the engine reads, which lies in no cluster: leave the cluster out`;
    return { ok: false, kind: 'invalid', message };
  }
  const others = elsewhere.length === 0 ? 'nor in any other cluster' : `but in ${elsewhere.join(', ')}`;
  const message = `fleetrelay has nothing to do with ${written} in ${cluster}, ${others}`;
  return { ok: false, kind: 'notFound', message };
}
