import { HEALTH_EXPRESSIONS } from '../model/objects/health-check.ts';
import type { FieldPath } from '../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../model/text/json.ts';

/** An expression in CEL that an API server compiles when it takes the object. */
export interface DeclaredExpression {
  readonly path: FieldPath;
  readonly source: string;
  /** The variables that an API server declares for it. */
  readonly variables: readonly string[];
  /** The names that it may use after `variables.`; undefined: `variables` is not declared. */
  readonly composed?: readonly string[] | undefined;
  /** It selects devices, for which an API server declares more functions. */
  readonly isOfDevices?: true;
  /** Of a rule of a CustomResourceDefinition: the schema of `self`. */
  readonly self?: { readonly json: JsonObject; readonly isResource: boolean };
  /** Of a health check: the kind whose fields are its variables, in place of `variables`; its value must be true or false. */
  readonly judges?: { readonly apiVersion: string; readonly kind: string };
}

/** The kinds with expressions, by their group. */
const KINDS: Readonly<Record<string, (object: JsonObject) => readonly DeclaredExpression[]>> = {
  'admissionregistration.k8s.io/MutatingAdmissionPolicy': ofPolicy,
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': ofWebhooks,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy': ofPolicy,
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': ofWebhooks,
  'apiextensions.k8s.io/CustomResourceDefinition': ofDefinition,
  'fleetrelay.dev/FleetPolicy': ofFleetPolicy,
  'resource.k8s.io/DeviceClass': ({ spec }) => ofSelectors(objectOf(spec), ['spec']),
  'resource.k8s.io/ResourceClaim': ({ spec }) => ofClaim(objectOf(spec), ['spec']),
  'resource.k8s.io/ResourceClaimTemplate': ({ spec }) => ofClaim(objectOf(objectOf(spec).spec), ['spec', 'spec']),
};

const ALWAYS: readonly string[] = ['object', 'oldObject', 'request', 'namespaceObject'];

/** Returns the expressions of an object of a built-in kind, or of one of ours; most kinds have none. */
export function expressionsIn(object: JsonObject): readonly DeclaredExpression[] {
  const [group = ''] = textOf(object.apiVersion).split('/');
  const kind = `${group}/${textOf(object.kind)}`;
  return Object.hasOwn(KINDS, kind) ? (KINDS[kind]?.(object) ?? []) : [];
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
  about: Omit<DeclaredExpression, 'path' | 'source'>,
): readonly DeclaredExpression[] {
  const source = parent[name];
  return typeof source === 'string' && source.trim() !== '' ? [{ ...about, path: [...path, name], source }] : [];
}

function ofWebhooks({ webhooks }: JsonObject): readonly DeclaredExpression[] {
  return entriesOf(webhooks, ['webhooks']).flatMap(([webhook, at]) =>
    entriesOf(webhook.matchConditions, [...at, 'matchConditions']).flatMap(([condition, path]) =>
      expressionAt(condition, 'expression', path, { variables: [...ALWAYS, 'authorizer'] }),
    ),
  );
}

function ofPolicy(object: JsonObject): readonly DeclaredExpression[] {
  const spec = objectOf(object.spec);
  const simple = isJsonObject(spec.paramKind) ? [...ALWAYS, 'params'] : ALWAYS;
  const variables = [...simple, 'authorizer'];
  const declared = entriesOf(spec.variables, ['spec', 'variables']);
  const isComplete = declared.every(([{ name }]) => typeof name === 'string' && name !== '');
  const allNames = declared.map(([variable]) => textOf(variable.name));
  // A variable whose name is wrong may be meant anywhere.
  const names = isComplete ? allNames : undefined;
  const composed = [...variables, 'variables'];
  const inList = (list: string, field: string, known = composed): readonly DeclaredExpression[] =>
    entriesOf(spec[list], ['spec', list]).flatMap(([entry, path]) =>
      expressionAt(entry, field, path, { variables: known, composed: names }),
    );
  return [
    ...entriesOf(spec.matchConditions, ['spec', 'matchConditions']).flatMap(([condition, path]) =>
      expressionAt(condition, 'expression', path, { variables }),
    ),
    ...declared.flatMap(([variable, path], index) =>
      // A variable can use those above it.
      expressionAt(variable, 'expression', path, { variables: composed, composed: names?.slice(0, index) }),
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

function ofFleetPolicy({ spec }: JsonObject): readonly DeclaredExpression[] {
  return entriesOf(objectOf(spec).healthChecks, ['spec', 'healthChecks']).flatMap(([check, path]) => {
    const judges = { apiVersion: textOf(check.apiVersion), kind: textOf(check.kind) };
    return HEALTH_EXPRESSIONS.flatMap((name) => expressionAt(check, name, path, { variables: [], judges }));
  });
}

function ofSelectors({ selectors }: JsonObject, path: FieldPath): readonly DeclaredExpression[] {
  return entriesOf(selectors, [...path, 'selectors']).flatMap(([{ cel }, at]) =>
    expressionAt(objectOf(cel), 'expression', [...at, 'cel'], { variables: ['device'], isOfDevices: true }),
  );
}

function ofClaim({ devices }: JsonObject, path: FieldPath): readonly DeclaredExpression[] {
  return entriesOf(objectOf(devices).requests, [...path, 'devices', 'requests']).flatMap(([request, at]) => [
    ...ofSelectors(request, at),
    ...ofSelectors(objectOf(request.exactly), [...at, 'exactly']),
    ...entriesOf(request.firstAvailable, [...at, 'firstAvailable']).flatMap(([each, place]) =>
      ofSelectors(each, place),
    ),
  ]);
}

function ofDefinition({ spec }: JsonObject): readonly DeclaredExpression[] {
  return entriesOf(objectOf(spec).versions, ['spec', 'versions']).flatMap(([{ schema }, path]) => {
    const json = objectOf(schema).openAPIV3Schema;
    return isJsonObject(json) ? ofSchema(json, [...path, 'schema', 'openAPIV3Schema'], true) : [];
  });
}

function ofSchema(json: JsonObject, path: FieldPath, isRoot: boolean): readonly DeclaredExpression[] {
  const { properties, items, additionalProperties } = json;
  const self = { json, isResource: isRoot || json['x-kubernetes-embedded-resource'] === true };
  const about = { variables: ['self', 'oldSelf'], self };
  const rules = entriesOf(json['x-kubernetes-validations'], [...path, 'x-kubernetes-validations']);
  const inner = (value: JsonValue | undefined, ...steps: FieldPath): readonly DeclaredExpression[] =>
    isJsonObject(value) ? ofSchema(value, [...path, ...steps], false) : [];
  return [
    ...rules.flatMap(([rule, at]) =>
      ['rule', 'messageExpression'].flatMap((name) => expressionAt(rule, name, at, about)),
    ),
    ...Object.entries(objectOf(properties)).flatMap(([name, value]) => inner(value, 'properties', name)),
    ...inner(items, 'items'),
    ...inner(additionalProperties, 'additionalProperties'),
  ];
}
