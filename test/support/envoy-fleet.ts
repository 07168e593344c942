import { connect } from 'node:net';
import { join } from 'node:path';
import { readRelaySecret } from '../../src/adapters/tls/relay-secret.ts';
import { dataplaneSubject } from '../../src/domains/health/model/dataplane.ts';
import { connectionToken } from '../../src/relay/trust/tokens.ts';
import { apiFetch } from './api-fetch.ts';
import { type Fleet, startFleet, until } from './fleet-processes.ts';

/** A row of `get dataplanes`. */
export interface DataplaneRow {
  readonly name: string;
  readonly status: string;
  readonly notes: readonly string[];
  readonly connection: { readonly state: string; readonly since?: string };
}

/** Ports of the fleet; `db` and `web`: of the admin interfaces of the Envoys. */
export type EnvoyPorts = Readonly<Record<'inbound' | 'outbound' | 'db' | 'web' | 'application', number>>;

/**
 * A server with two declared data planes: `db` at 127.0.0.2 serves `postgres` from the application at 127.0.0.1, `web` has an
 * outbound to it.
 *
 * @param xds the address at which the server listens for Envoys
 */
export async function startEnvoyFleet(xds: string, ports: EnvoyPorts): Promise<Fleet> {
  return startFleet(
    {
      'db.yaml': `type: Dataplane
mesh: default
name: db
networking:
  address: 127.0.0.2
  admin: {port: ${ports.db}}
  inbound:
  - port: ${ports.inbound}
    serviceAddress: 127.0.0.1
    servicePort: ${ports.application}
    serviceProbe: {interval: 0.2s, timeout: 1s, tcp: {}}
    tags: {kuma.io/service: postgres}
`,
      'web.yaml': `type: Dataplane
mesh: default
name: web
networking:
  address: 127.0.0.3
  admin: {port: ${ports.web}}
  outbound:
  - {port: ${ports.outbound}, tags: {kuma.io/service: postgres}}
`,
    },
    { serve: ['--xds', xds], serverEnv: { KUMA_DP_SERVER_HDS_INTERVAL: '500ms' } },
  );
}

/** The token of a data plane of the mesh `default`. */
export async function dataplaneToken({ dataDir }: Fleet, name: string): Promise<string> {
  return connectionToken(
    await readRelaySecret(join(dataDir, 'trust/relay-secret')),
    dataplaneSubject(`default/${name}`),
  );
}

/** The rows of a view of the server. */
export async function rowsOf<Value>({ server }: Fleet, view: string): Promise<readonly Value[]> {
  const answer = await apiFetch(`${server.http()}/api/v1/views/${view}`);
  return ((await answer.json()) as { readonly items: readonly Value[] }).items;
}

/** Waits until a data plane is as wanted, and returns its row. */
export function untilDataplane(fleet: Fleet, name: string, state: string, status: string): Promise<DataplaneRow> {
  return until(`${name} is ${state} and ${status}`, async () => {
    const row = (await rowsOf<DataplaneRow>(fleet, 'dataplanes')).find((one) => one.name === name);
    return row?.connection.state === state && row.status === status ? row : undefined;
  });
}

/** Waits until all load-balancing sets together have this number of endpoints. */
export async function untilEndpoints(fleet: Fleet, count: number): Promise<void> {
  await until(`the service has ${count} endpoints`, async () => (await rowsOf(fleet, 'endpoints')).length === count);
}

/** What is answered at a port; empty: nothing. */
export function askAt(address: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    let said = '';
    const socket = connect(port, address);
    socket.on('data', (text) => {
      said += text.toString();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(said));
  });
}
