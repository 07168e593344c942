import { customKinds, engineKinds, resourceKindOf } from '../../model/fleet/engine-kinds.ts';
import { metadataOf } from '../../model/objects/object-key.ts';
import { textOf } from '../../model/text/json.ts';
import { type Kube, refusalOf, systemDeps } from '../kube.ts';
import { type Found, firstOf, foundAt } from './finding.ts';

const SKEW_MS = 30_000;

/** An API server that answers. */
export interface ApiServerSubject {
  readonly kube: Kube;
  /** Its time in milliseconds since 1970, or the time here if it does not tell. */
  readonly now: number;
  /** How far its clock is ahead of the clock here, in milliseconds; 0 if it does not tell. */
  readonly skew: number;
}

/** Asks an API server for its time: it stamps a review of the user. */
export async function apiServerSubject(kube: Kube): Promise<ApiServerSubject> {
  const { clock } = systemDeps();
  const asked = clock.now();
  const answer = await kube.client.request({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  });
  const stamped = answer.type === 'ok' ? Date.parse(textOf(metadataOf(answer.body).creationTimestamp)) : Number.NaN;
  return Number.isNaN(stamped) ? { kube, now: clock.now(), skew: 0 } : { kube, now: stamped, skew: stamped - asked };
}

export async function version({ kube: { client } }: ApiServerSubject): Promise<readonly Found[]> {
  const answer = await client.request({ method: 'GET', path: '/version' });
  const given = answer.type === 'ok' ? String(answer.body.gitVersion) : '';
  const isOld = Number(/^v1\.(\d+)/.exec(given)?.[1] ?? 0) < 27;
  return foundAt(
    client.server,
    firstOf([
      [answer.type !== 'ok', 'unknown', 'VersionUnknown', `its version: ${refusalOf(answer)}`],
      [isOld, 'error', 'ApiServerOld', `the API server is ${given}; fleetrelay needs 1.27 or later`],
      [true, 'ok', 'ApiServerReachable', `the API server answers (${given})`],
    ]),
  );
}

export function clock({ kube, skew }: ApiServerSubject): readonly Found[] {
  const what = `its clock is ${Math.abs(Math.round(skew / 1000))} s ${skew > 0 ? 'ahead of' : 'behind'} the one here`;
  const fix = 'set the clocks right (NTP): leases and certificates depend on them';
  return foundAt(kube.client.server, [[Math.abs(skew) > SKEW_MS, 'warning', 'ClockSkew', what, fix]]);
}

/** The kinds of fleetrelay that this API server has; a workload cluster needs none of them. */
export function kinds({ kube: { catalog, client } }: ApiServerSubject): readonly Found[] {
  const wanted = customKinds.filter((id) => !engineKinds[id].isForeign).map(resourceKindOf);
  const lacking = wanted.filter(
    ({ group, version, kind }) => catalog.find(group, kind, version)?.subresources.includes('status') !== true,
  );
  const names = lacking.map(({ group, version, kind }) => `${kind}.${version}.${group}`).join(', ');
  const what = `these kinds are missing here, or lack a status: ${names}`;
  const isNeeded = wanted.some(({ group, kind }) => catalog.find(group, kind) !== undefined);
  const isWhole = lacking.length === 0;
  return foundAt(client.server, [
    [isNeeded && isWhole, 'ok', 'KindsInstalled', "fleetrelay's kinds are installed"],
    [isNeeded && !isWhole, 'error', 'KindsOutdated', what, 'kubectl apply --server-side -f deploy/crds/'],
  ]);
}
