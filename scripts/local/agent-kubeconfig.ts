import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AGENT_PARTS } from '../../src/compose/manifests/agent-manifests.ts';
import type { WritableNamespaces } from '../../src/compose/manifests/agent-rights.ts';
import type { ControlPlane } from './control-plane.ts';

/**
 * Creates the agent's namespace, ServiceAccount, policy and rights as an installation does. Returns the path of a kubeconfig that
 * has a token of the ServiceAccount and names the namespace.
 */
export async function agentKubeconfig(
  plane: ControlPlane,
  namespace: string,
  access: readonly string[] = [],
  writable: WritableNamespaces = 'all',
): Promise<string> {
  const options = { namespace, access, writable, cluster: '', server: '', image: '' };
  const parts = AGENT_PARTS.filter(({ name }) => ['namespace', 'policy', 'rights'].includes(name));
  const manifests = parts.flatMap(({ objects }) => objects(options));
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests });
  await plane.kubectl(['apply', '--server-side', '-f', '-'], { input: list });
  const request = ['create', 'token', 'fleetrelay-agent', '--namespace', namespace, '--duration', '24h'];
  const token = (await plane.kubectl(request)).trim();
  const config = JSON.parse(await readFile(plane.kubeconfig(), 'utf8')) as Record<string, unknown>;
  const path = join(plane.folder, `agent-${namespace}.kubeconfig`);
  const contexts = [{ name: 'local', context: { cluster: 'local', user: 'agent', namespace } }];
  const ours = { ...config, users: [{ name: 'agent', user: { token } }], contexts };
  await writeFile(path, JSON.stringify(ours), { mode: 0o600 });
  return path;
}
