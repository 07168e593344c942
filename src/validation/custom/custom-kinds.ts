import type { FieldPath } from '../../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../model/text/json.ts';
import { createKindTable, type KindRow } from '../kind-table.ts';
import type { KindSchemas, ObjectCheck, Schema } from '../values/schema.ts';
import { RULE_PLACE, readRootSchema } from './read-schema.ts';

/** Makes the check of the rules in CEL of a kind; `kind` names it in messages. */
export type RuleCompiler = (schema: Schema, kind: string) => ObjectCheck;

/** Whether an object is a CustomResourceDefinition that {@link createCustomKinds} reads. */
export function isDefinition({ apiVersion, kind }: JsonObject): boolean {
  return kind === 'CustomResourceDefinition' && apiVersion === 'apiextensions.k8s.io/v1';
}

/**
 * Returns the kinds of CustomResourceDefinitions of `apiextensions.k8s.io/v1`, in the versions that they serve. If several
 * define one kind, the first one counts. Each schema is read when an object of its kind is checked. Never throws: parts that
 * cannot be used are left out, and rules/cluster/definitions.ts reports them at the definition.
 *
 * @param compileRules from cel/evaluator.ts; without it rules in CEL are not evaluated. It is needed only if {@link hasRules}.
 */
export function createCustomKinds(definitions: Iterable<JsonObject>, compileRules?: RuleCompiler): KindSchemas {
  const known = new Set<string>();
  const rows: KindRow[] = [];
  for (const { spec } of definitions) {
    const { group, names, scope, versions } = objectOf(spec);
    const { kind, plural } = objectOf(names);
    const id = `${textOf(group)}/${textOf(kind)}`;
    if (known.has(id)) continue;
    known.add(id);
    for (const { name, served, schema: versionSchema, subresources } of objectsOf(versions)) {
      if (served !== true) continue;
      const { openAPIV3Schema: json } = objectOf(versionSchema);
      const hasStatus = 'status' in objectOf(subresources);
      const schema = once(() => readRootSchema(objectOf(json), hasStatus));
      const rules =
        compileRules === undefined || !hasRules(json)
          ? undefined
          : once(() => compileRules(schema(), `${textOf(kind)} ${textOf(group)}/${textOf(name)}`));
      rows.push({
        group: textOf(group),
        version: textOf(name),
        kind: textOf(kind),
        plural: textOf(plural),
        namespaced: scope !== 'Cluster',
        schema,
        definition: () => undefined,
        ...(rules === undefined ? {} : { rules: (object) => rules()(object) }),
      });
    }
  }
  return createKindTable(rows);
}

/** Whether a CustomResourceDefinition, or a part of it, has rules in CEL. */
export function hasRules(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false;
  if (Array.isArray(part)) return part.some(hasRules);
  return Object.entries(part).some(([name, value]) =>
    name === 'x-kubernetes-validations' ? Array.isArray(value) : hasRules(value),
  );
}

/** Returns a definition whose rules say where they are written. `placeOf` gets the path of a rule in the definition. */
export function withRulePlaces(definition: JsonObject, placeOf: (path: FieldPath) => string): JsonObject {
  const visit = (value: JsonValue, path: FieldPath): JsonValue => {
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]));
    if (!isJsonObject(value)) return value;
    const entries = Object.entries(value).map(([name, member = null]) => {
      const at = [...path, name];
      return [name, name === 'x-kubernetes-validations' ? located(member, at) : visit(member, at)] as const;
    });
    return Object.fromEntries(entries);
  };
  const located = (rules: JsonValue, path: FieldPath): JsonValue =>
    Array.isArray(rules)
      ? rules.map((rule, index) => {
          const at = [...path, index, 'rule'];
          return isJsonObject(rule) ? { ...rule, [RULE_PLACE]: placeOf(at) } : rule;
        })
      : rules;
  return hasRules(definition) ? objectOf(visit(definition, [])) : definition;
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
