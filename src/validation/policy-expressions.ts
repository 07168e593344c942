import type { FieldPath } from '../model/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../model/json.ts';

/** An expression in CEL of an admission policy or a webhook. */
export interface PolicyExpression {
  readonly path: FieldPath;
  readonly source: string;
  /** The variables that an API server declares for it. */
  readonly variables: readonly string[];
  /** The names that it may use after `variables.`; undefined: `variables` is not declared. */
  readonly composed?: readonly string[];
}

/** The kinds with expressions. */
const KINDS: Readonly<Record<string, (object: JsonObject) => readonly PolicyExpression[]>> = {
  MutatingAdmissionPolicy: ofPolicy,
  MutatingWebhookConfiguration: ofWebhooks,
  ValidatingAdmissionPolicy: ofPolicy,
  ValidatingWebhookConfiguration: ofWebhooks,
};

const ALWAYS: readonly string[] = ['object', 'oldObject', 'request', 'namespaceObject'];

/** Returns the expressions of an admission policy or of a configuration of webhooks; other objects have none here. */
export function policyExpressionsIn(object: JsonObject): readonly PolicyExpression[] {
  const { apiVersion, kind } = object;
  if (!textOf(apiVersion).startsWith('admissionregistration.k8s.io/')) return [];
  return Object.hasOwn(KINDS, textOf(kind)) ? (KINDS[textOf(kind)]?.(object) ?? []) : [];
}

/** The members of a list that are mappings, with their paths. */
function entriesOf(list: JsonValue | undefined, path: FieldPath): readonly (readonly [JsonObject, FieldPath])[] {
  return Array.isArray(list)
    ? list.flatMap((item, index) => (isJsonObject(item) ? [[item, [...path, index]]] : []))
    : [];
}

function expressionAt(
  parent: JsonObject,
  name: string,
  path: FieldPath,
  about: Omit<PolicyExpression, 'path' | 'source'>,
): readonly PolicyExpression[] {
  const source = parent[name];
  return typeof source === 'string' && source.trim() !== '' ? [{ ...about, path: [...path, name], source }] : [];
}

function ofWebhooks({ webhooks }: JsonObject): readonly PolicyExpression[] {
  return entriesOf(webhooks, ['webhooks']).flatMap(([webhook, at]) =>
    entriesOf(webhook.matchConditions, [...at, 'matchConditions']).flatMap(([condition, path]) =>
      expressionAt(condition, 'expression', path, { variables: [...ALWAYS, 'authorizer'] }),
    ),
  );
}

function ofPolicy(object: JsonObject): readonly PolicyExpression[] {
  const spec = objectOf(object.spec);
  const simple = isJsonObject(spec.paramKind) ? [...ALWAYS, 'params'] : ALWAYS;
  const variables = [...simple, 'authorizer'];
  const declared = entriesOf(spec.variables, ['spec', 'variables']);
  const names = declared.map(([variable]) => textOf(variable.name));
  const composed = [...variables, 'variables'];
  const inList = (list: string, field: string, known = composed): readonly PolicyExpression[] =>
    entriesOf(spec[list], ['spec', list]).flatMap(([entry, path]) =>
      expressionAt(entry, field, path, { variables: known, composed: names }),
    );
  return [
    ...entriesOf(spec.matchConditions, ['spec', 'matchConditions']).flatMap(([condition, path]) =>
      expressionAt(condition, 'expression', path, { variables }),
    ),
    ...declared.flatMap(([variable, path], index) =>
      // A variable can use those above it.
      expressionAt(variable, 'expression', path, { variables: composed, composed: names.slice(0, index) }),
    ),
    ...inList('validations', 'expression'),
    ...inList('validations', 'messageExpression', [...simple, 'variables']),
    ...inList('auditAnnotations', 'valueExpression'),
    ...entriesOf(spec.mutations, ['spec', 'mutations']).flatMap(([mutation, path]) =>
      ['applyConfiguration', 'jsonPatch'].flatMap((name) =>
        expressionAt(objectOf(mutation[name]), 'expression', [...path, name], { variables: composed, composed: names }),
      ),
    ),
  ];
}
