import {
  type PodRewriting,
  type RewriteOptions,
  rewritePod,
} from '../../../../../src/domains/health/probes/rewrite-pod.ts';
import type { ProbeSettings } from '../../../../../src/domains/health/probes/settings.ts';
import type { JsonObject, JsonValue } from '../../../../../src/model/text/json.ts';

export const DEFAULTS: ProbeSettings = {
  applicationProbeProxyPort: 9001,
  virtualProbesEnabled: false,
  virtualProbesPort: 9000,
};

/** Options of a rewriting; what is not given has its default. */
export function options(settings: Partial<ProbeSettings> = {}, native = true): RewriteOptions {
  return { settings: { ...DEFAULTS, ...settings }, container: { image: 'fleetrelay:1.2.3', native } };
}

/** A Pod with one container `app`. */
export function podWith(app: JsonObject, annotations?: JsonObject): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', ...(annotations === undefined ? {} : { annotations }) },
    spec: { containers: [{ name: 'app', image: 'app:1', ...app }] },
  };
}

/** Rewrites a Pod; throws if the result is of another type. */
export function rewritten(
  pod: JsonObject,
  over: RewriteOptions = options(),
): Extract<PodRewriting, { readonly type: 'rewritten' }> {
  const result = rewritePod(pod, over);
  if (result.type !== 'rewritten') throw new Error(JSON.stringify(result));
  return result;
}

interface Item {
  readonly [member: string]: JsonValue;
}

/** A list of containers of a Pod. */
export function containersOf(pod: JsonObject, list: 'containers' | 'initContainers' = 'containers'): readonly Item[] {
  return ((pod.spec as JsonObject)[list] ?? []) as readonly Item[];
}

/** The annotations of a Pod. */
export function annotationsOf(pod: JsonObject): JsonObject {
  return ((pod.metadata as JsonObject).annotations ?? {}) as JsonObject;
}
