import { load } from 'js-yaml';
import { wireCustomResourceStatus } from '../../src/compose/serve/custom-resource-status.ts';
import { parseSourceName } from '../../src/model/fleet/ids.ts';
import { type ObjectKey, objectKey, refOfObject } from '../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import { must } from '../../src/model/values/result.ts';
import type { CustomResource } from '../../src/ports/custom-resources.ts';
import type { KubernetesSource } from '../../src/sources/kubernetes/kubernetes-source.ts';
import { resourcePath } from '../../src/sources/kubernetes/resource-path.ts';
import { dataplane, silentSource, type Target, type TargetDeps } from './target.ts';

/** Writes the status of custom resources as a server does. A write is a call of the port. */
export function resourceTarget({ engine, loop, objects: count }: TargetDeps): Target {
  const name = must(parseSourceName('custom'));
  const paths: string[] = [];
  let objects: ReadonlyMap<ObjectKey, CustomResource> = new Map();
  const written = new Map<ObjectKey, CustomResource>();
  const entered = new Map<string, CustomResource>();
  for (let at = 0; at < count; at += 1) {
    const value = load(dataplane(at)) as JsonObject;
    const key = objectKey(must(refOfObject(value)));
    const resource = { key, resourceVersion: '1', generation: 1, uid: `uid-${at}`, value, status: undefined };
    paths.push(resourcePath(key));
    written.set(key, resource);
    entered.set(resourcePath(key), resource);
  }
  /** Written since the last look. */
  const back = new Set<ObjectKey>();
  let looked: (keys: Iterable<ObjectKey>) => void = () => undefined;
  const source = {
    ...silentSource(name),
    entered: () => entered,
    watch: (look: (keys: Iterable<ObjectKey>) => void) => {
      looked = look;
    },
  } satisfies KubernetesSource;
  let writes = 0;
  const timers: (() => void)[] = [];
  const clock = {
    now: () => Date.UTC(2026, 0, 1),
    monotonic: () => 0,
    sleep: () => new Promise<void>(() => undefined),
    schedule: (_milliseconds: number, callback: () => void) => {
      timers.push(callback);
      return () => void timers.splice(timers.indexOf(callback), 1);
    },
  };
  const log = { debug: ignore, info: ignore, warn: ignore, error: complain, child: () => log };
  const status = {
    write: async ({ key }: { readonly key: ObjectKey }, said: JsonObject) => {
      writes += 1;
      const resource = written.get(key);
      const resourceVersion = `${writes + 1}`;
      if (resource !== undefined) written.set(key, { ...resource, resourceVersion, status: said });
      back.add(key);
      return { type: 'written', resourceVersion } as const;
    },
    mark: async () => ({ type: 'written', resourceVersion: '1' }) as const,
    event: async () => undefined,
  };
  const resources = { start: ignore, state: () => ({ kinds: [], objects }), stop: async () => undefined };
  const sources = { get: () => undefined } as never;
  const wired = wireCustomResourceStatus(
    { engine, loop, sources, clock, log, observed: { found: () => false, written: () => undefined }, rules: {} },
    [{ source, resources, status, random: { next: () => 0, id: () => '' } }],
    () => true,
  );
  wired.lead(true);
  objects = new Map(written);
  /** Until nothing is scheduled. */
  const settle = async (): Promise<number> => {
    const before = writes;
    while (timers.length > 0) {
      for (const timer of timers.splice(0)) timer();
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    return writes - before;
  };
  return {
    source: name,
    path: (at) => paths[at] ?? '',
    write: settle,
    comesBack: () => {
      objects = new Map(written);
      looked(back);
      back.clear();
      return settle();
    },
  };
}

function ignore(): void {
  // Nothing comes of it.
}

function complain(message: string, data?: unknown): void {
  throw new Error(`${message}: ${JSON.stringify(data)}`);
}
