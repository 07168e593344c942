import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FleetView } from '../../src/api/server-api.ts';
import { REPLICATED } from '../contract/deploy/releases.ts';
import { type Manifest, renderChart } from '../contract/deploy/rendering.ts';
import { type DeployedServer, deployedServer } from '../support/deployed-servers.ts';
import { PROGRAM, runCli, until } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';
import { createGitSandbox, type GitSandbox } from '../support/git-sandbox.ts';
import { type ControlPlane, startControlPlane } from '../support/kubernetes/control-plane.ts';
import { clusterYaml, configMapYaml, policyYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';
import { type RedisProcess, startRedis } from '../support/redis.ts';
import { createTestAuthority, DAY_MS, type TestAuthority } from '../support/test-authority.ts';
import { lastingToken } from '../support/tokens.ts';

const LONG_MS = 120_000;
const SECRET = 'ab'.repeat(32);
const PASSWORD = 'of-the-redis';
const API_TOKEN = 'the-token-of-the-api';

describe.skipIf(noProgram('redis-server', 'helm'))('two servers as the chart deploys them, with a real Redis', () => {
  let sandbox: GitSandbox;
  let authority: TestAuthority;
  let redis: RedisProcess;
  let tlsPort: number;
  let servers: readonly DeployedServer[] = [];
  let plane: ControlPlane | undefined;
  let agent: ChildProcess | undefined;

  beforeEach(async () => {
    sandbox = createGitSandbox();
    sandbox.push(sandbox.bare('fleet'), {
      'clusters/east/cluster.yaml': clusterYaml('east'),
      'clusters/east/b.yaml': configMapYaml('b', 'one'),
      'fleet/policy.yaml': policyYaml(0),
      ...desired('one'),
    });
    const now = Date.now();
    authority = await createTestAuthority(now - DAY_MS, now + DAY_MS);
    tlsPort = await freePort();
    redis = await startRedis({
      settings: { ...(await redisTls()), 'tls-port': String(tlsPort), requirepass: PASSWORD },
      client: { password: PASSWORD },
      tlsPort,
    });
  }, LONG_MS);

  afterEach(async () => {
    if (agent !== undefined && agent.exitCode === null && agent.signalCode === null) {
      const exit = once(agent, 'exit');
      agent.kill('SIGKILL');
      await exit;
    }
    for (const server of servers) await server.kill('SIGKILL');
    await redis?.stop();
    await plane?.stop();
    sandbox.remove();
    [servers, plane, agent] = [[], undefined, undefined];
  });

  const desired = (value: string): Readonly<Record<string, string>> => ({
    'clusters/east/a.yaml': configMapYaml('a', value),
  });
  const bare = (): string => join(sandbox.served, 'fleet.git');
  const pair = async () => {
    const now = Date.now();
    return await authority.serverPair(now - DAY_MS / 2, now + DAY_MS / 2);
  };

  async function redisTls(): Promise<Readonly<Record<string, string>>> {
    const { certificate, key } = await pair();
    const files = { 'tls-ca-cert-file': authority.root, 'tls-cert-file': certificate, 'tls-key-file': key };
    const written = Object.entries(files).map(([setting, text]) => {
      const path = join(sandbox.path, setting);
      writeFileSync(path, text, { mode: 0o600 });
      return [setting, path] as const;
    });
    return { ...Object.fromEntries(written), 'tls-auth-clients': 'no' };
  }

  /** Both pods of the release, with its Secrets as a person makes them. */
  async function deploy(lease: keyof typeof REPLICATED, env: Readonly<Record<string, string>> = {}): Promise<void> {
    const { certificate, key } = await pair();
    const { values, ...release } = REPLICATED[lease];
    const { store } = values as { readonly store: { readonly redis: object } };
    const { username: _, ...account } = store.redis as { readonly username: string };
    const git = { url: bare(), pollIntervalSeconds: 1 };
    const objects: readonly Manifest[] = await renderChart('fleetrelay', {
      ...release,
      values: {
        ...values,
        sources: [{ name: 'fleet', git }],
        store: { type: 'redis', redis: { ...account, nodes: [`localhost:${tlsPort}`] } },
      },
    });
    const secrets = {
      'fleet-redis': { password: PASSWORD, 'ca.crt': authority.root },
      'fleet-relay': { secret: SECRET },
      'fleet-relay-tls': { 'tls.crt': certificate, 'tls.key': key, 'ca.crt': authority.root },
      'fleetrelay-server-api': { token: API_TOKEN },
    };
    writeFileSync(join(sandbox.path, 'api-token'), API_TOKEN, { mode: 0o600 });
    const options = { objects, secrets, folder: join(sandbox.path, 'pods'), env };
    servers = await Promise.all([0, 1].map((number) => deployedServer(number, options)));
    await Promise.all(servers.map((server) => server.start()));
    for (const server of servers) await ready(server);
  }

  const ready = (server: DeployedServer) =>
    until(`${server.name} is ready`, async () => (await fetch(`${server.metrics}/readyz`)).status === 200, LONG_MS);
  const leads = ({ logs }: DeployedServer): boolean => {
    const turns = logs.filter(({ message }) => /^this replica (leads|does not lead any more)$/.test(String(message)));
    return turns.at(-1)?.message === 'this replica leads';
  };
  const inTurn = async () => {
    const leader = await until('one leads', () => servers.find(leads), LONG_MS);
    const follower = servers.find((server) => server !== leader);
    if (follower === undefined) throw new Error('there are not two');
    await until('the other one knows who leads', () => knowsLeader(follower), LONG_MS);
    return { leader, follower };
  };

  /** The leader writes its address after it was elected, and the other replica reads it after that. */
  async function knowsLeader({ http }: DeployedServer): Promise<boolean> {
    const token = API_TOKEN.trim();
    const answer = await fetch(`${http}/api/v1/status`, { headers: { authorization: `Bearer ${token}` } });
    const { replica } = (await answer.json()) as FleetView;
    return typeof replica?.leader?.address === 'string';
  }

  function startAgent({ relay }: DeployedServer): void {
    const folder = join(sandbox.path, 'east');
    mkdirSync(folder, { recursive: true });
    const [token, ca] = [join(sandbox.path, 'east.token'), join(sandbox.path, 'ca.crt')];
    writeFileSync(token, lastingToken(Buffer.from(SECRET, 'hex'), 'east'), { mode: 0o600 });
    writeFileSync(ca, authority.root);
    const reached = ['--server', relay, '--token-file', token, '--ca-file', ca];
    const args = [PROGRAM, 'agent', '--cluster', 'east', ...reached, '--directory', folder];
    agent = spawn(process.execPath, args, { stdio: 'ignore' });
  }

  const folderOfObjects = (): string => join(sandbox.path, 'east', 'namespaces', 'web', 'configmap');
  const held = (): string => {
    try {
      return readFileSync(join(folderOfObjects(), 'a.yaml'), 'utf8');
    } catch {
      return '';
    }
  };
  const holds = (value: string) => until(`east holds ${value}`, () => held().includes(value), LONG_MS);
  const operate = ({ http }: DeployedServer, ...args: string[]) =>
    runCli([...args, '--api', http, '--api-token-file', join(sandbox.path, 'api-token')]);

  test('one leads, an agent is served by the other, commands find the leader, and who is left goes on', async () => {
    await deploy('store');
    const { leader, follower } = await inTurn();
    startAgent(follower);
    await holds('one');

    // What only the leader may do, asked of the other: it names the leader as the chart lets it advertise itself.
    await operate(follower, 'cluster', 'suspend', 'east', '--reason', 'a look');
    expect(await operate(leader, 'cluster', 'list')).toMatch(/suspended/);
    await operate(follower, 'cluster', 'resume', 'east');
    expect(readFileSync(join(leader.dataDir, 'audit.log'), 'utf8')).toContain('clusters/east/suspend');
    sandbox.push(bare(), { 'clusters/east/b.yaml': null });
    const list = await until('a removal is held', async () => {
      const said = await operate(follower, 'approve', '--list', '-o', 'json');
      return said.includes('ConfigMap/web/b') ? said : undefined;
    });
    await operate(follower, 'approve', JSON.parse(list)[0].digest.slice(0, 12));
    await until('what was approved is gone', () => !readdirSync(folderOfObjects()).includes('b.yaml'), LONG_MS);

    await leader.kill('SIGKILL');
    sandbox.push(bare(), desired('two'));
    await holds('two');
    await leader.start();
    await ready(leader);
  });

  test.skipIf(noProgram('kube-apiserver', 'kubectl'))(
    'the leader is elected by a Lease with the rights of the chart, and admits while Redis is away',
    async () => {
      plane = await startControlPlane();
      const { kubectl } = plane;
      await kubectl(['create', 'namespace', 'fleetrelay-server']);
      const rights = (await renderChart('fleetrelay', REPLICATED.kubernetes)).filter(({ kind }) =>
        /^Role|^ServiceAccount/.test(kind),
      );
      await kubectl(['apply', '-f', '-'], { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: rights }) });
      const token = await kubectl(['create', 'token', 'fleetrelay-server', '-n', 'fleetrelay-server']);
      await deploy('kubernetes', { KUBECONFIG: serviceAccount(plane, token.trim()) });
      const { leader, follower } = await inTurn();
      const lease = JSON.parse(
        await kubectl(['get', 'lease', 'fleetrelay-server', '-n', 'fleetrelay-server', '-o', 'json']),
      );
      expect(lease.spec.holderIdentity).not.toBe('');
      startAgent(leader);
      await holds('one');
      await redis.kill();
      sandbox.push(bare(), desired('two'));
      await holds('two');
      await redis.restart();
      await ready(follower);
    },
  );

  /** A kubeconfig of the server's ServiceAccount. */
  function serviceAccount(from: ControlPlane, token: string): string {
    const admin = JSON.parse(readFileSync(from.kubeconfig(), 'utf8'));
    const path = join(sandbox.path, 'server.kubeconfig');
    const context = { cluster: 'c', user: 'u', namespace: 'fleetrelay-server' };
    writeFileSync(
      path,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ name: 'c', cluster: admin.clusters[0].cluster }],
        users: [{ name: 'u', user: { token } }],
        contexts: [{ name: 'c', context }],
        'current-context': 'c',
      }),
    );
    return path;
  }
});
