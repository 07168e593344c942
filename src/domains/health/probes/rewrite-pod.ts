import type { FieldPath } from '../../../model/text/field-path.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEquals,
  objectOf,
  objectsOf,
  textOf,
} from '../../../model/text/json.ts';
import { PROBE_PROXY_LABEL } from './opt-in.ts';
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
/** Kubernetes refuses objects with more in all annotations together. */
const MOST_ANNOTATION_BYTES = 256 * 1024;
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
  if (objectOf(spec.os).name === 'windows') {
    const message = 'the probe proxy runs on Linux only: the probes of a Windows Pod stay as they are';
    return { type: 'unchanged', warnings: [{ message, path: ['spec', 'os', 'name'] }] };
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
  if (jsonEquals(before, pod)) return { type: 'unchanged', warnings };
  const bytes = annotationBytes(pod);
  if (bytes <= MOST_ANNOTATION_BYTES) return { type: 'rewritten', pod, probes, warnings };
  const message = `with the list of its probes the Pod has ${bytes} bytes of annotations, and Kubernetes allows ${MOST_ANNOTATION_BYTES}: shorten annotations or paths of probes, or label the Pod ${PROBE_PROXY_LABEL}: disabled`;
  return { type: 'refused', problem: { message, path: ['metadata', 'annotations'] } };
}

/** Names and values of all annotations, as Kubernetes counts them. */
function annotationBytes(pod: JsonObject): number {
  const annotations = Object.entries(objectOf(objectOf(pod.metadata).annotations));
  return annotations.reduce((sum, [name, value]) => sum + Buffer.byteLength(`${name}${textOf(value)}`), 0);
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
