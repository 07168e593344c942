import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as local from '../../../scripts/local/control-plane.ts';
import { findKubernetesPrograms, howToGetKubernetesPrograms } from '../../../scripts/local/kubernetes-programs.ts';
import { type LoggedProgram, startProgram } from '../../../scripts/local/logged-program.ts';
import { createApiRequests } from './api-request.ts';
import { createGet } from './get.ts';

/** A real kube-apiserver on loopback, with an etcd of its own or a share of another's. */
export interface ControlPlane extends local.ControlPlane {
  /** What `kubectl get` with `-o json` says, parsed; mostly without a process of kubectl. */
  get<Value = Record<string, unknown>>(...args: string[]): Promise<Value>;
  /** Compacts etcd up to now, so that every older resourceVersion is gone (410). */
  compact(): Promise<void>;
}

export interface ControlPlaneOptions extends Pick<local.ControlPlaneOptions, 'users' | 'sharedWith' | 'apiServerArgs'> {
  /** Also runs kube-controller-manager: namespaces end, garbage is collected, Deployments roll out up to their pods. */
  readonly controllers?: boolean;
}

/** Starts a control plane; ready in about 4 s. Rejects if its programs are not there. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { controllers: withControllers, ...rest } = options;
  const programs = findKubernetesPrograms(process.env);
  if (programs === undefined) throw new Error(howToGetKubernetesPrograms(process.env));
  const plane = await local.startControlPlane({ ...rest, programs, parent: tmpdir() });
  let controllers: LoggedProgram | undefined;
  const api = createApiRequests(plane);
  const get = createGet(api);
  const stop = async (): Promise<void> => {
    api.close();
    await controllers?.end('SIGKILL');
    await plane.stop();
  };
  try {
    if (withControllers === true) controllers = await startControllers(programs.controllerManager, plane);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    ...plane,
    get: async <Value>(...words: string[]) =>
      ((await get(words)) ?? JSON.parse(await plane.kubectl(['get', ...words, '-o', 'json']))) as Value,
    compact: () => compact(plane.etcd.url),
    stop,
  };
}

async function startControllers(program: string | undefined, plane: local.ControlPlane): Promise<LoggedProgram> {
  if (program === undefined) throw new Error('kube-controller-manager is not there');
  const config = plane.kubeconfig();
  return startProgram(
    program,
    [
      ...['--kubeconfig', config, '--authentication-kubeconfig', config, '--authorization-kubeconfig', config],
      ...['--service-account-private-key-file', join(plane.folder, 'sa.key'), '--leader-elect=false'],
      ...['--bind-address', '127.0.0.1', '--secure-port', String(await local.freePort())],
      ...['--cert-dir', join(plane.folder, 'controller-certs')],
    ],
    join(plane.folder, 'kube-controller-manager.log'),
  );
}

async function compact(etcd: string): Promise<void> {
  const post = async (path: string, body: unknown): Promise<{ header: { revision: string } }> => {
    const response = await fetch(`${etcd}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`etcd answered ${response.status} to ${path}: ${await response.text()}`);
    return (await response.json()) as { header: { revision: string } };
  };
  const { header } = await post('range', { key: Buffer.from('none').toString('base64') });
  await post('compaction', { revision: header.revision, physical: true });
}
