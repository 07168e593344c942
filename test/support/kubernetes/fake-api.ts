import type { KubeAnswer, KubeClient, KubeRequest } from '../../../src/adapters/kubernetes/api/types.ts';
import { canonicalJson, isJsonObject, type JsonObject } from '../../../src/model/text/json.ts';

/** An API server in memory: namespaced objects of any kind, with what their writers can rely on. Watches are refused. */
export interface FakeApi {
  readonly client: KubeClient;
  addNamespace(name: string): void;
}

export function createFakeApi(): FakeApi {
  const namespaces = new Set<string>();
  const objects = new Map<string, JsonObject>();
  let version = 1;

  return {
    client: {
      server: 'memory',
      request: async (request) => answer(request),
      watch: async () => ({ type: 'broken', message: 'no watches here' }),
      close: async () => {},
    },
    addNamespace: (name) => void namespaces.add(name),
  };

  function answer(request: KubeRequest): KubeAnswer {
    const [, collection = '', namespace = '', name] =
      /^(\/.*\/namespaces\/([^/]+)\/[^/]+)(?:\/([^/]+))?$/.exec(request.path) ?? [];
    // As over a wire: the caller and the server share no object.
    const body: JsonObject = JSON.parse(JSON.stringify(request.body ?? {}));
    switch (request.method) {
      case 'GET':
        return name === undefined ? list(collection, request) : read(request.path);
      case 'POST':
        return namespaces.has(namespace)
          ? create(`${collection}/${metaOf(body).name}`, body)
          : refused(404, 'NotFound', `namespaces "${namespace}" not found`);
      case 'PUT':
        return replace(request.path, body);
      case 'PATCH':
        return apply(request.path, namespace, body);
      case 'DELETE':
        return remove(request.path, body);
      default:
        return refused(405, 'MethodNotAllowed', 'not here');
    }
  }

  function read(path: string): KubeAnswer {
    const object = objects.get(path);
    return object === undefined ? notFound(path) : ok(200, object);
  }

  function list(collection: string, { query = {}, accept = '' }: KubeRequest): KubeAnswer {
    const [label = '', wanted] = (query.labelSelector ?? '').split('=');
    const all = [...objects].filter(([path, object]) => {
      const { labels } = metaOf(object);
      return path.startsWith(`${collection}/`) && (label === '' || (isJsonObject(labels) && labels[label] === wanted));
    });
    const start = Number(query.continue ?? 0);
    const end = query.limit === undefined ? all.length : start + Number(query.limit);
    const items = all
      .slice(start, end)
      .map(([, object]) => (accept.includes('PartialObjectMetadataList') ? { metadata: metaOf(object) } : object));
    const metadata = { resourceVersion: String(version), ...(end < all.length ? { continue: String(end) } : {}) };
    return ok(200, { kind: 'List', metadata, items });
  }

  function create(path: string, body: JsonObject): KubeAnswer {
    if (objects.has(path)) return refused(409, 'AlreadyExists', `${path} already exists`);
    return ok(201, store(path, body, { uid: `uid-${version}` }));
  }

  function replace(path: string, body: JsonObject): KubeAnswer {
    const before = objects.get(path);
    if (before === undefined) return notFound(path);
    const was = metaOf(before);
    const meta = metaOf(body);
    if (meta.uid !== undefined && meta.uid !== was.uid) return refused(409, 'Conflict', 'the uid is another one');
    if (meta.resourceVersion !== undefined && meta.resourceVersion !== was.resourceVersion) {
      return refused(409, 'Conflict', 'the object has been modified');
    }
    if (before.immutable === true && canonicalJson(before.data ?? null) !== canonicalJson(body.data ?? null)) {
      return refused(422, 'Invalid', 'it is immutable');
    }
    const same = (object: JsonObject) =>
      canonicalJson({ ...object, metadata: { ...metaOf(object), resourceVersion: '' } });
    if (same(before) === same({ ...body, metadata: { ...meta, uid: was.uid } })) return ok(200, before);
    return ok(200, store(path, body, { uid: was.uid }));
  }

  /** Server-side apply, as far as it creates a missing object: in an existing one another manager owns every field. */
  function apply(path: string, namespace: string, body: JsonObject): KubeAnswer {
    const before = objects.get(path);
    if (before === undefined) {
      return namespaces.has(namespace)
        ? create(path, body)
        : refused(404, 'NotFound', `namespaces "${namespace}" not found`);
    }
    return canonicalJson(before.data ?? null) === canonicalJson(body.data ?? null)
      ? ok(200, before)
      : refused(409, 'Conflict', 'Apply failed with 1 conflict');
  }

  function remove(path: string, { preconditions }: JsonObject): KubeAnswer {
    const before = objects.get(path);
    if (before === undefined) return notFound(path);
    const uid = isJsonObject(preconditions) ? preconditions.uid : undefined;
    if (uid !== undefined && uid !== metaOf(before).uid) return refused(409, 'Conflict', 'the uid is another one');
    objects.delete(path);
    return ok(200, { kind: 'Status', status: 'Success' });
  }

  function store(path: string, body: JsonObject, own: JsonObject): JsonObject {
    version += 1;
    const object = { ...body, metadata: { ...metaOf(body), ...own, resourceVersion: String(version) } };
    objects.set(path, object);
    return object;
  }
}

function ok(status: number, body: JsonObject): KubeAnswer {
  return { type: 'ok', status, body: JSON.parse(JSON.stringify(body)) };
}

function refused(status: number, reason: string, message: string): KubeAnswer {
  return { type: 'refused', status, refusal: { reason, message, causes: [] } };
}

function notFound(path: string): KubeAnswer {
  return refused(404, 'NotFound', `${path} not found`);
}

function metaOf({ metadata }: JsonObject): JsonObject {
  return isJsonObject(metadata) ? metadata : {};
}
