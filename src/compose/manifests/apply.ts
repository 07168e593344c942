import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { type Kube, nameOf, pathOf, refusalOf, systemDeps } from '../kube.ts';
import type { Step } from '../step.ts';

/** Who this command is among the managers of fields. */
const MANAGER = 'fleetrelay-cli';
const NAMESPACE_DEADLINE_MS = 30_000;
const LOOK_EVERY_MS = 200;

export interface KubeApplying {
  readonly dryRun: boolean;
  /** Take fields over from other managers. */
  readonly force: boolean;
  /** A line about what is going on. */
  readonly progress: (line: string) => void;
}

/** Applies manifests in their order. Rejects with a text for a person at the first one that does not go through. */
export async function applyAll(
  kube: Kube,
  manifests: readonly JsonObject[],
  applying: KubeApplying,
): Promise<readonly Step[]> {
  const steps: Step[] = [];
  for (const manifest of manifests) {
    applying.progress(`${steps.length + 1}/${manifests.length} ${nameOf(manifest)}`);
    steps.push(await applyOne(kube, manifest, applying));
    if (manifest.kind === 'Namespace' && !applying.dryRun) await untilActive(kube, manifest);
  }
  return steps;
}

async function applyOne(kube: Kube, manifest: JsonObject, { dryRun, force }: KubeApplying): Promise<Step> {
  const path = pathOf(kube, manifest);
  const step = { what: nameOf(manifest), where: kube.client.server, ...(dryRun ? ({ dryRun: true } as const) : {}) };
  const before = await kube.client.request({ method: 'GET', path });
  if (before.type === 'unreachable' || (before.type === 'refused' && before.status !== 404)) {
    throw new Error(`${step.what} cannot be read: ${refusalOf(before)}`);
  }
  const answer = await kube.client.request({
    method: 'PATCH',
    path,
    query: { fieldManager: MANAGER, ...(force ? { force: 'true' } : {}), ...(dryRun ? { dryRun: 'All' } : {}) },
    contentType: 'application/apply-patch+yaml',
    body: manifest,
  });
  const isNew = before.type === 'refused';
  if (answer.type === 'ok') {
    if (isNew) return { ...step, outcome: 'created' };
    const same = versionOf(before.body) === versionOf(answer.body);
    return { ...step, outcome: same ? 'unchanged' : 'changed' };
  }
  // In a dry run the namespace of a first installation is not there yet.
  if (dryRun && isNew && answer.type === 'refused' && answer.status === 404) return { ...step, outcome: 'created' };
  const isConflict = answer.type === 'refused' && answer.status === 409 && answer.refusal.causes.length > 0;
  const hint = isConflict ? '; --force takes the fields over' : '';
  throw new Error(`${step.what} cannot be applied: ${refusalOf(answer)}${hint}`);
}

/** The object's resourceVersion; of a dry run the one that it has. */
function versionOf({ metadata }: JsonObject): string {
  return isJsonObject(metadata) ? String(metadata.resourceVersion) : '';
}

async function untilActive(kube: Kube, manifest: JsonObject): Promise<void> {
  const { clock } = systemDeps();
  const deadline = clock.monotonic() + NAMESPACE_DEADLINE_MS;
  for (;;) {
    const answer = await kube.client.request({ method: 'GET', path: pathOf(kube, manifest) });
    const phase = answer.type === 'ok' && isJsonObject(answer.body.status) ? answer.body.status.phase : undefined;
    if (phase === 'Active') return;
    if (clock.monotonic() > deadline) {
      const why = phase === 'Terminating' ? 'it is being deleted' : (refusalOf(answer) ?? 'it is not active');
      throw new Error(`${nameOf(manifest)} cannot be used: ${why}`);
    }
    await clock.sleep(LOOK_EVERY_MS);
  }
}

/** Removes one object, if it is there and `mayRemove` says so of it. Rejects with a text for a person. */
export async function removeOne(
  kube: Kube,
  manifest: JsonObject,
  { dryRun, mayRemove }: { readonly dryRun: boolean; readonly mayRemove: (live: JsonObject) => string | undefined },
): Promise<Step> {
  const path = pathOf(kube, manifest);
  const step = { what: nameOf(manifest), where: kube.client.server, ...(dryRun ? ({ dryRun: true } as const) : {}) };
  const live = await kube.client.request({ method: 'GET', path });
  if (live.type === 'refused' && live.status === 404) return { ...step, outcome: 'absent' };
  if (live.type !== 'ok') throw new Error(`${step.what} cannot be read: ${refusalOf(live)}`);
  const reason = mayRemove(live.body);
  if (reason !== undefined) return { ...step, outcome: 'left', message: reason };
  const { metadata } = live.body;
  const uid = isJsonObject(metadata) ? String(metadata.uid) : '';
  const answer = await kube.client.request({
    method: 'DELETE',
    path,
    // All of it here: where there is a body, an API server does not look at the query, not even for a dry run.
    body: {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid },
      propagationPolicy: 'Background',
      ...(dryRun ? { dryRun: ['All'] } : {}),
    },
  });
  if (answer.type === 'ok' || (answer.type === 'refused' && answer.status === 404)) {
    return { ...step, outcome: 'removed' };
  }
  throw new Error(`${step.what} cannot be removed: ${refusalOf(answer)}`);
}
