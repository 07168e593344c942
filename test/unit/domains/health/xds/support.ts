import { type JsonObject, type JsonValue, objectOf } from '../../../../../src/model/text/json.ts';
import type { FleetWorld } from '../../../../support/fleet-world.ts';

/** A declared data plane `db` at 10.0.0.4 whose application on 127.0.0.1:80 is probed. */
export function dbYaml(networking: JsonObject = {}, name = 'db'): string {
  return JSON.stringify({
    ...{ type: 'Dataplane', mesh: 'default', name },
    networking: {
      address: '10.0.0.4',
      inbound: [
        {
          ...{ port: 5432, serviceAddress: '127.0.0.1', servicePort: 80, serviceProbe: { tcp: {} } },
          tags: { 'kuma.io/service': 'postgres' },
        },
      ],
      ...networking,
    },
  });
}

/** A declared data plane `web` without inbounds. */
export const webYaml = JSON.stringify({
  type: 'Dataplane',
  mesh: 'default',
  name: 'web',
  networking: { address: '10.0.0.5' },
});

/** A row of `get dataplanes`. */
export function dataplaneRow({ server }: FleetWorld, name: string): JsonObject | undefined {
  return viewOf(server, 'dataplanes').find((row) => row.name === name);
}

/** The state of the connection of a data plane. */
export function stateOf(world: FleetWorld, name: string): JsonValue | undefined {
  return objectOf(dataplaneRow(world, name)?.connection).state;
}

/** The addresses of the rows of `get endpoints`. */
export function endpointsAt({ server }: FleetWorld): readonly string[] {
  return viewOf(server, 'endpoints').map(({ address, port }) => `${String(address)}:${String(port)}`);
}

function viewOf({ api }: FleetWorld['server'], name: string): readonly JsonObject[] {
  const answer = api.view(name, {});
  if (!answer.ok) throw new Error(answer.message);
  return answer.value;
}
