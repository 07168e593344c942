import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ControlPlane, startControlPlane } from './control-plane.ts';

/** A user without any right, beside `admin`. */
export const LIMITED_USER = 'limited';

/** Paths of kubeconfigs for the control plane that the files of a run share. */
export interface SharedPlane {
  readonly admin: string;
  readonly limited: string;
}

const WHERE = 'FLEETRELAY_TEST_SHARED_PLANE';

/** For vitest's `globalSetup`: the plane is started when a file first asks for it, and stopped at the end of the run. */
export async function setup(): Promise<() => Promise<void>> {
  let started: Promise<ControlPlane> | undefined;
  const server = createServer((_request, response) => {
    started ??= startControlPlane({ users: { [LIMITED_USER]: [] } });
    started.then(
      ({ kubeconfig }) => {
        const shared: SharedPlane = { admin: kubeconfig(), limited: kubeconfig(LIMITED_USER) };
        response.end(JSON.stringify(shared));
      },
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  process.env[WHERE] = `http://127.0.0.1:${port}`;
  return async () => {
    server.close();
    server.closeAllConnections();
    await started?.then(
      (plane) => plane.stop(),
      () => undefined,
    );
  };
}

/** The plane of this run; only for tests that keep to namespaces of their own, and neither stop nor starve it. */
export async function sharedPlane(): Promise<SharedPlane> {
  const response = await fetch(process.env[WHERE] ?? '');
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as SharedPlane;
}
