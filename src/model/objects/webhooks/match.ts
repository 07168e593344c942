import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '../../text/json.ts';
import { type LabelRequirement, matchesLabels } from '../label-selector.ts';
import type { Matcher } from './matchers.ts';

/** An entry of `webhooks` in a webhook configuration. */
export type Webhook = JsonObject;

/** The matchers whose objects the webhook judges. */
export function matchedBy(webhook: Webhook, candidates: readonly Matcher[]): readonly Matcher[] {
  const rules = objectsOf(webhook.rules).map(readRule).filter(judgesWrites);
  if (rules.length === 0) return [];
  const readsObject = selectorOf(webhook.objectSelector);
  const readsNamespace = selectorOf(webhook.namespaceSelector);
  return candidates.filter(
    (matcher) => selects(matcher, readsObject, readsNamespace) && rules.some((rule) => covers(rule, matcher)),
  );
}

interface Rule {
  readonly scope: string;
  readonly operations: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly versions: ReadonlySet<string>;
  readonly resources: ReadonlySet<string>;
}

function readRule({ scope, operations, apiGroups, apiVersions, resources }: JsonObject): Rule {
  return {
    scope: textOf(scope),
    operations: new Set(textsOf(operations)),
    groups: new Set(textsOf(apiGroups)),
    versions: new Set(textsOf(apiVersions)),
    resources: new Set(textsOf(resources)),
  };
}

function judgesWrites({ operations }: Rule): boolean {
  return ['*', 'CREATE', 'UPDATE'].some((operation) => operations.has(operation));
}

function covers({ scope, groups, versions, resources }: Rule, matcher: Matcher): boolean {
  const { group, version, resource, subresource, isClusterScoped } = matcher;
  if (scope === 'Namespaced' && isClusterScoped) return false;
  if (scope === 'Cluster' && !isClusterScoped) return false;
  const hasAny = (set: ReadonlySet<string>, text: string) => set.has('*') || set.has(text);
  if (!hasAny(groups, group) || !hasAny(versions, version)) return false;
  // Without a slash a rule means the resource itself; `pods/*` means it with its subresources.
  const names = subresource === '' ? [resource, '*'] : [];
  return [...names, ...[resource, '*'].flatMap((each) => [`${each}/${subresource}`, `${each}/*`])].some((name) =>
    resources.has(name),
  );
}

type Selects = (labels: Readonly<Record<string, string>> | undefined) => boolean;

function selects(matcher: Matcher, readsObject: Selects, readsNamespace: Selects): boolean {
  if (!readsObject(matcher.objectLabels)) return false;
  // API servers judge a Namespace by its own labels, and other objects without namespace by none.
  const isOutsideNamespaces = matcher.isClusterScoped && matcher.resource !== 'namespaces';
  return isOutsideNamespaces || readsNamespace(matcher.namespaceLabels);
}

/** Whether a selector selects objects with these labels. It selects objects of unknown labels, and an unreadable one selects all. */
function selectorOf(value: JsonValue | undefined): Selects {
  const { matchLabels, matchExpressions } = objectOf(value);
  const labels = Object.entries(objectOf(matchLabels));
  const expressions = objectsOf(matchExpressions);
  const requirements = expressions.map(requirementOf);
  const isReadable =
    [value, matchLabels].every((part) => part === undefined || part === null || isJsonObject(part)) &&
    labels.every(([, text]) => typeof text === 'string') &&
    requirements.every((each) => each !== undefined);
  if (!isReadable) return () => true;
  const selector = {
    matchLabels: Object.fromEntries(labels.map(([key, text]) => [key, textOf(text)])),
    matchExpressions: requirements.filter((each) => each !== undefined),
  };
  return (found) => found === undefined || matchesLabels(selector, found);
}

function requirementOf({ key, operator, values }: JsonObject): LabelRequirement | undefined {
  const listed = textsOf(values);
  if (typeof key !== 'string' || key === '') return undefined;
  if (operator === 'In' || operator === 'NotIn') {
    return listed.length === 0 ? undefined : { key, operator, values: listed };
  }
  if (operator === 'Exists' || operator === 'DoesNotExist') {
    return listed.length > 0 ? undefined : { key, operator, values: [] };
  }
  return undefined;
}
