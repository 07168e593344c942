import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { load } from 'js-yaml';
import type { Manifest } from '../contract/deploy/rendering.ts';
import { PROGRAM, until } from './fleet-processes.ts';
import { freePort } from './free-port.ts';

/** A server as its pod would run it: the arguments, settings and Secrets of a rendered chart, in a folder of this machine. */
export interface DeployedServer {
  readonly name: string;
  readonly relay: string;
  readonly http: string;
  readonly metrics: string;
  readonly dataDir: string;
  readonly logs: readonly Readonly<Record<string, unknown>>[];
  start(): Promise<void>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

export interface DeployedOptions {
  /** What the chart was rendered to. */
  readonly objects: readonly Manifest[];
  /** What the Secrets hold, by their names. */
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
}

const SERVER_NAMESPACE = 'fleetrelay-server';

/** The pod of this number of the rendered StatefulSet. Listening addresses are of this machine, and so are names of pods. */
export async function deployedServer(number: number, options: DeployedOptions): Promise<DeployedServer> {
  const { objects, secrets, env = {} } = options;
  const { metadata, spec } = one(objects, 'StatefulSet');
  const name = `${metadata.name}-${number}`;
  const folder = join(options.folder, name);
  const [container] = spec.template.spec.containers;
  const mounts: readonly { readonly name: string; readonly mountPath: string; readonly subPath?: string }[] =
    container.volumeMounts;
  const settings = one(objects, 'ConfigMap').data as Readonly<Record<string, string>>;
  const here = (text: string): string =>
    text.replaceAll('/etc/fleetrelay/', `${folder}/etc/`).replaceAll('/var/lib/fleetrelay', `${folder}/data`);
  for (const { secret, name: volume } of spec.template.spec.volumes) {
    const mount = mounts.find((each) => each.name === volume);
    if (secret === undefined || mount === undefined) continue;
    const held = secrets[secret.secretName];
    if (held === undefined) throw new Error(`the Secret ${secret.secretName} is missing`);
    mountSecret(
      here(`${mount.mountPath}/`),
      secret.items ?? Object.keys(held).map((key) => ({ key, path: key })),
      held,
    );
  }
  const [relay, http, metrics] = [
    `127.0.0.1:${await freePort()}`,
    `127.0.0.1:${await freePort()}`,
    `127.0.0.1:${await freePort()}`,
  ];
  const config = load(here(settings['relay-config.yaml'] ?? '')) as Record<string, Record<string, unknown>>;
  for (const [part, address] of Object.entries({ relay, http, metrics })) {
    config[part] = { ...config[part], listen: { address: '127.0.0.1', port: Number(address.split(':')[1]) } };
  }
  mkdirSync(join(folder, 'etc', 'config'), { recursive: true });
  writeFileSync(join(folder, 'etc', 'config', 'relay-config.yaml'), JSON.stringify(config));
  const args = (container.args as readonly string[])
    .map((arg) => here(arg.replace('$(POD_NAME)', name).replace('$(POD_NAMESPACE)', SERVER_NAMESPACE)))
    .map((arg) => arg.replace(`${name}.${spec.serviceName}.${SERVER_NAMESPACE}.svc:9980`, http));
  const logs: Readonly<Record<string, unknown>>[] = [];
  let child: ChildProcess | undefined;
  return {
    name,
    relay,
    http: `http://${http}`,
    metrics: `http://${metrics}`,
    dataDir: join(folder, 'data', 'data'),
    logs,
    start: async () => {
      logs.length = 0;
      const started = spawn(process.execPath, [PROGRAM, ...args], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, ...env },
      });
      child = started;
      createInterface({ input: started.stderr }).on('line', (line) => logs.push(parsed(line)));
      await until(`${name} is up`, () => {
        if (started.exitCode !== null) throw new Error(`${name} ended: ${JSON.stringify(logs.slice(-5))}`);
        return logs.some(({ message }) => message === 'the server is up');
      });
    },
    kill: async (signal) => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill(signal);
      await exit;
    },
  };
}

/** As the kubelet does it: files are links into a folder that can be exchanged at once. */
function mountSecret(
  folder: string,
  items: readonly { readonly key: string; readonly path: string }[],
  held: Readonly<Record<string, string>>,
): void {
  mkdirSync(join(folder, '..2026_01'), { recursive: true });
  symlinkSync('..2026_01', join(folder, '..data'));
  for (const { key, path } of items) {
    const value = held[key];
    if (value === undefined) throw new Error(`the Secret has no key ${key}`);
    writeFileSync(join(folder, '..2026_01', path), value, { mode: 0o440 });
    symlinkSync(join('..data', path), join(folder, path));
  }
}

function one(objects: readonly Manifest[], kind: string): Manifest {
  const found = objects.find((object) => object.kind === kind);
  if (found === undefined) throw new Error(`the chart has no ${kind}`);
  return found;
}

function parsed(line: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return { message: line };
  }
}
