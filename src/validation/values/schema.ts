import type { FieldProblem } from '../../manifest/problem.ts';
import type { JsonObject, JsonValue } from '../../model/text/json.ts';

/**
 * Returns the problems of one object: errors where an API server would refuse it, warnings where it would warn. Paths begin
 * at the root of the object. Never throws, and never quotes a value of a Secret.
 */
export type ObjectCheck = (object: JsonObject) => readonly FieldProblem[];

/**
 * A schema in the form that Kubernetes uses: the built-in kinds (OpenAPI) and the kinds of CustomResourceDefinitions
 * (structural schemas) alike. https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation
 */
export interface Schema {
  /** `#/definitions/NAME`; resolved by {@link KindSchema.definition}. */
  readonly $ref?: string;
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly nullable?: boolean;
  readonly format?: string;
  readonly enum?: readonly JsonValue[];
  readonly default?: JsonValue;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  /** Of a built-in kind: an API server creates an object with the same item twice, although the list type forbids it. */
  readonly 'x-fleetrelay-items-may-repeat'?: boolean;
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
}

/** A rule in CEL of a CustomResourceDefinition. */
export interface CelRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
  /** Where the rule is written, as `file:line:column`, if it was read from a file. */
  readonly at?: string;
}

/** The schema of one version of one kind. */
export interface KindSchema {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** As in URLs. */
  readonly plural: string;
  readonly namespaced: boolean;
  readonly schema: Schema;
  /** The schema that a `$ref` names; undefined if there is none. */
  definition(ref: string): Schema | undefined;
  /** Further rules of a custom kind, such as CEL; runs only if the schema finds no error. */
  readonly rules?: ObjectCheck;
}

/** The schemas of a set of kinds: the kinds of a Kubernetes version, or of CustomResourceDefinitions. */
export interface KindSchemas {
  /** Always the same value for the same version of a kind; undefined: there is none here. */
  find(group: string, version: string, kind: string): KindSchema | undefined;
  /** The schemas of all kinds in all versions. */
  all(): readonly KindSchema[];
  /** The versions of a kind, the preferred one first; empty: the kind is unknown here. */
  versionsOf(group: string, kind: string): readonly string[];
  /** The kinds of a group in all its versions; empty: the group is unknown here. */
  kindsOf(group: string): readonly string[];
  /** The groups that have a kind. */
  groupsOf(kind: string): readonly string[];
}
