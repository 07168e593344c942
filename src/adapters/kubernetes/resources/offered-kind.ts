import { objectsOf, textOf, textsOf } from '../../../model/json.ts';
import { subresourcesIn } from '../api/legacy-discovery.ts';
import type { ApiResource, KubeClient } from '../api/types.ts';

/** A kind in the version that we read. */
export interface ResourceKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Does the API server offer a kind? `leaving`: its definition is being deleted, and its objects with it. */
export type OfferedKind =
  | { readonly type: 'offered'; readonly resource: ApiResource }
  | { readonly type: 'missing' | 'leaving' }
  | { readonly type: 'unreadable'; readonly message: string };

/** Asks for one kind; every user of an API server may. */
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
  const plural = textOf(found.name);
  const verbs = textsOf(found.verbs);
  // While a definition is being deleted, its objects can still be read and not be made any more.
  if (!verbs.includes('create')) return { type: 'leaving' };
  const subresources = subresourcesIn(listed, plural);
  const namespaced = found.namespaced === true;
  return { type: 'offered', resource: { group, version, kind, resource: plural, namespaced, verbs, subresources } };
}
