import { metadataOf } from '../../model/objects/object-key.ts';
import { type JsonObject, objectOf } from '../../model/text/json.ts';
import { isMissing, type Kube, nameOf, pathOf, refusalOf, systemDeps } from '../kube.ts';
import type { Step } from '../step.ts';

/** The name of this command among the managers of fields. */
const MANAGER = 'fleetrelay-cli';
const NAMESPACE_DEADLINE_MS = 30_000;
const LOOK_EVERY_MS = 200;

export interface KubeApplying {
  readonly dryRun: boolean;
  /** Take fields over from other managers. */
  readonly force: boolean;
  /** Writes a line for each object. */
  readonly progress: (line: string) => void;
}

/** Applies manifests in their order. Rejects with a text for a person at the first one that the API server refuses. */
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
  const step = { what: nameOf(manifest), where: kube.client.server, dryRun };
  const before = await kube.client.request({ method: 'GET', path });
  const isNew = isMissing(before);
  if (before.type !== 'ok' && !isNew) throw new Error(`${step.what} cannot be read: ${refusalOf(before)}`);
  const answer = await kube.client.request({
    method: 'PATCH',
    path,
    query: { fieldManager: MANAGER, ...(force ? { force: 'true' } : {}), ...(dryRun ? { dryRun: 'All' } : {}) },
    contentType: 'application/apply-patch+yaml',
    body: manifest,
  });
  // In a dry run the namespace of a first installation does not exist yet.
  if (isNew && (answer.type === 'ok' || (dryRun && isMissing(answer)))) return { ...step, outcome: 'created' };
  if (before.type === 'ok' && answer.type === 'ok') {
    const isSame = metadataOf(before.body).resourceVersion === metadataOf(answer.body).resourceVersion;
    return { ...step, outcome: isSame ? 'unchanged' : 'changed' };
  }
  const isConflict = answer.type === 'refused' && answer.status === 409 && answer.refusal.causes.length > 0;
  const hint = isConflict ? '; --force takes the fields over' : '';
  throw new Error(`${step.what} cannot be applied: ${refusalOf(answer)}${hint}`);
}

async function untilActive(kube: Kube, manifest: JsonObject): Promise<void> {
  const { clock } = systemDeps();
  const deadline = clock.monotonic() + NAMESPACE_DEADLINE_MS;
  for (;;) {
    const answer = await kube.client.request({ method: 'GET', path: pathOf(kube, manifest) });
    const phase = answer.type === 'ok' ? objectOf(answer.body.status).phase : undefined;
    if (phase === 'Active') return;
    if (clock.monotonic() > deadline) {
      const why = phase === 'Terminating' ? 'it is being deleted' : (refusalOf(answer) ?? 'it is not active');
      throw new Error(`${nameOf(manifest)} cannot be used: ${why}`);
    }
    await clock.sleep(LOOK_EVERY_MS);
  }
}
