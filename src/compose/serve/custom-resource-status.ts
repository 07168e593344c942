import type { Engine } from '../../engine/graph.ts';
import { declarationKey, type EngineKind, engineKindOf } from '../../model/fleet/engine-kinds.ts';
import type { Origin } from '../../model/fleet/output.ts';
import { type ObjectKey, objectRefOf } from '../../model/objects/object-key.ts';
import type { CustomResources } from '../../ports/custom-resources.ts';
import type { Random } from '../../ports/random.ts';
import type { ResourceEvent, ResourceStatus } from '../../ports/resource-status.ts';
import { ownConditionsOf, statusOfResource } from '../../runtime/status/resource-status.ts';
import { ruleOf } from '../../runtime/status/status-rules.ts';
import {
  createResourceStatusSink,
  type ResourceStatusSink,
  type StatusSubject,
  statusTarget,
} from '../../sinks/kubernetes/resource-status-sink.ts';
import type { KubernetesSource } from '../../sources/kubernetes/kubernetes-source.ts';
import { resourceOfPath, resourcePath } from '../../sources/kubernetes/resource-path.ts';
import type { Parts } from './wire-replica.ts';

/** A source of custom resources whose status is written. */
export interface StatusOfCustomResources {
  readonly source: KubernetesSource;
  readonly resources: CustomResources;
  readonly status: ResourceStatus;
  readonly random: Random;
}

interface StatusParts extends Pick<Parts, 'engine' | 'loop' | 'sources' | 'rules' | 'clock' | 'log'> {
  readonly observed: Pick<Parts['observed'], 'found' | 'written'>;
}

/** Time after a start in which agents can reconnect before status reports them as absent. */
const SETTLE_MS = 20_000;

/** Writes the status of custom resources. */
export interface CustomResourceStatus {
  /** Only the leader writes statuses. */
  lead(leads: boolean): void;
  /** Writes an Event about the custom resource whose declaration is in force; none if it is declared elsewhere. */
  event(kind: EngineKind, key: string, event: ResourceEvent): void;
  stop(): Promise<void>;
}

/** Writes the status of custom resources after each commit that has changed it, while this server is the leader. */
export function wireCustomResourceStatus(
  parts: StatusParts,
  custom: readonly StatusOfCustomResources[],
  /** Every cluster that was known at the start is connected and has no pending objects. */
  isSettled: () => boolean,
): CustomResourceStatus {
  if (custom.length === 0) return { lead: () => undefined, event: () => undefined, stop: async () => undefined };
  const { engine, loop, clock } = parts;
  const settleBy = clock.monotonic() + SETTLE_MS;
  let settled = false;
  let leading = false;
  let wrote = false;
  const mayWrite = (): boolean => {
    if (!leading) return false;
    settled ||= isSettled() || clock.monotonic() >= settleBy;
    return settled;
  };
  const sinks = custom.map((one) => wireOne(parts, one, mayWrite));
  const affected = watchDeclared(engine);
  let unwritten: Origin[] = [];
  let hadLed = false;
  // A recorder, because sinks send deltas: the status is known in the settled commit in which its declaration appears.
  loop.addRecorder('resources', () => {
    const files = affected();
    unwritten.push(...files);
    const leads = engine.inputs.fleet.get('', '')?.role === 'leader';
    // A follower may have a declaration before it has the resource; a new leader reads all resources.
    const staged = sinks.map((sink) => sink.read(leads && !hadLed ? undefined : files));
    hadLed = leads;
    return staged.includes(true);
  });
  const changed = (): void => {
    const may = mayWrite();
    for (const sink of sinks) {
      if (may && !wrote) sink.allChanged();
      else if (may) sink.filesChanged(unwritten);
    }
    unwritten = [];
    wrote = may;
  };
  loop.addSink('readers', changed);
  const cancel = clock.schedule(SETTLE_MS, changed);
  return {
    lead: (leads) => {
      leading = leads;
      changed();
    },
    event: (kind, key, event) => {
      const origin = engine.statuses.get(kind, key)?.origin;
      const one = custom.find(({ source }) => source.name === origin?.source);
      const object = origin && resourceOfPath(origin.path);
      const resource = object && one?.resources.state().objects.get(object);
      if (resource !== undefined) void one?.status.event(statusTarget(resource), event);
    },
    stop: async () => {
      cancel();
      await Promise.all(sinks.map(({ sink }) => sink.stop()));
    },
  };
}

/** The status of the custom resources of one source. */
interface WiredSource {
  readonly sink: ResourceStatusSink;
  allChanged(): void;
  /** Stages the existing statuses of the custom resources of these files; undefined: of all. True: one was staged. */
  read(files: readonly Origin[] | undefined): boolean;
  /** The status of these files may have changed. Files of other sources are ignored. */
  filesChanged(files: readonly Origin[]): void;
}

function wireOne(
  { engine, loop, sources, observed, rules, clock, log }: StatusParts,
  { source, resources, status, random }: StatusOfCustomResources,
  mayWrite: () => boolean,
): WiredSource {
  const isRefused = (): boolean => sources.get(source.name)?.condition.state === 'refused';
  /** The existing status counts as written last, if the declaration is in force. */
  const find = (key: ObjectKey): boolean => {
    const address = addressInForce(engine, source.name, key);
    return address !== undefined && observed.found(...address, resources.state().objects.get(key)?.status);
  };
  const subject = (key: ObjectKey): StatusSubject | undefined => {
    const resource = resources.state().objects.get(key);
    const path = resourcePath(key);
    const generation = source.entered().get(path)?.generation;
    // A resource whose declaration is not admitted yet has no status, unless the source refuses it.
    if (resource === undefined || (generation === undefined && !isRefused())) return undefined;
    if (ruleOf(rules, key)?.isOfOthers?.(resource.status ?? {}) === true) return undefined;
    const entered = { source: source.name, path, key, uid: resource.uid, generation: generation ?? 0 };
    const content = statusOfResource(engine, rules, entered);
    return content && { resource, generation: entered.generation, content };
  };
  const sink = createResourceStatusSink({
    status,
    subject,
    mayWrite,
    clock,
    random,
    log: log.child({ source: source.name }),
    ownConditions: ownConditionsOf,
    events: (key, before, after) => ruleOf(rules, key)?.events?.(before, after) ?? [],
    written: (key, said) => {
      const address = addressInForce(engine, source.name, key);
      if (address !== undefined) observed.written(...address, said);
    },
  });
  let wasRefused = false;
  source.watch((keys) => {
    sink.changed(keys);
    if ([...keys].map(find).includes(true)) loop.transact(() => undefined);
  });
  const allChanged = (): void => sink.changed(resources.state().objects.keys());
  const keysOf = (files: readonly Origin[]): readonly ObjectKey[] =>
    files.flatMap((file) => (file.source === source.name ? (resourceOfPath(file.path) ?? []) : []));
  return {
    sink,
    allChanged,
    read: (files) => {
      const keys = files === undefined ? [...resources.state().objects.keys()] : keysOf(files);
      return keys.map(find).includes(true);
    },
    filesChanged: (files) => {
      const refused = isRefused();
      if (refused !== wasRefused) allChanged();
      wasRefused = refused;
      sink.changed(keysOf(files));
    },
  };
}

/** Kind and key of the declaration of a custom resource; undefined: another declaration is in force. */
function addressInForce(
  { statuses }: Engine,
  source: string,
  key: ObjectKey,
): readonly [EngineKind, string] | undefined {
  const { group, kind, namespace, name } = objectRefOf(key);
  const id = engineKindOf(group, kind);
  if (id === undefined) return undefined;
  const declared = declarationKey(id, { namespace, name });
  const { origin } = statuses.get(id, declared) ?? {};
  return origin?.source === source && origin.path === resourcePath(key) ? [id, declared] : undefined;
}

/** Returns what lists, at each call, the files whose status may have changed since the last call. */
function watchDeclared({ graph, statuses, declarations, inputs }: Engine): () => readonly Origin[] {
  const changed = graph.watch(statuses);
  const elected = graph.watch(declarations);
  const files = graph.watch(inputs.files);
  return () => [
    ...changed.take().flatMap(({ before, after }) => [before?.origin ?? [], after?.origin ?? []].flat()),
    // The status of a declaration that is not in force names the one that is.
    ...elected.take().flatMap(({ before, after }) => [...(before?.losers ?? []), ...(after?.losers ?? [])]),
    ...files.take().map(({ partition, key }) => ({ source: partition as Origin['source'], path: key })),
  ];
}
