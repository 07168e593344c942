import { objectsOf, textOf, textsOf } from '../../../model/json.ts';
import type { ApiResource, KubeClient } from '../api/types.ts';

/** A kind in the version that is read. */
export interface ResourceKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Whether the API server offers a kind. `leaving`: its definition is being deleted, and its objects with it. */
export type OfferedKind =
  | { readonly type: 'offered'; readonly resource: ApiResource }
  | { readonly type: 'missing' | 'leaving' }
  | { readonly type: 'unreadable'; readonly message: string };

/** Asks for one kind, which every user of an API server may. The answer is newer than aggregated discovery. */
export async function lookUpKind(client: KubeClient, { group, version, kind }: ResourceKind): Promise<OfferedKind> {
  const path = `/apis/${encodeURIComponent(group)}/${encodeURIComponent(version)}`;
  const answer = await client.request({ method: 'GET', path });
  switch (answer.type) {
    case 'unreachable':
      return { type: 'unreadable', message: answer.message };
    case 'refused':
      return answer.status === 404 ? { type: 'missing' } : { type: 'unreadable', message: answer.refusal.message };
    case 'ok':
      break;
  }
  if (!Array.isArray(answer.body.resources)) return { type: 'unreadable', message: `${path} is no list of kinds` };
  const listed = objectsOf(answer.body.resources);
  const found = listed.find((each) => textOf(each.kind) === kind && !textOf(each.name).includes('/'));
  if (found === undefined) return { type: 'missing' };
  const resource = textOf(found.name);
  const verbs = textsOf(found.verbs);
  // While a definition is being deleted, its objects can be read and not be created.
  if (!verbs.includes('create')) return { type: 'leaving' };
  // A subresource is listed as `PLURAL/NAME`.
  const prefix = `${resource}/`;
  const names = listed.map(({ name }) => textOf(name)).filter((name) => name.startsWith(prefix));
  const subresources = names.map((name) => name.slice(prefix.length));
  const offered = { group, version, kind, resource, namespaced: found.namespaced === true, verbs, subresources };
  return { type: 'offered', resource: offered };
}
