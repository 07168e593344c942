import { annotationOf } from '../../../../model/objects/object-key.ts';
import type { JsonObject } from '../../../../model/text/json.ts';
import { createKindFollower } from '../../api/kind-follower.ts';
import { resourcePath } from '../../api/paths.ts';
import type { ApiResource, FollowerDeps } from '../../api/types.ts';
import { PAUSED } from '../annotations.ts';

const CORE = { group: '', version: 'v1', resource: 'namespaces', kind: 'Namespace' };
const NAMESPACES: ApiResource = { ...CORE, namespaced: false, verbs: [], subresources: [] };
const LOOK_MS = 5_000;

/** Follows the annotation of the agent's own Namespace that stops every write. */
export function createStopButton(deps: FollowerDeps, namespace: string, changed: () => void) {
  let on = false;
  const selected = { resource: NAMESPACES, fieldSelector: `metadata.name=${namespace}` };
  const { start, stop } = createKindFollower(deps, selected, {
    keys: () => [],
    upsert: (_key, raw) => note(raw),
    gone: () => undefined,
  });

  return { isOn: () => on, look, start, stop };

  function note(raw: JsonObject): void {
    const now = annotationOf(raw, PAUSED) === 'true';
    if (now === on) return;
    on = now;
    changed();
  }

  /** Reads the Namespace. Without an answer the state stays. */
  async function look(): Promise<void> {
    const path = resourcePath({ resource: NAMESPACES, name: namespace });
    const answer = await deps.client.request({ method: 'GET', path, timeoutMs: LOOK_MS });
    if (answer.type === 'ok') note(answer.body);
  }
}
