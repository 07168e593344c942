import type { JsonObject } from '../../../../model/json.ts';
import { annotationOf } from '../../../../model/object-key.ts';
import { resourcePath } from '../../api/paths.ts';
import { createReflector, type ReflectorDeps } from '../../api/reflector.ts';
import type { ApiCatalog } from '../../api/types.ts';
import { PAUSED } from '../annotations.ts';

/** The annotation on the agent's own Namespace that stops every write. */
export interface StopButton {
  isOn(): boolean;
  /** Asks the cluster; what was seen last stays if it does not answer. */
  look(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

const NAMESPACES = { group: '', version: 'v1', resource: 'namespaces' };
const LOOK_MS = 5_000;

export function createStopButton(
  deps: ReflectorDeps,
  options: { readonly namespace: string; readonly catalog: ApiCatalog; readonly changed: () => void },
): StopButton {
  const { namespace } = options;
  const resource = options.catalog.find('', 'Namespace') ?? {
    ...NAMESPACES,
    kind: 'Namespace',
    namespaced: false,
    verbs: [],
    subresources: [],
  };
  let on = false;
  const reflector = createReflector(
    deps,
    { resource, fieldSelector: `metadata.name=${namespace}` },
    { listing: () => {}, upsert: note, listed: () => {}, removed: () => {}, listFailed: () => {}, state: () => {} },
  );

  return { isOn: () => on, look, start: reflector.start, stop: reflector.stop };

  function note(raw: JsonObject): void {
    const now = annotationOf(raw, PAUSED) === 'true';
    if (now === on) return;
    on = now;
    options.changed();
  }

  async function look(): Promise<void> {
    const path = resourcePath({ resource: NAMESPACES, name: namespace });
    const answer = await deps.client.request({ method: 'GET', path, timeoutMs: LOOK_MS });
    if (answer.type === 'ok') note(answer.body);
  }
}
