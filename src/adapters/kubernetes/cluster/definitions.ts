import { isJsonObject, objectsOf, textOf } from '../../../model/json.ts';
import { metadataOf } from '../../../model/object-key.ts';
import { resourcePath } from '../api/paths.ts';
import type { KubeClient } from '../api/types.ts';
import { type Failure, failureOf } from './refusals.ts';

const DEFINITIONS = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
const NAMES_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';

/**
 * Is there a definition of this kind, served or not? As long as there is, its objects are there, though nobody sees them.
 * The failure: that cannot be found out.
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
    const { spec } = answer.body;
    if (isJsonObject(spec) && spec.group === group && isJsonObject(spec.names) && spec.names.kind === kind) return true;
  }
  return false;
}
