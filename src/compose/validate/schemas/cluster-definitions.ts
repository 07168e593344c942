import { resourcePath } from '../../../adapters/kubernetes/api/paths.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../model/text/json.ts';
import { given } from '../../../model/values/given.ts';
import { type KubeIo, openClient, refusalOf } from '../../kube.ts';
import type { KubeTarget } from '../../options.ts';

const DEFINITIONS = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
const KIND = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
/** How many definitions are asked for at a time: some have half a megabyte. */
const PAGE = 50;
const MAX_PAGES = 100;

/**
 * Lists the CustomResourceDefinitions of a cluster, in the form that `createCustomKinds` reads. Rejects with a text for people
 * if the cluster cannot be reached, refuses, or has more than 5,000.
 */
export async function readClusterDefinitions(target: KubeTarget, io: KubeIo): Promise<readonly JsonObject[]> {
  const { client } = await openClient(target, io);
  try {
    const path = resourcePath({ resource: DEFINITIONS });
    const definitions: JsonObject[] = [];
    let token = '';
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = { limit: String(PAGE), ...(token === '' ? {} : { continue: token }) };
      const answer = await client.request({ method: 'GET', path, query });
      if (answer.type !== 'ok') {
        throw new Error(`${client.server}: the CustomResourceDefinitions cannot be listed: ${refusalOf(answer)}`);
      }
      const { items, metadata } = answer.body;
      // The items of a list do not name their kind.
      for (const { spec } of objectsOf(items)) definitions.push({ ...KIND, ...given({ spec }) });
      token = textOf(objectOf(metadata).continue);
      if (token === '') return definitions;
    }
    throw new Error(`${client.server}: it has more than ${PAGE * MAX_PAGES} CustomResourceDefinitions`);
  } finally {
    await client.close();
  }
}
