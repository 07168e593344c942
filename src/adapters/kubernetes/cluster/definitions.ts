import { backOffMs } from '../../../model/limits/back-off.ts';
import { objectHealth } from '../../../model/objects/object-health/object-health.ts';
import { displayKey, metadataOf, type ObjectKey } from '../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../model/text/json.ts';
import { resourcePath } from '../api/paths.ts';
import type { ApiResource, KubeClient } from '../api/types.ts';
import { type Failure, failed, failureOf } from './refusals.ts';
import { readLive, type Writing } from './write.ts';

const LONGEST_WAIT_MS = 10_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;
const DEFINITIONS = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
const NAMES_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';

export function isDefinition(key: ObjectKey): boolean {
  return key.startsWith('apiextensions.k8s.io/CustomResourceDefinition/');
}

/** Whether the cluster offers each version that a definition serves. */
export function isServed({ live }: Writing, { spec }: JsonObject): boolean {
  const { group, names, versions } = objectOf(spec);
  const kind = textOf(objectOf(names).kind);
  const catalog = live.catalog.current();
  return objectsOf(versions)
    .filter(({ served }) => served === true)
    .every(({ name }) => catalog.find(textOf(group), kind, textOf(name)) !== undefined);
}

/**
 * Waits until the kind of an applied definition is served, because objects of the kind are applied next. Returns why it is
 * not served after ten seconds. Returns at once for objects of other kinds.
 */
export async function awaitServed(
  writing: Writing & { readonly request: { readonly key: ObjectKey }; readonly resource: ApiResource },
  definition: JsonObject,
): Promise<Failure | undefined> {
  const { request, resource, clock, live } = writing;
  if (!isDefinition(request.key)) return undefined;
  const deadline = clock.monotonic() + LONGEST_WAIT_MS;
  let reason = 'it is not established';
  for (let looks = 0; clock.monotonic() < deadline; looks += 1) {
    const found = await readLive(writing, resource, request.key);
    if (found.type === 'failed') return found;
    const health = found.raw === undefined ? undefined : objectHealth(found.raw);
    if (health?.state === 'failed') return failed('NotEstablished', health.message);
    if (health?.state === 'current') {
      if (isServed(writing, definition)) return undefined;
      reason = 'its kind is not offered yet';
      await live.catalog.readNow();
      if (isServed(writing, definition)) return undefined;
    }
    await clock.sleep(backOffMs(looks, FIRST_PAUSE_MS, LONGEST_PAUSE_MS));
  }
  return failed('NotEstablished', `${displayKey(request.key)} was applied, and ${reason}`);
}

/**
 * Whether a definition of this kind exists, served or not: its objects exist as long as it does, although no request can
 * read them. Returns a failure if that cannot be found out.
 */
export async function isDefined(client: KubeClient, group: string, kind: string): Promise<boolean | Failure> {
  const list = await client.request({
    method: 'GET',
    path: resourcePath({ resource: DEFINITIONS }),
    accept: NAMES_ONLY,
  });
  if (list.type === 'refused' && list.status === 404) return false;
  if (list.type !== 'ok') return failureOf(list, false);
  const names = objectsOf(list.body.items).map((item) => textOf(metadataOf(item).name));
  for (const name of names.filter((each) => each.endsWith(`.${group}`))) {
    const answer = await client.request({ method: 'GET', path: resourcePath({ resource: DEFINITIONS, name }) });
    if (answer.type === 'refused' && answer.status === 404) continue;
    if (answer.type !== 'ok') return failureOf(answer, false);
    const spec = objectOf(answer.body.spec);
    if (spec.group === group && objectOf(spec.names).kind === kind) return true;
  }
  return false;
}
