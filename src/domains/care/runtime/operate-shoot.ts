import type { Act } from '../../../api/answer.ts';
import type { ApiAct } from '../../../api/domain-api.ts';
import { quote } from '../../../model/fleet/ids.ts';
import type { JsonObject } from '../../../model/text/json.ts';
import { viewRows } from '../../../runtime/api/views.ts';
import type { ServerCore } from '../../../runtime/core.ts';
import type { OperationRequest } from '../engine/operation/types.ts';
import type { OperationRequests, RequestOutcome } from './operation-requests.ts';

/** What each act asks for. */
export const SHOOT_ACTS = {
  '/shoots/:namespace/:name/reconcile': 'reconcile',
  '/shoots/:namespace/:name/retry': 'retry',
} as const satisfies Readonly<Record<string, OperationRequest>>;

/** Begin an operation of a declared Shoot, and answer with its row of the view `shoots`. */
export function operationActs(
  core: Pick<ServerCore, 'engine' | 'loop'>,
  requests: Pick<OperationRequests, 'ask' | 'receipt'>,
): readonly ApiAct[] {
  return Object.entries(SHOOT_ACTS).map(([path, request]) => ({
    path,
    run: ({ namespace = '', name = '' }, by) => operateShoot(core, requests, { namespace, name, request, by }),
  }));
}

interface Asked {
  readonly namespace: string;
  readonly name: string;
  readonly request: OperationRequest;
  readonly by: string;
}

async function operateShoot(
  { engine, loop }: Pick<ServerCore, 'engine' | 'loop'>,
  requests: Pick<OperationRequests, 'ask' | 'receipt'>,
  { namespace, name, request, by }: Asked,
): Promise<Act<JsonObject>> {
  const shoot = `${namespace}/${name}`;
  const refusal = REFUSED_REQUESTS[requests.ask(shoot, request, by)];
  if (refusal !== undefined) return { ok: false, kind: refusal.kind, message: refusal.message(shoot) };
  await loop.settled();
  const rows = viewRows(engine, 'shoots', {});
  if (!rows.ok) return rows;
  const row = rows.value.find((each) => each.namespace === namespace && each.name === name);
  return { ok: true, value: row ?? { namespace, name }, receipt: requests.receipt(shoot) };
}

const REFUSED_REQUESTS: Readonly<
  Record<
    RequestOutcome,
    { readonly kind: 'notFound' | 'conflict'; readonly message: (shoot: string) => string } | undefined
  >
> = {
  taken: undefined,
  unknown: { kind: 'notFound', message: (shoot) => `no source declares a Shoot ${quote(shoot)}` },
  uncared: { kind: 'conflict', message: (shoot) => `Shoot ${shoot} is not in the care of this server` },
  new: { kind: 'conflict', message: (shoot) => `Shoot ${shoot} has no operation yet` },
  asleep: { kind: 'conflict', message: (shoot) => `the cluster of Shoot ${shoot} is hibernated` },
  notFailed: {
    kind: 'conflict',
    message: (shoot) =>
      `the last operation of Shoot ${shoot} has not failed; begin one with: fleetrelay shoot reconcile ${shoot}`,
  },
  retryOnly: {
    kind: 'conflict',
    message: (shoot) =>
      `the last operation of Shoot ${shoot} has failed; try it again with: fleetrelay shoot retry ${shoot}`,
  },
};
