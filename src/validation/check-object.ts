import { caseFix, didYouMean, type FieldProblem, fieldError, fieldWarning, withFix } from '../manifest/problem.ts';
import { parseApiVersion } from '../model/objects/object-key.ts';
import { displayPath } from '../model/text/field-path.ts';
import { isJsonObject, type JsonObject, objectOf, textOf } from '../model/text/json.ts';
import { apiVersionFate, isSameInReplacement } from './api-versions.ts';
import type { KubernetesSchemas } from './kubernetes-schemas.ts';
import { withoutConsequences } from './one-fault.ts';
import { rules } from './rules/rules.ts';
import { type RuleProblem, rule } from './rules/shared/field.ts';
import { asName } from './rules/shared/metadata.ts';
import { dnsSubdomainRule } from './rules/shared/names.ts';
import { createValueCheck, type ValueOptions } from './values/check-value.ts';
import { withDefaults } from './values/defaults.ts';
import { tooMuchWork } from './values/meter.ts';
import { keepPatterns } from './values/metered-patterns.ts';
import type { Matcher } from './values/patterns.ts';
import type { KindSchema, KindSchemas, ObjectCheck, Schema } from './values/schema.ts';

/** Undefined: the pattern matches every text. */
type PatternCompiler = (pattern: string) => Matcher | undefined;

/** What {@link createObjectCheck} knows of the clusters. */
export interface ObjectCheckOptions {
  /** The schemas of the Kubernetes version that the objects are for. */
  readonly kubernetes: KubernetesSchemas;
  /** The schemas of custom kinds; of several sources with the same kind the first counts. */
  readonly custom?: readonly KindSchemas[];
  /** Checks the expressions of policies, definitions and selectors of devices; without it they are not checked. */
  readonly checkExpressions?: ObjectCheck | undefined;
  /** Compiles the patterns of custom kinds; values/patterns.ts has it. Without it they are not checked. */
  readonly compilePattern?: PatternCompiler | undefined;
  /** What to report of a kind without schema; `warning` unless set. */
  readonly withoutSchema?: 'error' | 'warning' | 'nothing';
}

/**
 * Makes the check of objects: does the API server have this kind in this version, do the fields fit the schema, and what it
 * checks beyond schemas. Lists are not known here: the caller checks each of their items.
 */
export function createObjectCheck(options: ObjectCheckOptions): ObjectCheck {
  const { kubernetes, custom = [] } = options;
  const findIn = (sources: readonly KindSchemas[], { group, version, kind }: Identity): KindSchema | undefined => {
    for (const source of sources) {
      const found = source.find(group, version, kind);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const minor = minorOf(kubernetes);
  const prepare = createPreparation(kubernetes, options.compilePattern);
  return (object) => {
    const identity = identityOf(object);
    const found = identity === undefined ? undefined : findIn([kubernetes, ...custom], identity);
    if (identity !== undefined && found !== undefined) return problemsOf(object, identity, found);
    const problems =
      identity === undefined
        ? withoutVersion(object, [kubernetes, ...custom])
        : withoutSchema(object, identity, options);
    // One fault in the identity hides no others if only one kind can be meant.
    const meant = withMeantIdentity(object, identity, kubernetes);
    const identityMeant = meant === undefined ? undefined : identityOf(meant);
    const foundMeant = identityMeant === undefined ? undefined : findIn([kubernetes], identityMeant);
    if (meant === undefined || identityMeant === undefined || foundMeant === undefined) return problems;
    return [...problems, ...problemsOf(meant, identityMeant, foundMeant)];
  };

  function problemsOf(object: JsonObject, identity: Identity, found: KindSchema): readonly FieldProblem[] {
    const builtIn = kubernetes.find(identity.group, identity.version, identity.kind);
    // Also kinds from which controllers make Secrets: their templates may hold values.
    const isSecret = /secret/i.test(found.kind);
    const judged = builtIn === undefined ? withDefaults(found.schema, object) : object;
    if (judged === undefined) return [tooMuchWork()];
    const problems = prepare(found, builtIn === undefined)(judged, { isSecret });
    const ofRules =
      builtIn === undefined
        ? [...nameOfCustomObject(judged), ...(customRules(found, problems)?.(judged) ?? [])]
        : [
            ...(rules[`${found.group}/${found.kind}`]?.(judged) ?? []).map((problem) => inVersion(problem, minor)),
            ...(options.checkExpressions?.(judged) ?? []),
          ];
    const others = [
      ...withoutRepeated(ofRules, problems),
      ...scopeProblems(found, object),
      ...(builtIn === undefined ? [] : deprecation(object, identity, kubernetes)),
    ];
    return withoutConsequences(others.length === 0 ? problems : [...problems, ...others]);
  }
}

/**
 * The object with the apiVersion and the kind that were meant: in another case, or for a missing apiVersion the only group of
 * Kubernetes that has the kind.
 * Undefined: that is not certain.
 */
function withMeantIdentity(
  object: JsonObject,
  identity: Identity | undefined,
  kubernetes: KubernetesSchemas,
): JsonObject | undefined {
  const kind = textOf(object.kind);
  if (kind === '') return undefined;
  if (identity === undefined) {
    const { apiVersion } = object;
    if (typeof apiVersion === 'string') return { ...object, apiVersion: apiVersion.trim().toLowerCase() };
    return apiVersion === undefined ? inOnlyGroup(object, kind, kubernetes) : undefined;
  }
  const sameKind = caseFix(kind, kubernetes.kindsOf(identity.group));
  return sameKind === undefined ? undefined : { ...object, kind: sameKind };
}

function inOnlyGroup(object: JsonObject, kind: string, kubernetes: KubernetesSchemas): JsonObject | undefined {
  const [group, ...others] = kubernetes.groupsOf(kind);
  if (group === undefined || others.length > 0) return undefined;
  return { ...object, apiVersion: written(group, kubernetes.versionsOf(group, kind)[0] ?? '') };
}

const nameOfCustomObject = rule((root) => {
  root.getIn('metadata', 'name').hasForm(dnsSubdomainRule);
  root.getIn('metadata', 'generateName').hasForm((prefix) => dnsSubdomainRule(asName(prefix)));
});

/** Leaves out what a rule says of a value, or of a missing field, that the schema has refused already. */
function withoutRepeated(ofRules: readonly FieldProblem[], ofSchema: readonly FieldProblem[]): readonly FieldProblem[] {
  if (ofRules.length === 0 || ofSchema.length === 0) return ofRules;
  const places = new Set(ofSchema.filter(({ severity }) => severity === 'error').map(placeOf));
  return ofRules.filter((problem) => !places.has(placeOf(problem)));
}

/** A schema reports a missing field at its parent, a rule at the field. */
function placeOf({ reason, path, missing = path }: FieldProblem): string {
  return reason === 'MissingField' ? `missing ${displayPath(missing)}` : displayPath(path);
}

/** Rules such as CEL expect values of the right type. */
function customRules({ rules: more }: KindSchema, problems: readonly FieldProblem[]): ObjectCheck | undefined {
  return problems.length === 0 ? more : undefined;
}

interface Identity {
  readonly apiVersion: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Undefined if the object does not state its kind; the decoder reports that. */
function identityOf(object: JsonObject): Identity | undefined {
  const apiVersion = textOf(object.apiVersion);
  const kind = textOf(object.kind);
  const parsed = parseApiVersion(apiVersion);
  return kind === '' || !parsed.ok ? undefined : { ...parsed.value, apiVersion, kind };
}

/** The decoder reports the missing API version too, and does not know which one has the kind. */
function withoutVersion({ apiVersion, kind }: JsonObject, sources: readonly KindSchemas[]): readonly FieldProblem[] {
  const hint = apiVersion === undefined ? elsewhere(textOf(kind), sources) : undefined;
  return hint === undefined ? [] : [fieldError('MissingField', ['apiVersion'], 'apiVersion is missing', hint)];
}

type Prepared = (object: JsonObject, options: ValueOptions) => readonly FieldProblem[];

const OBJECT_META: Schema = { $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' };

/** Prepares the check of a kind when its first object comes. */
function createPreparation(
  { definition }: KubernetesSchemas,
  compilePattern: PatternCompiler | undefined,
): (schema: KindSchema, isCustom: boolean) => Prepared {
  const checkBuiltIn = createValueCheck({ definition, reader: 'built-in' });
  // All kinds share them, so that the number of kinds does not multiply what is kept.
  const patterns = compilePattern === undefined ? undefined : keepPatterns(compilePattern);
  const prepared = new WeakMap<KindSchema, Prepared>();
  const prepare = (kind: KindSchema, isCustom: boolean): Prepared => {
    if (!isCustom) return (object, options) => checkBuiltIn(kind.schema, object, options);
    const check = createValueCheck({ definition: kind.definition, reader: 'custom', patterns });
    // Its schema need not name the fields that every object has.
    const schema: Schema = { ...kind.schema, 'x-kubernetes-embedded-resource': true };
    return (object, options) => {
      const problems = check(schema, object, options);
      const meta = isJsonObject(object.metadata) ? checkBuiltIn(OBJECT_META, object.metadata, options) : problems;
      if (meta === problems || meta.length === 0) return problems;
      return [...problems, ...meta.map(inMetadata)];
    };
  };
  return (kind, isCustom) => {
    const known = prepared.get(kind);
    if (known !== undefined) return known;
    const made = prepare(kind, isCustom);
    prepared.set(kind, made);
    return made;
  };
}

function inMetadata({ missing, ...problem }: FieldProblem): FieldProblem {
  const path = ['metadata', ...problem.path];
  return { ...problem, path, ...(missing === undefined ? {} : { missing: ['metadata', ...missing] }) };
}

function scopeProblems({ namespaced, kind }: KindSchema, object: JsonObject): readonly FieldProblem[] {
  if (namespaced || textOf(objectOf(object.metadata).namespace) === '') return [];
  const message = `a ${kind} belongs to no namespace; an API server leaves metadata.namespace out`;
  return [{ ...fieldWarning('NamespaceNotUsed', ['metadata', 'namespace'], message, 'remove it'), atKey: true }];
}

/** The problem as API servers of a minor version judge it: a warning where they accept the object. */
function inVersion({ since, until, ...problem }: RuleProblem, minor: number): FieldProblem {
  const isRefused = (since === undefined || minor >= since) && (until === undefined || minor < until);
  return isRefused ? problem : { ...problem, severity: 'warning' };
}

const minorOf = ({ version }: KubernetesSchemas): number => Number(version.slice(2));

/** What lies ahead of the version of a built-in kind, or stands in its way. */
function deprecation(
  object: JsonObject,
  { apiVersion, group, version, kind }: Identity,
  kubernetes: KubernetesSchemas,
): readonly FieldProblem[] {
  const { deprecatedIn, removedIn, instead } = apiVersionFate(apiVersion, kind) ?? {};
  if (deprecatedIn !== undefined && deprecatedIn <= minorOf(kubernetes)) {
    const until = removedIn === undefined ? '' : `, and Kubernetes 1.${removedIn} removes it`;
    const message = `${apiVersion} ${kind} is deprecated since Kubernetes 1.${deprecatedIn}${until}`;
    const hint = instead === undefined ? undefined : `write ${instead}`;
    const fix = instead !== undefined && isSameInReplacement(object) ? { value: instead } : undefined;
    return [withFix(fieldWarning('DeprecatedApiVersion', ['apiVersion'], message, hint), fix)];
  }
  if (!/alpha|beta/.test(version)) return [];
  const [preferred = version] = kubernetes.versionsOf(group, kind);
  const message = `API servers serve ${apiVersion} ${kind} only if it is switched on`;
  const hint =
    preferred === version ? 'the flag of the API server is --runtime-config' : `write ${written(group, preferred)}`;
  return [fieldWarning('NotServedByDefault', ['apiVersion'], message, hint)];
}

/** A kind that has no schema here: a mistake if its group is one of Kubernetes or of a known CustomResourceDefinition. */
function withoutSchema(object: JsonObject, identity: Identity, options: ObjectCheckOptions): readonly FieldProblem[] {
  const { kubernetes, custom = [], withoutSchema: severity = 'warning' } = options;
  const { apiVersion, group, kind } = identity;
  const removed = removal(object, identity, kubernetes);
  if (removed !== undefined) return [removed];
  const sources = [kubernetes, ...custom];
  const versions = sources.flatMap((source) => source.versionsOf(group, kind));
  if (versions.length > 0) {
    const where = kubernetes.versionsOf(group, kind).length > 0 ? `Kubernetes ${kubernetes.version}` : 'its definition';
    const message = `${where} has no ${kind} of version ${apiVersion}`;
    return [fieldError('NoSuchKind', ['apiVersion'], message, `write ${written(group, versions[0] ?? '')}`)];
  }
  const kinds = new Set(sources.flatMap((source) => source.kindsOf(group)));
  if (kinds.size === 0 && group !== '' && !group.includes('.')) return [noSuchGroup(identity, sources)];
  const near = didYouMean(kind, [...kinds]);
  if (kubernetes.kindsOf(group).length > 0) {
    const message = `Kubernetes ${kubernetes.version} has no kind ${kind} in ${apiVersion}`;
    const meant = caseFix(kind, kinds);
    const problem = fieldError('NoSuchKind', ['kind'], message, near ?? elsewhere(kind, sources));
    return [withFix(problem, meant === undefined ? undefined : { value: meant })];
  }
  if (severity === 'nothing') return [];
  const report = severity === 'error' ? fieldError : fieldWarning;
  const message = `${apiVersion} ${kind} has no schema, so its fields are not checked`;
  return [
    report('NoSchema', ['kind'], message, near ?? elsewhere(kind, sources) ?? 'give its CustomResourceDefinition'),
  ];
}

/**
 * Neither CustomResourceDefinitions nor the groups of aggregated API servers that are in use have a name without a dot: an
 * API server demands a subdomain of definitions.
 */
function noSuchGroup({ apiVersion, group, kind }: Identity, sources: readonly KindSchemas[]): FieldProblem {
  const message = `no API server has ${apiVersion}: a group without a dot is one of Kubernetes, and none of these is ${group}`;
  const [same] = sources.flatMap((source) => {
    const [found] = source.groupsOf(kind);
    return found === undefined ? [] : [written(found, source.versionsOf(found, kind)[0] ?? '')];
  });
  return fieldError('NoSuchKind', ['apiVersion'], message, same === undefined ? undefined : `did you mean ${same}?`);
}

function removal(
  object: JsonObject,
  { apiVersion, kind }: Identity,
  kubernetes: KubernetesSchemas,
): FieldProblem | undefined {
  const { removedIn, instead } = apiVersionFate(apiVersion, kind) ?? {};
  if (removedIn === undefined || removedIn > minorOf(kubernetes)) return undefined;
  const message = `Kubernetes 1.${removedIn} and later have no ${kind} of version ${apiVersion}`;
  const hint = instead === undefined ? undefined : `write ${instead}`;
  const fix = instead !== undefined && isSameInReplacement(object) ? { value: instead } : undefined;
  return withFix(fieldError('RemovedApiVersion', ['apiVersion'], message, hint), fix);
}

function elsewhere(kind: string, sources: readonly KindSchemas[]): string | undefined {
  for (const source of sources) {
    const [group] = source.groupsOf(kind);
    if (group !== undefined) return `${kind} is in ${written(group, source.versionsOf(group, kind)[0] ?? '')}`;
  }
  return undefined;
}

function written(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}
