import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../text/json.ts';

/** The value of a field that a manifest leaves out, or how it follows from the part that has the field; undefined: it has none. */
export type Default = JsonValue | ((part: JsonObject) => JsonValue | undefined);

/** Defaults by field, as `spec.ports.*.protocol`. */
export type Defaults = readonly (readonly [field: string, value: Default])[];

/** The same defaults for fields below this one. */
export function within(field: string, defaults: Defaults): Defaults {
  return defaults.map(([name, value]) => [`${field}.${name}`, value]);
}

const PROBE: Defaults = [
  ['timeoutSeconds', 1],
  ['periodSeconds', 10],
  ['successThreshold', 1],
  ['failureThreshold', 3],
  ['httpGet.path', '/'],
  ['httpGet.scheme', 'HTTP'],
];

const CONTAINER: Defaults = [
  ['imagePullPolicy', ({ image }) => (isLatest(textOf(image)) ? 'Always' : 'IfNotPresent')],
  ['terminationMessagePath', '/dev/termination-log'],
  ['terminationMessagePolicy', 'File'],
  ['ports.*.protocol', 'TCP'],
  ['env.*.valueFrom.fieldRef.apiVersion', 'v1'],
  ...within('livenessProbe', PROBE),
  ...within('readinessProbe', PROBE),
  ...within('startupProbe', PROBE),
];

const MODE = 0o644;

/** Of the spec of a Pod. */
export const POD_DEFAULTS: Defaults = [
  ['restartPolicy', 'Always'],
  ['dnsPolicy', 'ClusterFirst'],
  ['schedulerName', 'default-scheduler'],
  ['terminationGracePeriodSeconds', 30],
  ...within('containers.*', CONTAINER),
  ...within('initContainers.*', CONTAINER),
  ['volumes.*.configMap.defaultMode', MODE],
  ['volumes.*.secret.defaultMode', MODE],
  ['volumes.*.projected.defaultMode', MODE],
  ['volumes.*.hostPath.type', ''],
];

/** An image without digest whose tag is `latest` or left out. */
function isLatest(image: string): boolean {
  if (image.includes('@')) return false;
  const tag = /:([^/:]+)$/.exec(image)?.[1];
  return tag === undefined || tag === 'latest';
}

/** The object with the defaults of the fields that it leaves out. A part that is not there gets none. */
export function withDefaults(value: JsonObject, defaults: Defaults): JsonObject {
  return defaults.reduce<JsonObject>((rest, [field, found]) => objectOf(filled(rest, field.split('.'), found)), value);
}

function filled(
  part: JsonValue | undefined,
  [name = '', ...rest]: readonly string[],
  found: Default,
): JsonValue | undefined {
  if (name === '*') return Array.isArray(part) ? part.map((item) => filled(item, rest, found) ?? null) : part;
  if (!isJsonObject(part)) return part;
  const member = part[name];
  if (rest.length === 0 && member !== undefined) return part;
  const next = rest.length > 0 ? filled(member, rest, found) : typeof found === 'function' ? found(part) : found;
  return next === member || next === undefined ? part : { ...part, [name]: next };
}
