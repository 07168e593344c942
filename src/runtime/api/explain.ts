import { explainDeclaration, troubledObjects } from '../../engine/explain/explain-declaration.ts';
import { explainObject } from '../../engine/explain/explain-object.ts';
import { clustersWith, type DeclarationName, findDeclaration, findObject } from '../../engine/explain/object-name.ts';
import type { Reason } from '../../engine/explain/reason.ts';
import type { Declared } from '../../engine/fleet/declared.ts';
import type { DocumentRef } from '../../engine/fleet/sources.ts';
import type { Engine } from '../../engine/graph.ts';
import type { EngineDiagnostic } from '../../engine/status/diagnostic.ts';
import { progressConditions } from '../../engine/status/objects.ts';
import type { ConditionValue } from '../../model/conditions.ts';
import { findings as codes, displayLocation, type Location, sentenceOf } from '../../model/diagnostic.ts';
import { displayObjectName, type ObjectName, parseObjectName } from '../../model/explain-query.ts';
import { displayPath, parseFieldPath } from '../../model/field-path.ts';
import { quote } from '../../model/ids.ts';
import { suggestion } from '../../model/messages.ts';
import { displayKey, type ObjectKey, parseObjectKey } from '../../model/object-key.ts';
import { ok, problem, type Result } from '../../model/result.ts';
import type {
  Answer,
  ConditionView,
  DeclarationExplanation,
  ExplainRequest,
  Explanation,
  ExplanationStep,
  FieldView,
  ObjectExplanation,
} from '../../server/api.ts';
import type { SourceTable } from '../source-table.ts';
import type { Locator } from './locator.ts';

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

/** Types of conditions are UpperCamelCase words; fields of Kubernetes begin with a small letter. */
export function isCondition(part: string): boolean {
  return /^[A-Z][A-Za-z0-9]*$/.test(part);
}

/** One of some conditions by its type. */
export function conditionAmong(
  object: string,
  conditions: readonly ConditionValue[],
  type: string,
): Answer<ConditionView> {
  const value = conditions.find((condition) => condition.type === type);
  if (value !== undefined) return { ok: true, value };
  const types = conditions.map((condition) => condition.type).join(', ');
  const message = `${object} has no condition ${type} now; it has ${types === '' ? 'none' : types}`;
  return { ok: false, kind: 'notFound', message };
}

/** Why a declaration of a kind that the engine reads is as it is; with `part` one of its conditions or fields. */
export async function explainDeclared(
  deps: ExplainDeps,
  { kind, key, display }: DeclarationName,
  part: string | undefined,
): Promise<Answer<DeclarationExplanation>> {
  const { declared, status, declares, selects, findings } = explainDeclaration(deps.engine, kind, key);
  const conditions = status?.conditions ?? [];
  const steps = (reasons: readonly Reason[]): Promise<readonly ExplanationStep[]> =>
    Promise.all(reasons.map((reason) => stepOf(deps, reason)));
  const found = (among: readonly EngineDiagnostic[]): Promise<readonly ExplanationStep[]> =>
    Promise.all(among.map((finding) => findingStep(deps, finding)));
  const ofFile = declared === undefined ? [] : findingsOfFile(deps, declared);
  const answer = (because: readonly ExplanationStep[]): DeclarationExplanation => ({
    cluster: null,
    object: display,
    ...stateOf(declared),
    conditions,
    status: status?.fields ?? {},
    because,
  });
  const whole = async (): Promise<DeclarationExplanation> =>
    answer([...(await steps([...declares, ...selects])), ...ofFile, ...(await found(findings))]);

  if (part === undefined) return { ok: true, value: await whole() };
  if (isCondition(part)) {
    const condition = conditionAmong(display, conditions, part);
    if (!condition.ok) return condition;
    const isSelection = ({ reason }: EngineDiagnostic): boolean => reason === 'UnknownCluster';
    const why: Readonly<Record<string, () => Promise<readonly ExplanationStep[]>>> = {
      Accepted: async () => [
        ...(await steps(declares)),
        ...ofFile,
        ...(await found(findings.filter((finding) => !isSelection(finding)))),
      ],
      ClustersSelected: async () => [
        ...(await steps([...declares, ...selects])),
        ...(await found(findings.filter(isSelection))),
      ],
    };
    const because = await (why[part]?.() ?? steps([...declares, ...troubledObjects(deps.engine, kind, key)]));
    return { ok: true, value: { ...answer(because), condition: condition.value } };
  }
  if (declared === undefined) {
    return { ok: false, kind: 'notFound', message: `no source declares ${display}, so none of its fields is written` };
  }
  const field = await fieldOf(deps, { ...declared.origin, identity: declared.identity }, part);
  if (!field.ok) return { ok: false, kind: 'invalid', message: field.problem };
  return { ok: true, value: { ...(await whole()), field: field.value } };
}

function stateOf(declared: Declared | undefined): Pick<DeclarationExplanation, 'state' | 'message'> {
  if (declared === undefined) return { state: 'undeclared', message: 'no source declares it' };
  return declared.isLastKnownGood
    ? { state: 'lastKnownGood', message: 'its file cannot be read now, and what it said last is in force' }
    : { state: 'inForce', message: '' };
}

/** What is wrong with the file that declares it: one error in it makes all of it unreadable. */
function findingsOfFile(deps: ExplainDeps, { origin }: Declared): readonly ExplanationStep[] {
  const found = deps.sources.get(origin.source)?.admitted?.diagnostics ?? [];
  return found.flatMap((diagnostic) => {
    const { at, code } = diagnostic;
    if (at?.path !== origin.path) return [];
    return [{ kind: 'finding', name: code, at: displayPlace(deps, origin.source, at), note: sentenceOf(diagnostic) }];
  });
}

async function findingStep(
  deps: ExplainDeps,
  { reason, message, at: [first] }: EngineDiagnostic,
): Promise<ExplanationStep> {
  const at = first === undefined ? '' : displayPlace(deps, first.source, await deps.locator.find(first));
  return { kind: 'finding', name: codes[reason].code, at, note: message };
}

/** What an explanation is made from. */
export interface ExplainDeps {
  readonly engine: Engine;
  readonly sources: SourceTable;
  readonly locator: Locator;
}

/** A reason in words, with the line that it stands in. */
export async function stepOf(deps: ExplainDeps, reason: Reason): Promise<ExplanationStep> {
  switch (reason.type) {
    case 'declares': {
      const note = reason.counts ? 'declares it' : 'declares it too, and does not count';
      return { kind: 'manifest', name: titleOf(reason.at.identity), at: await placeOf(deps, reason.at), note };
    }
    case 'declared':
      return {
        kind: 'manifest',
        name: '',
        at: `${reason.at.path} (${reason.at.source})`,
        note: 'declared it when it was last accepted',
      };
    case 'folder':
      return {
        kind: 'folder rule',
        name: `clusters/${reason.cluster}/`,
        at: '',
        note: `what lies under it goes to cluster ${reason.cluster}`,
      };
    case 'rule':
      return { kind: reason.kind, name: reason.name, at: await placeOf(deps, reason.at), note: reason.part };
    case 'live':
      return { kind: 'live object', name: displayKey(reason.key), at: `cluster ${reason.cluster}`, note: reason.part };
    case 'object': {
      const { state, message } = reason.progress;
      const note = message === '' ? state : `${state}: ${message}`;
      return { kind: 'object', name: displayKey(reason.key), at: `cluster ${reason.cluster}`, note };
    }
    case 'scope':
      return { kind: 'cluster', name: reason.cluster, at: '', note: 'it was computed from what lived there' };
  }
}

/** Where a field of a document stands; a problem if the text is no field. */
export async function fieldOf(deps: ExplainDeps, ref: DocumentRef, text: string): Promise<Result<FieldView>> {
  const path = parseFieldPath(text);
  if (!path.ok) return problem(`${quote(text)} ${path.problem}`);
  const { at, found } = await deps.locator.findField({ ...ref, field: path.value });
  return ok({ path: displayPath(path.value), at: displayPlace(deps, ref.source, at), found });
}

/** `path:line:column@revision` of a document, with the source's name before it if there are several. */
async function placeOf(deps: ExplainDeps, ref: Parameters<Locator['find']>[0]): Promise<string> {
  return displayPlace(deps, ref.source, await deps.locator.find(ref));
}

/** A place in a source, as people read it. */
export function displayPlace({ sources }: ExplainDeps, source: string, at: Location): string {
  const revision = sources.get(source)?.admitted?.revision;
  const prefix = sources.all().length > 1 ? `${source}:` : '';
  return `${prefix}${displayLocation(at)}${revision === undefined ? '' : `@${revision.slice(0, 12)}`}`;
}

/** A document's identity as people write it. */
function titleOf(identity: string): string {
  const key = parseObjectKey(identity.replace(/#\d+$/, ''));
  return key.ok ? displayKey(key.value) : identity;
}
