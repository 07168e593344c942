import { type JsonObject, objectOf, objectsOf, textOf } from '../../../model/json.ts';
import { objectHealth } from '../../../model/object-health.ts';
import { displayKey, type ObjectKey } from '../../../model/object-key.ts';
import type { ApplyRequest } from '../../../ports/cluster-api.ts';
import type { ApiResource } from '../api/types.ts';
import { type Failure, failed } from './refusals.ts';
import { readLive, type Writing } from './writing.ts';

const LONGEST_WAIT_MS = 10_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;

export function isDefinition(key: ObjectKey): boolean {
  return key.startsWith('apiextensions.k8s.io/CustomResourceDefinition/');
}

/** Does the cluster offer each version that a definition serves? */
export function isServed({ live }: Writing, definition: JsonObject): boolean {
  const spec = objectOf(definition.spec);
  const kind = textOf(objectOf(spec.names).kind);
  const versions = objectsOf(spec.versions).filter(({ served }) => served === true);
  const catalog = live.catalog.current();
  return versions.every(({ name }) => catalog.find(textOf(spec.group), kind, textOf(name)) !== undefined);
}

/**
 * A definition counts as applied when its kind is served: what is of that kind comes after it. Other objects are not waited
 * for. Why it is not served, if it is not.
 */
export async function awaitServed(
  writing: Writing & { readonly request: ApplyRequest; readonly resource: ApiResource },
  definition: JsonObject,
): Promise<Failure | undefined> {
  const { request, resource, clock, live } = writing;
  if (!isDefinition(request.key)) return undefined;
  const deadline = clock.monotonic() + LONGEST_WAIT_MS;
  let pause = FIRST_PAUSE_MS;
  let said = 'it is not established';
  while (clock.monotonic() < deadline) {
    const found = await readLive(writing, resource, request.key);
    if (found.type === 'failed') return found;
    const health = found.raw === undefined ? undefined : objectHealth(found.raw);
    if (health?.state === 'failed') return failed(true, 'NotEstablished', health.message);
    if (health?.state === 'current') {
      if (isServed(writing, definition)) return undefined;
      said = 'its kind is not offered yet';
      await live.catalog.readNow();
      if (isServed(writing, definition)) return undefined;
    }
    await clock.sleep(pause);
    pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
  }
  return failed(true, 'NotEstablished', `${displayKey(request.key)} was applied, and ${said}`);
}
