import { type JsonObject, objectOf } from '../../../src/model/text/json.ts';
import type { ApiRequests } from './api-request.ts';

/** Where the objects of a kind are in the API. */
interface Place {
  /** `/api/v1`. */
  readonly root: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: string;
  readonly isNamespaced: boolean;
}

/** What is asked for; undefined: only kubectl understands the words. */
interface Question {
  readonly resource: string;
  readonly name: string | undefined;
  readonly namespace: string;
  readonly query: string;
  readonly hasManagedFields: boolean;
}

const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/**
 * Answers as `kubectl get WORDS -o json` does, by one request on an open connection: a process of kubectl costs a tenth of a
 * second of a processor, and tests that wait for something ask again and again. Undefined: only kubectl understands the words.
 */
export function createGet(api: ApiRequests): (words: readonly string[]) => Promise<JsonObject | undefined> {
  let places: ReadonlyMap<string, Place> = new Map();
  const placeOf = async (resource: string): Promise<Place | undefined> => {
    // A definition may have come since.
    if (!places.has(resource)) places = await discover(api);
    return places.get(resource);
  };
  return async (words) => {
    const asked = questionIn(words);
    const place = asked && (await placeOf(asked.resource));
    if (asked === undefined || place === undefined) return undefined;
    const inside = place.isNamespaced ? `namespaces/${asked.namespace}/` : '';
    const path = `${place.root}/${inside}${place.resource}${asked.name === undefined ? '' : `/${asked.name}`}`;
    const { status, body } = await api.send('GET', `${path}${asked.query}`);
    if (status !== 200)
      throw new Error(`Error from server (${body?.reason}): ${body?.message ?? JSON.stringify(body)}`);
    const shown = (object: JsonObject): JsonObject => ({
      ...{ apiVersion: place.apiVersion, kind: place.kind },
      ...object,
      metadata: asked.hasManagedFields ? object.metadata : withoutManagedFields(object),
    });
    return asked.name === undefined ? { ...body, items: body.items.map(shown) } : shown(body);
  };
}

function questionIn(words: readonly string[]): Question | undefined {
  const named: string[] = [];
  const query = new URLSearchParams();
  let namespace = 'default';
  let hasManagedFields = false;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const selector = /^--field-selector=(.*)$/.exec(word)?.[1];
    if (word === '-n') namespace = words[++at] ?? '';
    else if (word === '-l') query.set('labelSelector', words[++at] ?? '');
    else if (selector !== undefined) query.set('fieldSelector', selector);
    else if (word === '--show-managed-fields') hasManagedFields = true;
    else if (word.startsWith('-')) return undefined;
    else named.push(word);
  }
  const [resource, name] = named;
  if (resource === undefined || /[,/]/.test(named.join('')) || named.length > 2) return undefined;
  return { resource, name, namespace, query: query.size === 0 ? '' : `?${query}`, hasManagedFields };
}

function withoutManagedFields({ metadata }: JsonObject): JsonObject {
  const { managedFields: _, ...rest } = objectOf(metadata);
  return rest;
}

/** Every name that kubectl takes for a kind, of all groups; of two groups with one name the first counts. */
async function discover(api: ApiRequests): Promise<ReadonlyMap<string, Place>> {
  const places = new Map<string, Place>();
  for (const path of ['/api', '/apis']) {
    const { body } = await api.send('GET', path, undefined, undefined, DISCOVERY);
    for (const group of body.items) {
      const suffix = group.metadata.name ?? '';
      const [preferred] = group.versions;
      for (const { resource, singularResource, shortNames = [], scope, responseKind } of preferred?.resources ?? []) {
        const root = suffix === '' ? `/api/${preferred.version}` : `/apis/${suffix}/${preferred.version}`;
        const apiVersion = suffix === '' ? preferred.version : `${suffix}/${preferred.version}`;
        const place = { root, apiVersion, kind: responseKind.kind, resource, isNamespaced: scope === 'Namespaced' };
        for (const name of [resource, singularResource, ...shortNames, responseKind.kind.toLowerCase()]) {
          for (const full of [name, `${name}.${suffix}`]) if (!places.has(full)) places.set(full, place);
        }
      }
    }
  }
  return places;
}
