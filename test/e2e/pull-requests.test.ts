import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml, configMapYaml } from '../support/manifests.ts';
import { giteaApi } from '../support/review-hosts/gitea.ts';
import { githubApi } from '../support/review-hosts/github.ts';
import { gitlabApi } from '../support/review-hosts/gitlab.ts';
import {
  addComment,
  addPullRequest,
  type HostedPullRequest,
  type RecordedHost,
  startRecordedHost,
} from '../support/review-hosts/recorded-host.ts';

/** A server process that follows a repository at each kind of host, with real git and the recorded API of each host. */

const SECRET = 'the-hook-secret-of-all';
const APIS = { github: githubApi, gitlab: gitlabApi, gitea: giteaApi } as const;
type Name = keyof typeof APIS;
const NAMES: readonly Name[] = ['github', 'gitlab', 'gitea'];
/** Only there are pull requests of forks planned. */
const WITH_FORKS = 'gitea';

let fleet: Fleet;
let hosts: Readonly<Record<Name, RecordedHost>>;
const tokenFile = (): string => join(fleet.sandbox.path, 'host-token');
const markerOf = (name: Name): string => `<!-- fleetrelay:test/${name} -->`;
const ours = (name: Name, { comments }: HostedPullRequest) =>
  comments.filter(({ body, author }) => author === 1 && body.startsWith(markerOf(name)));
const statesOf = (name: Name, commit: string): readonly string[] =>
  hosts[name].state.statuses.filter((status) => status.commit === commit).map(({ state }) => state);

/** Pushes files to a branch of a repository, which begins at its branch main. */
function pushTopic(name: Name, branch: string, files: Readonly<Record<string, string | null>>): string {
  const bare = join(fleet.sandbox.served, `${name}.git`);
  if (fleet.sandbox.git(bare, 'for-each-ref', `refs/heads/${branch}`) === '') {
    fleet.sandbox.git(bare, 'branch', branch, 'main');
  }
  return fleet.sandbox.push(bare, files, { branch });
}

/** Makes the ref under which the host keeps the commit of a pull request of a fork. */
function pushFork(name: Name, number: number, files: Readonly<Record<string, string | null>>): string {
  const commit = pushTopic(name, 'of-fork', files);
  const bare = join(fleet.sandbox.served, `${name}.git`);
  const ref = name === 'gitlab' ? `refs/merge-requests/${number}/head` : `refs/pull/${number}/head`;
  fleet.sandbox.git(bare, 'update-ref', ref, commit);
  fleet.sandbox.git(bare, 'update-ref', '-d', 'refs/heads/of-fork');
  return commit;
}

/** Calls the hook as the host does; resolves with the status. */
async function tell(name: Name, number: number, secret = SECRET): Promise<number> {
  const repository = `acme/${name}`;
  const body = JSON.stringify(
    name === 'gitlab'
      ? {
          project: { path_with_namespace: repository },
          object_attributes: { iid: number, target_branch: 'main', action: 'open' },
        }
      : { action: 'opened', number, pull_request: { base: { ref: 'main' } }, repository: { full_name: repository } },
  );
  const proof: Record<string, string> =
    name === 'gitlab'
      ? { 'X-Gitlab-Event': 'Merge Request Hook', 'X-Gitlab-Token': secret }
      : {
          'X-GitHub-Event': 'pull_request',
          ...(name === 'gitea' && { 'X-Gitea-Event': 'pull_request' }),
          'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
        };
  const headers = { 'Content-Type': 'application/json', ...proof };
  return (await fetch(`${fleet.server.http()}/hooks/git/${name}`, { method: 'POST', headers, body })).status;
}

async function counted(name: Name, outcome: string): Promise<number> {
  const text = await (await fetch(`${fleet.server.metrics()}/metrics`)).text();
  const line = `fleetrelay_pull_requests_total{source="${name}",outcome="${outcome}"} `;
  return Number(
    text
      .split('\n')
      .find((each) => each.startsWith(line))
      ?.slice(line.length),
  );
}

function sourceOf(name: Name) {
  return {
    name,
    git: {
      url: fleet.repository.replace('fleet.git', `${name}.git`),
      branch: 'main',
      pollIntervalSeconds: 1,
      hook: { secretFile: join(fleet.sandbox.path, 'hook-secret') },
      pullRequests: {
        ...{ host: name, apiUrl: hosts[name].apiUrl, repository: `acme/${name}`, tokenFile: tokenFile() },
        ...(name === WITH_FORKS && { forks: true }),
      },
    },
  };
}

beforeAll(async () => {
  const startOf = (name: Name) => startRecordedHost(APIS[name], { repository: `acme/${name}` });
  const [github, gitlab, gitea] = await Promise.all([startOf('github'), startOf('gitlab'), startOf('gitea')]);
  hosts = { github, gitlab, gitea };
  const files = (name: Name) => ({ [`clusters/east/${name}.yaml`]: configMapYaml(name, 'one') });
  fleet = await startFleet(
    { 'clusters/east/cluster.yaml': clusterYaml('east') },
    { poll: 1, config: {}, sources: { github: files('github'), gitlab: files('gitlab'), gitea: files('gitea') } },
  );
  writeFileSync(tokenFile(), `${github.token}\n`);
  writeFileSync(join(fleet.sandbox.path, 'hook-secret'), SECRET);
  const first = { name: 'fleet', git: { url: fleet.repository, pollIntervalSeconds: 1 } };
  fleet.configure({ fields: { sources: [first, ...NAMES.map(sourceOf)] } });
  await fleet.server.kill('SIGTERM');
  await fleet.server.start();
});
afterAll(async () => {
  await fleet?.stop();
  for (const name of NAMES) await hosts?.[name].close();
});

describe.each(NAMES)('%s', (name) => {
  it('shows the plan of a pull request, and replaces it when the branch has a new commit', async () => {
    const first = pushTopic(name, 'topic', { [`clusters/east/${name}.yaml`]: configMapYaml(name, 'two') });
    const request = addPullRequest(hosts[name].state, 7, { commit: first });
    addComment(hosts[name].state, 7, `${markerOf(name)}\nnothing changes`, 666);
    expect(await tell(name, 7)).toBe(202);
    await until('the plan is shown', () => statesOf(name, first).includes('success'));
    expect(statesOf(name, first)).toEqual(['pending', 'success']);
    const [comment, ...others] = ours(name, request);
    expect(others).toEqual([]);
    expect(comment?.body).toContain(`ConfigMap/web/${name}`);
    expect(comment?.body).toContain('east');
    expect(request.comments[0]?.body).toBe(`${markerOf(name)}\nnothing changes`);

    request.commit = pushTopic(name, 'topic', { 'clusters/east/more.yaml': configMapYaml(`more-of-${name}`, 'one') });
    expect(await tell(name, 7)).toBe(202);
    await until('the next plan is shown', () => statesOf(name, request.commit).includes('success'));
    const now = ours(name, request);
    expect(now).toHaveLength(1);
    expect(now[0]?.body).toContain(`more-of-${name}`);
  });

  it(name === WITH_FORKS ? 'plans a pull request of a fork' : 'plans no pull request of a fork', async () => {
    const commit = pushFork(name, 8, { 'clusters/east/fork.yaml': configMapYaml(`fork-of-${name}`, 'one') });
    const request = addPullRequest(hosts[name].state, 8, { commit, from: 99 });
    expect(await tell(name, 8)).toBe(202);
    if (name === WITH_FORKS) {
      await until('the plan is shown', () => statesOf(name, commit).includes('success'));
      expect(ours(name, request)[0]?.body).toContain(`fork-of-${name}`);
      return;
    }
    await until('it is skipped', async () => (await counted(name, 'skipped')) === 1);
    expect([request.comments, statesOf(name, commit)]).toEqual([[], []]);
  });

  it('shows why a pull request cannot be planned, in a sentence', async () => {
    const commit = 'c'.repeat(40);
    const request = addPullRequest(hosts[name].state, 9, { commit, branch: 'gone' });
    expect(await tell(name, 9)).toBe(202);
    const error = name === 'gitlab' ? 'failed' : 'error';
    await until('the error is shown', () => statesOf(name, commit).includes(error));
    expect(ours(name, request)[0]?.body).toMatch(/fleetrelay cannot plan cccccccccccc/);
    expect(ours(name, request)[0]?.body).not.toMatch(/\bat .*\.(ts|js|cjs):\d/);
    expect(await counted(name, 'refused')).toBe(1);
  });
});

it('a call without the secret queues nothing', async () => {
  addPullRequest(hosts.github.state, 10, { commit: 'd'.repeat(40) });
  const before = hosts.github.calls.length;
  expect(await tell('github', 10, 'a guess')).toBe(401);
  // A pull request that is queued afterwards is worked on, and this one never was.
  addPullRequest(hosts.github.state, 11, { commit: 'e'.repeat(40), open: false });
  expect(await tell('github', 11)).toBe(202);
  await until('the later one was read', () => hosts.github.calls.length > before);
  expect(hosts.github.calls.slice(before)).toEqual(['GET /repos/acme/github/pulls/11']);
});

it('a secret value of the branch reaches no host, and the token no log', async () => {
  const commit = pushTopic('github', 'secret', {
    'clusters/east/secret.yaml':
      'apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: web}\nstringData: {key: s3cret-value}\n',
  });
  const request = addPullRequest(hosts.github.state, 12, { commit, branch: 'secret' });
  expect(await tell('github', 12)).toBe(202);
  await until('the plan is shown', () => statesOf('github', commit).includes('success'));
  expect(ours('github', request)[0]?.body).toContain('Secret/web/key');
  expect(JSON.stringify(hosts.github.state.pullRequests.get(12))).not.toContain('s3cret-value');
  expect(JSON.stringify(fleet.server.logs)).not.toContain(hosts.github.token);
});

it('a request that waits outlasts a restart, and a new token is read from its file', async () => {
  const commit = pushTopic('gitlab', 'late', { 'clusters/east/late.yaml': configMapYaml('late', 'one') });
  addPullRequest(hosts.gitlab.state, 13, { commit, branch: 'late' });
  hosts.gitlab.interrupt({ status: 503, body: {} }, 50);
  const before = hosts.gitlab.calls.length;
  expect(await tell('gitlab', 13)).toBe(202);
  await until('the host was asked', () => hosts.gitlab.calls.length > before);
  await fleet.server.kill('SIGKILL');
  hosts.gitlab.resume();
  writeFileSync(tokenFile(), 'revoked');
  await fleet.server.start();
  await until('the host does not know the token', async () => (await counted('gitlab', 'failed')) === 1);
  expect(statesOf('gitlab', commit)).toEqual([]);
  writeFileSync(tokenFile(), hosts.gitlab.token);
  expect(await tell('gitlab', 13)).toBe(202);
  await until('the plan is shown', () => statesOf('gitlab', commit).includes('success'));
});
