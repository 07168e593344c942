import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fleet, type ServerProcess, startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml, configMapYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';
import { type RedisProcess, startRedis } from '../support/redis.ts';
import { githubApi } from '../support/review-hosts/github.ts';
import { addPullRequest, type RecordedHost, startRecordedHost } from '../support/review-hosts/recorded-host.ts';

const SECRET = 'the-hook-secret-of-fleet';

async function metric(server: ServerProcess, name: string): Promise<number> {
  const text = await (await fetch(`${server.metrics()}/metrics`)).text();
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1),
  );
}
const planned = (server: ServerProcess): Promise<number> =>
  metric(server, 'fleetrelay_pull_requests_total{source="fleet",outcome="planned"}');
const leads = async (server: ServerProcess): Promise<boolean> => (await metric(server, 'fleetrelay_leader')) === 1;

describe.skipIf(noProgram('redis-server'))('pull requests with two servers', () => {
  let redis: RedisProcess;
  let host: RecordedHost;
  let fleet: Fleet;
  let second: ServerProcess;

  beforeAll(async () => {
    redis = await startRedis();
    host = await startRecordedHost(githubApi);
    fleet = await startFleet(
      { 'clusters/east/cluster.yaml': clusterYaml('east'), 'clusters/east/a.yaml': configMapYaml('a', 'one') },
      { poll: 1, config: {}, serve: ['--store', `redis://127.0.0.1:${redis.port}`] },
    );
    await fleet.server.kill('SIGTERM');
    const [tokenFile, secretFile] = [join(fleet.sandbox.path, 'token'), join(fleet.sandbox.path, 'hook-secret')];
    writeFileSync(tokenFile, host.token);
    writeFileSync(secretFile, SECRET);
    const pullRequests = { host: 'github', apiUrl: host.apiUrl, repository: 'acme/fleet', tokenFile };
    const git = { url: fleet.repository, branch: 'main', pollIntervalSeconds: 1, hook: { secretFile }, pullRequests };
    fleet.configure({ fields: { sources: [{ name: 'fleet', git }] } });
    await fleet.server.start();
    second = fleet.another('second');
    await second.start();
  });
  afterAll(async () => {
    await fleet?.stop();
    await host?.close();
    await redis?.stop();
  });

  const open = (number: number, branch: string): string => {
    fleet.sandbox.git(fleet.bare, 'branch', branch, 'main');
    const files = { [`clusters/east/${branch}.yaml`]: configMapYaml(branch, 'one') };
    const commit = fleet.sandbox.push(fleet.bare, files, { branch });
    addPullRequest(host.state, number, { commit, branch });
    return commit;
  };
  const tell = async (server: ServerProcess, number: number): Promise<number> => {
    const event = { action: 'opened', number, pull_request: { base: { ref: 'main' } } };
    const body = JSON.stringify({ ...event, repository: { full_name: 'acme/fleet' } });
    const signature = createHmac('sha256', SECRET).update(body).digest('hex');
    const headers = { 'X-GitHub-Event': 'pull_request', 'X-Hub-Signature-256': `sha256=${signature}` };
    return (await fetch(`${server.http()}/hooks/git`, { method: 'POST', headers, body })).status;
  };
  const shown = (commit: string): Promise<boolean> =>
    until('the plan is shown', () =>
      host.state.statuses.some((status) => status.commit === commit && status.state === 'success'),
    );

  it('a hook at the follower makes the leader plan, once', async () => {
    const first = fleet.server;
    const [leader, follower] = await until<readonly [ServerProcess, ServerProcess]>('one of them leads', async () => {
      if (await leads(first)) return [first, second];
      return (await leads(second)) && [second, first];
    });
    const commit = open(7, 'first');
    expect(await tell(follower, 7)).toBe(202);
    await shown(commit);
    await until('the leader has counted it', async () => (await planned(leader)) === 1);
    expect(await planned(follower)).toBe(0);
    expect(host.state.statuses.map(({ state }) => state)).toEqual(['pending', 'success']);
    expect(host.state.pullRequests.get(7)?.comments).toHaveLength(1);

    await leader.kill('SIGKILL');
    const next = open(8, 'second');
    expect(await tell(follower, 8)).toBe(202);
    await shown(next);
    await until('the next leader has counted it', async () => (await planned(follower)) === 1);
  });
});
