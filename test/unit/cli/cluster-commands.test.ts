import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compositionRoots } from '../../../src/cli/roots.ts';
import { type CliRun, recordingRoots, runCli } from '../../support/cli.ts';
import { runServer } from '../../support/running-server.ts';
import { fakeApi } from '../../support/server-api.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleetrelay-cluster-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const put = (path: string, text: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};
const cluster = (...args: string[]): Promise<CliRun> =>
  runCli(['cluster', ...args], { roots: compositionRoots, cwd: folder });
const EAST =
  'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata:\n  name: east\n  labels:\n    env: prod\n';

const INSTALL = ['register', 'east', '--install', '--server', 'a:1'];

describe('a wrong command line exits with 2 and', () => {
  test.each([
    [['register', 'East'], 'lower-case'],
    [['register', 'east', '--label', 'x'], 'KEY=VALUE'],
    [['register', 'east', '--context', 'x'], '--agent-context'],
    [['register', 'east', '--apply', '--checkout', 'b'], 'cannot be used with'],
    [['register', 'east', '--install'], '--server HOST:PORT'],
    [['register', 'east', '--server', 'a:1'], '--install or --agent-manifests'],
    [['register', 'east', '--install', '--agent-manifests', '--server', 'a:1'], 'cannot be used with'],
    [[...INSTALL, '--allow', 'everything'], 'Allowed choices are all-namespaces, secrets'],
    [INSTALL, 'say --namespaces NS,... (only there), or --allow all-namespaces'],
    [['register', 'east', '--agent-manifests', '--server', 'a:1'], 'or --allow all-namespaces'],
    [[...INSTALL, '--namespaces', 'web', '--allow', 'all-namespaces'], 'contradict each other'],
    [[...INSTALL, '--namespaces', 'web,kube-system'], 'kube-system, which is protected'],
    [[...INSTALL, '--namespaces', 'agents', '--agent-namespace', 'agents'], 'agents, which is protected'],
    [[...INSTALL, '--namespaces', 'fleetrelay-server'], 'fleetrelay-server, which is protected'],
    [[...INSTALL, '--namespaces', 'web', '--allow', 'cluster-admin'], '--allow all-namespaces cluster-admin'],
    [[...INSTALL, '--namespaces', 'web', '--care-namespaces', 'web'], '--allow care'],
    [[...INSTALL, '--namespaces', 'web,Shoots/blue'], 'the name of a Namespace'],
    [['register', 'east', '--allow', 'all-namespaces'], '--install or --agent-manifests'],
    [['deregister', 'east'], '--checkout DIR'],
    [['deregister', 'east', '--remove-objects'], '--confirm east'],
    [['deregister', 'east', '--remove-objects', '--confirm', 'west'], '--confirm east'],
    [['deregister', 'east', '--checkout', '.', '--context', 'x'], '--delete'],
    [['reset-position', 'east'], '--directory DIR'],
    [['reset-position', 'east', '--directory', '.', '--context', 'x'], '--context NAME'],
    [['adopt', 'east', '--checkout', '.'], '--fleet'],
  ])('%j says: %s', async (args, said) => {
    const { code, out, err } = await runCli(['cluster', ...args]);
    expect(err).toContain(said);
    expect([code, out]).toEqual([2, '']);
  });
});

test('cluster reset-position says what it has cleared', async () => {
  const { code, out } = await runCli(['cluster', 'reset-position', 'east', '--context', 'east']);
  expect([code, out]).toEqual([
    0,
    'east (https://east): position (5, 6), no admission: was cleared\n3 objects of the fleet in east: unchanged\n',
  ]);
});

describe('cluster register', () => {
  test('prints the KubernetesCluster alone on stdout', async () => {
    const { code, out } = await cluster('register', 'east', '--label', 'env=prod');
    expect([code, out]).toEqual([0, EAST]);
  });

  test('writes it into a checkout, once', async () => {
    const first = await cluster('register', 'east', '--label', 'env=prod', '--checkout', '.');
    expect(first.out).toBe('KubernetesCluster east created in clusters/east/cluster.yaml\n');
    expect(readFileSync(join(folder, 'clusters/east/cluster.yaml'), 'utf8')).toBe(EAST);
    expect((await cluster('register', 'east', '--label', 'env=prod', '--checkout', '.')).out).toContain('unchanged');
  });

  test('finds where it is declared already, whatever words say the same', async () => {
    put('elsewhere.yaml', `# by hand\n${EAST}`);
    const same = await cluster('register', 'east', '--label', 'env=prod', '--checkout', '.');
    expect(same.out).toBe('KubernetesCluster east unchanged in elsewhere.yaml\n');
    const other = await cluster('register', 'east', '--label', 'env=dev', '--checkout', '.');
    expect([other.code, other.err]).toEqual([1, expect.stringContaining('exists with other content')]);
    expect(readFileSync(join(folder, 'elsewhere.yaml'), 'utf8')).toContain('# by hand');
    const forced = await cluster('register', 'east', '--label', 'env=dev', '--checkout', '.', '--force');
    expect(forced.out).toContain('changed in elsewhere.yaml');
    expect(existsSync(join(folder, 'clusters'))).toBe(false);
  });

  test('never touches a file that holds more', async () => {
    put('all.yaml', `${EAST}---\n${EAST.replace('name: east', 'name: west')}`);
    const { code, err } = await cluster('register', 'east', '--checkout', '.', '--force');
    expect([code, err]).toEqual([1, expect.stringContaining('change it there by hand')]);
  });

  test('writes nothing in a dry run, nor when the agent’s part cannot be done', async () => {
    expect((await cluster('register', 'east', '--checkout', '.', '--dry-run')).out).toContain('created (dry run)');
    const missing = ['--agent-manifests', 'm.yaml', '--server', 'a:1', '--namespaces', 'web', '--token-file', 'none'];
    expect(await cluster('register', 'east', '--checkout', '.', ...missing)).toMatchObject({ code: 1 });
    expect(existsSync(join(folder, 'clusters'))).toBe(false);
  });

  test('refuses a declaration that a server would refuse', async () => {
    const { code, err } = await cluster('register', 'east', '--label', 'env=-x-');
    expect([code, err]).toEqual([1, expect.stringContaining('"-x-"')]);
  });

  test('writes manifests with a token for their owner alone', async () => {
    put('token', 'frt1_abc\n');
    const args = ['--agent-manifests', 'm.yaml', '--server', 'a:1', '--namespaces', 'web', '--token-file', 'token'];
    const { code, out, err } = await cluster('register', 'east', '--checkout', '.', ...args);
    expect([code, out + err]).toEqual([0, expect.not.stringContaining('frt1_abc')]);
    expect(readFileSync(join(folder, 'm.yaml'), 'utf8')).toContain('frt1_abc');
    expect(statSync(join(folder, 'm.yaml')).mode & 0o777).toBe(0o600);
  });
});

describe('cluster register by the secret of the server alone', () => {
  const args = ['register', 'east', '--agent-manifests', '--server', 'a:1', '--namespaces', 'web,shop'];
  const secret = ['--relay-secret-file', 'secret'];

  test('notes that the token may have been renewed, and the way out', async () => {
    put('secret', 'ab'.repeat(32));
    const { code, out, err } = await cluster(...args, ...secret);
    expect([code, out]).toEqual([0, expect.stringContaining('fre1_0_')]);
    expect(err).toMatch(/the first one of east: if it was ever renewed.*--data-dir beside.*--generation N/);
  });

  test('and not where a data directory knows of renewals', async () => {
    put('secret', 'ab'.repeat(32));
    put('data/trust/token-generations.json', '{"east":1780000000}\n');
    const { code, out, err } = await cluster(...args, ...secret, '--data-dir', 'data');
    expect([code, out]).toEqual([0, expect.stringContaining('fre1_1780000000_')]);
    expect(err).not.toContain('the first one');
  });
});

describe('cluster deregister', () => {
  test('removes the file that declares it, and notes what stays', async () => {
    put('elsewhere.yaml', EAST);
    const before = await cluster('deregister', 'east', '--checkout', '.', '--dry-run');
    expect(before.out).toContain('removed (dry run)');
    const { code, out } = await cluster('deregister', 'east', '--checkout', '.');
    expect([code, out]).toEqual([0, expect.stringContaining('what the fleet has made in east stays as it is')]);
    const [, ...notes] = out.trimEnd().split('\n');
    expect(before.out.trimEnd().split('\n').slice(1)).toEqual([...notes, 'nothing was changed (--dry-run)']);
    expect(out).toContain('what other clusters have from east, such as mirrored Services, is removed there');
    expect(existsSync(join(folder, 'elsewhere.yaml'))).toBe(false);
    const again = await cluster('deregister', 'east', '--checkout', '.');
    expect([again.code, again.out]).toEqual([
      0,
      expect.stringMatching(/absent.*\nnothing was done: .* taken out before/),
    ]);
    expect(again.out).not.toContain('stays as it is');
  });

  test('of a name that no file declares notes that nothing was done, and suggests a similar name', async () => {
    put('east.yaml', EAST);
    const { out } = await cluster('deregister', 'esat', '--checkout', '.');
    expect(out).toContain('absent');
    expect(out).toContain('no file declares it; did you mean east?');
    expect(out).not.toMatch(/commit and push|is removed there/);
    expect(existsSync(join(folder, 'east.yaml'))).toBe(true);
  });

  test('never removes a file that holds more, or another cluster', async () => {
    put('all.yaml', `${EAST}---\n${EAST.replace('name: east', 'name: west')}`);
    put('west.yaml', EAST.replace('name: east', 'name: west'));
    expect((await cluster('deregister', 'east', '--checkout', '.')).err).toMatch(/all\.yaml:\d+.*by hand/);
    expect(existsSync(join(folder, 'all.yaml')) && existsSync(join(folder, 'west.yaml'))).toBe(true);
  });
});

describe('cluster list', () => {
  test('shows agents and labels, and goes on with --watch until it is stopped', async () => {
    const server = await runServer({ api: fakeApi() });
    try {
      const { out } = await runCli(['cluster', 'list', '--api', server.url]);
      expect(out).toMatch(/east +yes .* 0\.0\.0 +v1\.36\.3 +region=eu/);
      const stop = new AbortController();
      const texts: string[] = [];
      const stdout = {
        isTerminal: false,
        colour: false,
        columns: 80,
        write: (text: string) => {
          texts.push(text);
          if (text.startsWith('west')) stop.abort();
        },
      };
      const untilStopped = (): AbortSignal => stop.signal;
      const watched = await runCli(['cluster', 'list', '--watch', '--api', server.url], { stdout, untilStopped });
      expect(watched.code).toBe(0);
      expect(texts.join('')).toMatch(/^CLUSTER .*\neast .*\nwest .*\n$/);
    } finally {
      await server.stop();
    }
  });
});

test('adopt passes the list of the server on, and exits with 1 if something needs a person', async () => {
  const server = await runServer({ api: fakeApi() });
  const seen: unknown[] = [];
  const refused = {
    object: 'ConfigMap/web/x',
    verdict: 'refused' as const,
    owner: '"kubectl"',
    changes: [{ field: '.data.a', before: 'x\u001b[31m', after: undefined }],
    conflicts: [{ manager: 'argo', field: '.spec' }],
    message: '"kubectl" has it',
    files: ['a.yaml'],
  };
  const roots = recordingRoots({
    clusterAdopt: async (request) => {
      seen.push(request);
      return { cluster: 'east', server: 'https://x', objects: [refused] };
    },
  });
  try {
    const args = ['cluster', 'adopt', 'east', '--api', server.url, '--context', 'east'];
    const dry = await runCli([...args, '--dry-run'], { roots });
    expect(dry.code).toBe(1);
    expect(dry.out).not.toContain('\u001b');
    expect(dry.out).toContain('refused ConfigMap/web/x: "kubectl" has it  (a.yaml)');
    expect(dry.out).toContain('.spec is held by argo');
    expect(dry.out).not.toContain('fleetrelay.dev/adopt');
    expect((await runCli(args, { roots })).out).toContain('fleetrelay.dev/adopt: "true"\n  a.yaml: ConfigMap/web/x');
    expect(seen[0]).toMatchObject({ fleet: 'shop', kube: { context: 'east' }, desired: { type: 'server' } });
  } finally {
    await server.stop();
  }
});
