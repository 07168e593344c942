import type { Answer } from '../../api/answer.ts';
import type {
  ConditionView,
  DeclarationExplanation,
  ExplainRequest,
  Explanation,
  ExplanationStep,
  FieldView,
  ObjectExplanation,
} from '../../api/server-api.ts';
import type { EngineDiagnostic, Entity, EntityCondition, EntityKind, Reason } from '../../engine/domain.ts';
import { driftOf } from '../../engine/drift/drift.ts';
import { entityKindOf, entityName, findEntity, parentWords } from '../../engine/explain/entities.ts';
import { explainDeclaration, explainObject, problemsOfObjects } from '../../engine/explain/explain.ts';
import { clustersWith, type DeclarationName, findDeclaration, findObject } from '../../engine/explain/object-name.ts';
import type { Declared } from '../../engine/fleet/declared.ts';
import type { DocumentRef } from '../../engine/fleet/sources.ts';
import type { Engine } from '../../engine/graph.ts';
import { summarise, tallyOfList } from '../../engine/status/progress.ts';
import { sentenceOf } from '../../model/fleet/diagnostic.ts';
import { displayObjectName, type ObjectName, parseObjectName } from '../../model/fleet/explain-query.ts';
import { quote } from '../../model/fleet/ids.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import { displayPath, parseFieldPath } from '../../model/text/field-path.ts';
import { suggestion } from '../../model/text/messages.ts';
import { given } from '../../model/values/given.ts';
import { ambiguousEntity, listed, unknownEntity } from './explain-messages.ts';
import { displayPlace, findingStep, type StepDeps, stepOf } from './explain-steps.ts';

interface ExplainDeps extends StepDeps {
  readonly engine: Engine;
}

type Refusal = Exclude<Answer<never>, { readonly ok: true } | { readonly kind: 'notLeader' }>;

/** Explains the origin of an object of a cluster, or of a declaration, down to file:line@commit, and its state. */
export async function explain(
  deps: ExplainDeps,
  { object, part, ...scope }: ExplainRequest,
): Promise<Answer<Explanation>> {
  const parsed = parseObjectName(object);
  if (!parsed.ok) return refused('invalid', `${quote(object)} ${parsed.problem}`);
  const { value: name } = parsed;
  const { cluster, parent } = scope;
  const kind = entityKindOf(deps.engine, name);
  if (parent !== undefined && kind?.parent === undefined) {
    const word = parentWords(deps.engine).join(' or ') || 'parent';
    const subject = kind === undefined ? displayObjectName(name) : `${kind.words[0]}/${entityName(name)}`;
    return refused('invalid', `a ${word} has no ${subject}: leave the ${word} out`);
  }
  if (kind === undefined) {
    return cluster === undefined
      ? explainNamedDeclaration(deps, name, part)
      : explainNamedObject(deps, cluster, name, part);
  }
  const found = findEntity(kind, entityName(name), scope);
  // An object of the cluster comes before an entity of its name, and an entity before a declaration.
  if (cluster !== undefined && parent === undefined) {
    const isObject = findObject(deps.engine, cluster, name).type !== 'none';
    if (isObject || found.type === 'none') return explainNamedObject(deps, cluster, name, part);
  }
  if (found.type === 'found') return explainEntity(deps, kind, found.entity, part);
  if (found.type === 'ambiguous') return refused('conflict', ambiguousEntity(kind, entityName(name), found));
  const isDeclared = parent === undefined && findDeclaration(deps.engine, name).type !== 'none';
  return isDeclared
    ? explainNamedDeclaration(deps, name, part)
    : refused('notFound', unknownEntity(deps.engine, kind, name, { ...scope, ...found }));
}

/** Explains what a domain derives. Fields and conditions are taken from its declaration. */
async function explainEntity(
  deps: ExplainDeps,
  { words: [word], parent: parentWord = '' }: EntityKind,
  { name, parent, cluster, declaration, conditions, explain: reasonsOf }: Entity,
  part: string | undefined,
): Promise<Answer<Explanation>> {
  const object = `${word}/${name}`;
  const where = {
    ...(parent === undefined ? {} : { parent: { kind: parentWord, name: parent } }),
    ...given({ cluster }),
  };
  const all = conditions?.();
  if (part !== undefined && all !== undefined && isCondition(part)) {
    const found = conditionAmong(object, all.map(conditionView), part);
    if (!found.ok) return found;
    const facts = all.find(({ condition }) => condition.type === part)?.facts ?? [];
    const because = await Promise.all(facts.map((fact) => stepOf(deps, fact)));
    const { row, message } = reasonsOf();
    return { ok: true, value: { object, ...where, message, entity: row, condition: found.value, because } };
  }
  if (part !== undefined) {
    if (declaration !== undefined) return explainDeclared(deps, { ...declaration, display: object }, part);
    return refused('notFound', `${object} is not declared, so it has neither fields nor conditions of its own`);
  }
  const { row, message, reasons } = reasonsOf();
  const its = declaration && explainDeclaration(deps.engine, declaration.kind, declaration.key);
  const inFile = its?.declared === undefined ? [] : findingsOfFile(deps, its.declared);
  const steps = await Promise.all([...(its?.declares ?? []), ...reasons].map((reason) => stepOf(deps, reason)));
  const found = await Promise.all((its?.findings ?? []).map((finding) => findingStep(deps, finding)));
  const shown = all === undefined ? {} : { conditions: all.map(conditionView) };
  return {
    ok: true,
    value: { object, ...where, message, entity: row, ...shown, because: [...steps, ...inFile, ...found] },
  };
}

function conditionView({ condition, since, turnsFalseAt, cause }: EntityCondition): ConditionView {
  return {
    ...condition,
    ...given({ since, turnsFalseAt }),
    ...(cause === undefined ? {} : { cause: { cluster: cause.cluster, object: displayKey(cause.key) } }),
  };
}

async function explainNamedDeclaration(
  deps: ExplainDeps,
  name: ObjectName,
  part: string | undefined,
): Promise<Answer<Explanation>> {
  const found = findDeclaration(deps.engine, name);
  const written = displayObjectName(name);
  if (found.type === 'found') return explainDeclared(deps, found, part);
  if (found.type === 'ambiguous') {
    return refused('conflict', `${written} can be several declarations: ${listed(found.names)}`);
  }
  if (found.kinds.length > 0) {
    const meant = suggestion(written, found.known);
    const known = meant === undefined ? listed(found.known) : `did you mean ${meant}?`;
    return refused('notFound', `no source declares ${written}${known === '' ? '' : `; ${known}`}`);
  }
  const clusters = clustersWith(deps.engine, name);
  const where = clusters.length === 0 ? '' : `, one of ${clusters.join(', ')}`;
  return refused(
    'invalid',
    `the engine reads no kind ${name.kind}, so ${written} is an object of a cluster: name the cluster${where}`,
  );
}

async function explainNamedObject(
  deps: ExplainDeps,
  cluster: string,
  name: ObjectName,
  part: string | undefined,
): Promise<Answer<Explanation>> {
  const { engine } = deps;
  const found = findObject(engine, cluster, name);
  const written = displayObjectName(name);
  if (found.type === 'found') return explainKey(deps, cluster, found.key, part);
  if (found.type === 'ambiguous') {
    return refused('conflict', `${written} can be several objects of ${cluster}: ${listed(found.names)}`);
  }
  if (engine.clusters.get('', cluster) === undefined) return refused('notFound', `there is no cluster ${cluster}`);
  const declared = findDeclaration(engine, name);
  if (found.elsewhere.length === 0 && (declared.type !== 'none' || declared.kinds.length > 0)) {
    const message = `${written} is of a kind that the engine reads, which lies in no cluster: leave the cluster out`;
    return refused('invalid', message);
  }
  const others = found.elsewhere.length === 0 ? 'nor in any other cluster' : `but in ${found.elsewhere.join(', ')}`;
  return refused('notFound', `fleetrelay has nothing to do with ${written} in ${cluster}, ${others}`);
}

/** Explains an object of a cluster; with `part` one of its conditions or fields. */
async function explainKey(
  deps: ExplainDeps,
  cluster: string,
  key: ObjectKey,
  part: string | undefined,
): Promise<Answer<ObjectExplanation>> {
  const { progress, reasons, madeBy } = explainObject(deps.engine, cluster, key);
  const drift = driftOf(deps.engine.inputs.live, cluster, displayKey(key));
  const value: ObjectExplanation = {
    cluster,
    object: displayKey(key),
    state: progress?.state ?? 'pending',
    message: progress?.message ?? '',
    ...given({ drift }),
    because: await Promise.all(reasons.map((reason) => stepOf(deps, reason))),
  };
  if (part === undefined) return { ok: true, value };
  if (isCondition(part)) {
    const condition = conditionAmong(
      value.object,
      progress === undefined ? [] : summarise(tallyOfList([progress])),
      part,
    );
    return condition.ok ? { ok: true, value: { ...value, condition: condition.value } } : condition;
  }
  const documents = reasons.filter((reason) => reason.type === 'declares');
  // Where a rule makes the object, a document that does not count sets no field of it.
  const winner = documents.find(({ counts }) => counts || madeBy === undefined);
  if (winner === undefined && madeBy !== undefined) {
    const path = parseFieldPath(part);
    if (!path.ok) return refused('invalid', `${quote(part)} ${path.problem}`);
    const { at } = await stepOf(deps, madeBy);
    const by = `${madeBy.kind} ${madeBy.name}`;
    return { ok: true, value: { ...value, field: { path: displayPath(path.value), at, found: 'rule', by } } };
  }
  if (winner === undefined) {
    const message = `no document that is there now declares ${value.object}, so none of its fields is written`;
    return refused('notFound', message);
  }
  const field = await fieldOf(deps, winner.at, part);
  return field.ok ? { ok: true, value: { ...value, field: field.value } } : field;
}

/** Explains a declaration of a kind that the engine reads; with `part` one of its conditions or fields. */
async function explainDeclared(
  deps: ExplainDeps,
  { kind, key, display }: DeclarationName,
  part: string | undefined,
): Promise<Answer<DeclarationExplanation>> {
  const { declared, status, declares, selects, findings } = explainDeclaration(deps.engine, kind, key);
  const conditions = status?.conditions ?? [];
  const ofFile = declared === undefined ? [] : findingsOfFile(deps, declared);
  const answer = async (
    reasons: readonly Reason[],
    inFile: readonly ExplanationStep[],
    found: readonly EngineDiagnostic[],
  ): Promise<DeclarationExplanation> => ({
    cluster: null,
    object: display,
    ...stateOf(declared),
    conditions,
    status: status?.fields ?? {},
    because: [
      ...(await Promise.all(reasons.map((reason) => stepOf(deps, reason)))),
      ...inFile,
      ...(await Promise.all(found.map((finding) => findingStep(deps, finding)))),
    ],
  });
  const complete = () => answer([...declares, ...selects], ofFile, findings);

  if (part === undefined) return { ok: true, value: await complete() };
  if (isCondition(part)) {
    const condition = conditionAmong(display, conditions, part);
    if (!condition.ok) return condition;
    const isSelection = ({ reason }: EngineDiagnostic): boolean => reason === 'UnknownCluster';
    const value = await (part === 'Accepted'
      ? answer(
          declares,
          ofFile,
          findings.filter((finding) => !isSelection(finding)),
        )
      : part === 'ClustersSelected'
        ? answer([...declares, ...selects], [], findings.filter(isSelection))
        : answer([...declares, ...problemsOfObjects(deps.engine, kind, key)], [], []));
    return { ok: true, value: { ...value, condition: condition.value } };
  }
  if (declared === undefined) {
    return refused('notFound', `no source declares ${display}, so none of its fields is written`);
  }
  const field = await fieldOf(deps, { ...declared.origin, identity: declared.identity }, part);
  return field.ok ? { ok: true, value: { ...(await complete()), field: field.value } } : field;
}

function stateOf(declared: Declared | undefined): Pick<DeclarationExplanation, 'state' | 'message'> {
  if (declared === undefined) return { state: 'undeclared', message: 'no source declares it' };
  return declared.isLastKnownGood
    ? { state: 'lastKnownGood', message: 'its file cannot be read now, and what it said last is in force' }
    : { state: 'inForce', message: '' };
}

/** The findings in the file of a declaration: one error makes the complete file unreadable. */
function findingsOfFile(deps: ExplainDeps, { origin }: Declared): readonly ExplanationStep[] {
  const found = deps.sources.get(origin.source)?.admitted?.diagnostics ?? [];
  return found.flatMap((diagnostic) => {
    const { at, code } = diagnostic;
    if (at?.path !== origin.path) return [];
    return [{ kind: 'finding', name: code, at: displayPlace(deps, origin.source, at), note: sentenceOf(diagnostic) }];
  });
}

/** True for a condition type, which is UpperCamelCase; fields of Kubernetes start with a small letter. */
function isCondition(part: string): boolean {
  return /^[A-Z][A-Za-z0-9]*$/.test(part);
}

/** Finds a condition by its type. */
function conditionAmong(object: string, conditions: readonly ConditionView[], type: string): Answer<ConditionView> {
  const value = conditions.find((condition) => condition.type === type);
  if (value !== undefined) return { ok: true, value };
  const types = conditions.map((condition) => condition.type).join(', ');
  return refused('notFound', `${object} has no condition ${type} now; it has ${types === '' ? 'none' : types}`);
}

/** Finds the place of a field of a document. */
async function fieldOf(deps: ExplainDeps, ref: DocumentRef, text: string): Promise<Answer<FieldView>> {
  const path = parseFieldPath(text);
  if (!path.ok) return refused('invalid', `${quote(text)} ${path.problem}`);
  const { at, found } = await deps.locator.findField({ ...ref, field: path.value });
  return { ok: true, value: { path: displayPath(path.value), at: displayPlace(deps, ref.source, at), found } };
}

function refused(kind: Refusal['kind'], message: string): Refusal {
  return { ok: false, kind, message };
}
