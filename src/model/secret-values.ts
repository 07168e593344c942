import { isJsonObject, type JsonObject, type JsonValue, textOf } from './json.ts';

/** The annotation with kubectl's copy of a manifest. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Members of a Secret that are none of its values. A member with another name may be a mistyped `data`. */
const PLAIN_MEMBERS: readonly string[] = ['apiVersion', 'immutable', 'kind', 'metadata', 'type'];

/**
 * Whether an object is a Secret. Every version of the core group counts, whose apiVersion has no `/`: a folder that serves as a
 * cluster holds any.
 */
export function isSecret({ apiVersion, kind }: JsonObject): boolean {
  return kind === 'Secret' && !textOf(apiVersion).includes('/');
}

/** Whether a member of a Secret may hold values of it. */
export function holdsSecretValues(member: string): boolean {
  return !PLAIN_MEMBERS.includes(member);
}

/** The object without the values of a Secret, which stay in their cluster. */
export function withoutSecretValues(value: JsonObject): JsonObject {
  if (!isSecret(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([member]) => !holdsSecretValues(member)));
}

/** A Secret whose values are replaced, the copy of kubectl among them; other objects as they are. */
export function withSecretValues(
  value: JsonObject,
  replace: (value: JsonValue, member: string) => JsonValue,
): JsonObject {
  if (!isSecret(value)) return value;
  const replaced = Object.fromEntries(
    Object.entries(value).map(([member, found]) => [
      member,
      found === undefined || !holdsSecretValues(member) ? found : replace(found, member),
    ]),
  );
  const { metadata } = value;
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined;
  const applied = isJsonObject(annotations) ? annotations[LAST_APPLIED] : undefined;
  if (!isJsonObject(metadata) || !isJsonObject(annotations) || applied === undefined) return replaced;
  return {
    ...replaced,
    metadata: { ...metadata, annotations: { ...annotations, [LAST_APPLIED]: replace(applied, LAST_APPLIED) } },
  };
}
