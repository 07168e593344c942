import type { FieldPath } from '../model/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonEquals, objectOf, objectsOf } from '../model/json.ts';
import type { ListedProbe } from './probe-list.ts';
import { PROXY_CONTAINER, type ProxyContainerOptions, proxyParts } from './proxy-container.ts';
import { type PodProblem, rewriteProbe } from './rewrite-probe.ts';
import { type ProbeMode, type ProbeSettings, settingsOfPod } from './settings.ts';

/** How Pods are rewritten. */
export interface RewriteOptions {
  readonly settings: ProbeSettings;
  readonly container: ProxyContainerOptions;
}

/** What becomes of a Pod. Paths are relative to it. */
export type PodRewriting =
  | { readonly type: 'unchanged'; readonly warnings: readonly PodProblem[] }
  | { readonly type: 'refused'; readonly problem: PodProblem }
  | {
      readonly type: 'rewritten';
      readonly pod: JsonObject;
      /** The probes that pass the proxy; empty: annotations were written, and no container was added. */
      readonly probes: readonly ListedProbe[];
      readonly warnings: readonly PodProblem[];
    };

/** A Pod with one of these serves its probes already. */
const SERVING_CONTAINERS = ['kuma-sidecar', PROXY_CONTAINER];
/** In the order in which they are rewritten. */
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;

/**
 * Rewrites the probes of a Pod or Pod template so that they pass the probe proxy, and adds the proxy's container if at least
 * one was rewritten. Writing the result again changes nothing.
 */
export function rewritePod(pod: JsonObject, { settings, container }: RewriteOptions): PodRewriting {
  const spec = objectOf(pod.spec);
  const all = [...objectsOf(spec.initContainers), ...objectsOf(spec.containers)];
  if (all.some(({ name }) => SERVING_CONTAINERS.some((serving) => serving === name))) {
    return { type: 'unchanged', warnings: [] };
  }
  const own = settingsOfPod(pod.metadata, settings);
  if (!own.ok) {
    const path = ['metadata', 'annotations', own.annotation];
    return { type: 'refused', problem: { message: own.message, path } };
  }
  const { mode } = own;
  if (mode.type === 'none') return resultOf(pod, withAnnotations(pod, own.annotations), [], []);
  const found = rewriteSpec(spec, mode, container.native);
  if (found.refused !== undefined) return { type: 'refused', problem: found.refused };
  const { probes, warnings } = found;
  if (probes.length === 0) return resultOf(pod, withAnnotations(pod, own.annotations), probes, warnings);
  const parts = proxyParts(probes, mode, container);
  const list = container.native ? 'initContainers' : 'containers';
  const others = listOf(found.spec[list]);
  const rewritten = withAnnotations(pod, { ...own.annotations, ...parts.annotations });
  const changed: JsonObject = {
    ...rewritten,
    spec: {
      ...found.spec,
      // First among the init containers, so that it serves all others; last among containers, because tools take the first.
      [list]: container.native ? [parts.container, ...others] : [...others, parts.container],
      volumes: [...listOf(spec.volumes), parts.volume],
    },
  };
  return resultOf(pod, changed, probes, [...warnings, ...portsInUse(spec, mode.port)]);
}

function resultOf(
  before: JsonObject,
  pod: JsonObject,
  probes: readonly ListedProbe[],
  warnings: readonly PodProblem[],
): PodRewriting {
  return jsonEquals(before, pod) ? { type: 'unchanged', warnings } : { type: 'rewritten', pod, probes, warnings };
}

type Mode = Exclude<ProbeMode, { readonly type: 'none' }>;

/** What was found in the containers of a Pod. Paths are relative to the Pod. */
interface Found {
  readonly probes: ListedProbe[];
  readonly warnings: PodProblem[];
  refused?: PodProblem;
}

/** Rewrites the probes of containers, and of the init containers that run beside them if the proxy starts before these. */
function rewriteSpec(spec: JsonObject, mode: Mode, native: boolean): Found & { readonly spec: JsonObject } {
  const found: Found = { probes: [], warnings: [] };
  const rewriteList = (list: 'initContainers' | 'containers'): JsonObject => {
    const written = spec[list];
    if (!Array.isArray(written)) return {};
    const containers = written.map((each: JsonValue, index) => {
      const isServed = list === 'containers' || (native && objectOf(each).restartPolicy === 'Always');
      return isJsonObject(each) && isServed ? rewriteContainer(each, ['spec', list, index], mode, found) : each;
    });
    return { [list]: containers };
  };
  const changed = { ...spec, ...rewriteList('initContainers'), ...rewriteList('containers') };
  return { ...found, spec: changed };
}

function rewriteContainer(container: JsonObject, path: FieldPath, mode: Mode, found: Found): JsonObject {
  const changed: Record<string, JsonValue> = {};
  for (const name of PROBES) {
    const probe = container[name];
    if (!isJsonObject(probe)) continue;
    const at = (problem: PodProblem): PodProblem => ({
      message: problem.message,
      path: [...path, name, ...problem.path],
    });
    const rewriting = rewriteProbe(probe, container.ports, mode);
    if (rewriting.type === 'refused') {
      found.refused ??= at(rewriting.problem);
      continue;
    }
    if (rewriting.warning !== undefined) found.warnings.push(at(rewriting.warning));
    if (rewriting.type !== 'rewritten') continue;
    found.probes.push(rewriting.listed);
    changed[name] = rewriting.probe;
  }
  return { ...container, ...changed };
}

/** A container that declares the port of the proxy: one of the two cannot listen. */
function portsInUse(spec: JsonObject, port: number): readonly PodProblem[] {
  return ['initContainers', 'containers'].flatMap((list) =>
    listOf(spec[list]).flatMap((container, index) =>
      listOf(objectOf(container).ports).flatMap((declared, at) =>
        objectOf(declared).containerPort === port
          ? [
              {
                message: `the container declares port ${port}, on which the probe proxy listens`,
                path: ['spec', list, index, 'ports', at, 'containerPort'],
              },
            ]
          : [],
      ),
    ),
  );
}

function withAnnotations(pod: JsonObject, annotations: Readonly<Record<string, string>>): JsonObject {
  const metadata = objectOf(pod.metadata);
  return { ...pod, metadata: { ...metadata, annotations: { ...objectOf(metadata.annotations), ...annotations } } };
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
