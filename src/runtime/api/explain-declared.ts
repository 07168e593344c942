import { explainDeclaration, troubledObjects } from '../../engine/explain/explain-declaration.ts';
import type { DeclarationName } from '../../engine/explain/object-name.ts';
import type { Reason } from '../../engine/explain/reason.ts';
import type { Declared } from '../../engine/fleet/declared.ts';
import type { EngineDiagnostic } from '../../engine/status/diagnostic.ts';
import type { ConditionValue } from '../../model/conditions.ts';
import { sentenceOf } from '../../model/diagnostic.ts';
import { findings as codes } from '../../model/finding-codes.ts';
import type { Answer, ConditionView, DeclarationExplanation, ExplanationStep } from '../../server/api.ts';
import { displayPlace, type ExplainDeps, fieldOf, stepOf } from './explain-steps.ts';

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
