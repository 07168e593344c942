import type { FieldPath } from '../text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, textOf } from '../text/json.ts';
import { suggestion } from '../text/messages.ts';

/** The annotation with kubectl's copy of a manifest. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Members of a Secret that are none of its values. A member with another name may be a mistyped `data`. */
const PLAIN_MEMBERS: readonly string[] = ['apiVersion', 'immutable', 'kind', 'metadata', 'type'];

/**
 * Whether a kind is the one of Secrets, or one that may be meant to be it, such as `secret` and `Secert`. What people are told of
 * an object is masked by this, whatever its group is: a manifest with a wrong apiVersion has the same values.
 */
export function namesSecret(kind: string): boolean {
  return kind === 'Secret' || suggestion(kind, ['Secret']) !== undefined;
}

/** Whether the kind in the key of an object, or of an entry about it, is one that {@link namesSecret}. */
export function isKeyOfSecret(key: string): boolean {
  return namesSecret(key.split('/', 2)[1] ?? '');
}

/** Whether an object has a kind that {@link namesSecret}. */
export function mayBeSecret({ kind }: JsonObject): boolean {
  return namesSecret(textOf(kind));
}

/**
 * Whether a live object is a Secret. Every version of the core group counts, whose apiVersion has no `/`: a folder that serves as
 * a cluster holds any.
 */
function isSecret({ apiVersion, kind }: JsonObject): boolean {
  return kind === 'Secret' && !textOf(apiVersion).includes('/');
}

/** Whether a member of a Secret may hold values of it. */
function holdsSecretValues(member: string): boolean {
  return !PLAIN_MEMBERS.includes(member);
}

/** Whether the value at a path of a Secret is one of its values, contains them, or is a copy of them. */
export function isSecretPath(path: FieldPath): boolean {
  const [member = ''] = path;
  if (typeof member === 'number' || holdsSecretValues(member)) return true;
  const isAnnotations = member === 'metadata' && (path.length < 2 || path[1] === 'annotations');
  return isAnnotations && (path.length < 3 || path[2] === LAST_APPLIED);
}

/** The live object without the values of a Secret, which stay in their cluster. */
export function withoutSecretValues(value: JsonObject): JsonObject {
  if (!isSecret(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([member]) => !holdsSecretValues(member)));
}

/** An object that may be a Secret, whose values are replaced, the copy of kubectl among them; other objects as they are. */
export function withSecretValues(
  value: JsonObject,
  replace: (value: JsonValue, member: string) => JsonValue,
): JsonObject {
  if (!mayBeSecret(value)) return value;
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
