import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseTarGzip } from 'nanotar';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { redacted, withoutSecrets } from '../../../src/compose/debug/redact.ts';
import { takeDebugSnapshot } from '../../../src/compose/debug/snapshot.ts';
import type { JsonValue } from '../../../src/model/text/json.ts';
import { recordingRoots, runCli } from '../../support/cli.ts';
import { runServer } from '../../support/running-server.ts';
import { fakeApi, fleetView } from '../../support/server-api.ts';

const PLANTED = 'sesame-1234567890';
const SECRET_DIGEST = 'd'.repeat(64);

/** Each place holds the planted secret, and some word that must survive. */
const PLACES: Readonly<Record<string, JsonValue>> = {
  secret: { kind: 'Secret', metadata: { name: 'survives' }, data: { password: PLANTED, odd: PLANTED } },
  stringData: { kind: 'Secret', metadata: { name: 'survives' }, stringData: { odd: PLANTED } },
  secretInList: { kind: 'List', items: [{ kind: 'Secret', metadata: { name: 'survives' }, data: { odd: PLANTED } }] },
  env: { containers: [{ name: 'survives', env: [{ name: 'DB_PASSWORD', value: PLANTED }] }] },
  envUrl: { containers: [{ name: 'survives', env: [{ name: 'DB', value: `postgres://ann:${PLANTED}@db/x` }] }] },
  args: { args: ['--cluster=survives', `--api-token=${PLANTED}`, `--db-password ${PLANTED}`] },
  argsInPairs: { command: ['survives', '--api-token', PLANTED, '-password', PLANTED, '--token-file', 'f'] },
  envNames: {
    survives: 1,
    env: ['DB_PASS', 'MYSQL_PWD', 'SIGNING_KEY', 'BASIC_AUTH'].map((name) => ({ name, value: `a:${PLANTED}` })),
  },
  list: { survives: 1, tokens: [PLANTED, PLANTED] },
  cookie: `survives\nCookie: a=1; session=${PLANTED}`,
  curl: `survives curl -u ann:${PLANTED} https://x`,
  assignment: `survives DB_PASS=${PLANTED}`,
  stampedLine: `2026-01-01T00:00:00Z {"message":"survives","env":[{"name":"DB_PASSWORD","value":"${PLANTED}"}]}`,
  escapedQuote: `survives {"password":"a\\"${PLANTED}"}`,
  webhook: `survives https://hooks.slack.com/services/T0/B0/${PLANTED}`,
  header: { survives: 1, headers: { Authorization: `Bearer ${PLANTED}` } },
  headerInText: `survives: Authorization: Bearer ${PLANTED}`,
  basicInText: `survives basic ${Buffer.from(PLANTED).toString('base64')} ${PLANTED.slice(0, 0)}`,
  url: `survives https://ann:${PLANTED}@git.example.com/fleet.git`,
  urlToken: `survives https://${PLANTED}@git.example.com/fleet.git`,
  query: `survives https://git.example.com/hook?token=${PLANTED}&x=1`,
  member: { survives: 1, clientSecret: PLANTED, api_key: PLANTED, 'db.password': PLANTED, sessionToken: PLANTED },
  annotation: { metadata: { name: 'survives', annotations: { 'example.com/token': PLANTED } } },
  lastApplied: {
    metadata: {
      name: 'survives',
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ kind: 'Secret', data: { x: PLANTED } }),
      },
    },
  },
  jsonInText: { survives: JSON.stringify({ kind: 'Secret', data: { x: PLANTED } }) },
  jsonLine: `{"level":"info","message":"survives","password":"${PLANTED}"}\nplain line`,
  privateKey: `survives\n-----BEGIN PRIVATE KEY-----\n${PLANTED}\n${PLANTED}\n-----END PRIVATE KEY-----\n`,
  halfKey: `survives\n-----BEGIN RSA PRIVATE KEY-----\n${PLANTED}`,
  ownToken: `survives frt1_${PLANTED}`,
  renewedToken: `survives frt2_1780000000_${PLANTED}`,
  laterToken: `survives frt10_${PLANTED}`,
  github: 'survives ghp_abcdefghijklmnopqrstuvwxyz0123456789',
  webToken: `survives eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ${PLANTED}.c2ln`,
  yamlText: `survives: 1\npassword: "${PLANTED}"\nclient-secret: ${PLANTED}\n`,
  secretDigest: { key: '/Secret/web/survives', digest: SECRET_DIGEST },
  secretOutput: { object: 'Secret/web/survives', digest: SECRET_DIGEST },
};

describe('redaction', () => {
  test.each(Object.entries(PLACES))('masks the secret in %s, and nothing else', (_place, value) => {
    const shown = JSON.stringify(redacted(value));
    expect(shown).not.toContain(PLANTED);
    expect(shown).not.toContain(Buffer.from(PLANTED).toString('base64'));
    expect(shown).not.toContain(SECRET_DIGEST);
    expect(shown).not.toContain('ghp_');
    expect(shown).toContain('survives');
  });

  test('does not mask names and paths of secrets', () => {
    const harmless: JsonValue = {
      args: ['--token-file=/etc/fleetrelay/token/token', '--ca-file=/ca.crt'],
      command: ['fleetrelay', '--token-file', '/etc/token', '--cluster', 'east'],
      env: [
        { name: 'REPO_TOKEN_FILE', value: '/etc/token' },
        { name: 'HTTPS_PROXY', value: 'http://proxy:3128' },
      ],
      imagePullSecrets: [{ name: 'registry' }],
      volumes: [{ name: 'token', secret: { secretName: 'fleetrelay-agent-token', defaultMode: 288 } }],
      key: '/ConfigMap/web/settings',
      digest: 'a'.repeat(64),
      automountServiceAccountToken: true,
      message: 'the token of the agent is wrong',
    };
    expect(redacted(harmless)).toEqual(harmless);
  });

  test('ends for values of any depth and length', () => {
    let deep: JsonValue = PLANTED;
    for (let depth = 0; depth < 5_000; depth += 1) deep = [deep];
    expect(JSON.stringify(redacted(deep))).not.toContain(PLANTED);
    expect(withoutSecrets('x'.repeat(1 << 20)).length).toBeLessThan(20_000);
  });
});

describe('a snapshot', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fleetrelay-debug-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const io = { cwd: '/', env: {}, version: '1.2.3' };
  const server = Object.entries(PLACES).map(([place, value]) =>
    typeof value === 'string'
      ? ({ path: `server/${place}.txt`, type: 'text', text: value } as const)
      : ({ path: `server/${place}.json`, type: 'json', value } as const),
  );

  test('holds none of the planted secrets, is readable by its owner alone, and lists its files', async () => {
    const listener = createServer((_request, response) => response.end(`agent_up 1\npassword=${PLANTED}\n`));
    await new Promise<void>((done) => listener.listen(0, '127.0.0.1', done));
    const { port } = listener.address() as AddressInfo;
    const configFile = join(folder, 'relay.yaml');
    writeFileSync(configFile, `kind: RelayConfig\nsources:\n- git: {url: "https://ann:${PLANTED}@x/y"}\n`);
    const destination = join(folder, 'debug.tar.gz');
    try {
      const manifest = await takeDebugSnapshot(
        {
          destination,
          server: [...server, { path: 'server/gone.json', type: 'missing', why: `Bearer ${PLANTED}` }],
          configFile,
          serverMetrics: `http://127.0.0.1:${port}`,
          agentHealth: [`http://127.0.0.1:${port}`, 'http://127.0.0.1:1'],
          logLines: 10,
        },
        io,
      );
      const files = await parseTarGzip(readFileSync(destination));
      const all = files.map(({ name, text }) => `${name}\n${text}`).join('\n');
      expect(all).not.toContain(PLANTED);
      expect(all).not.toContain('ghp_');
      expect(all).not.toContain(SECRET_DIGEST);
      expect(all).toContain('agent_up 1');
      expect(statSync(destination).mode & 0o777).toBe(0o600);
      const inside = JSON.parse(files.find(({ name }) => name.endsWith('/manifest.json'))?.text ?? '{}');
      expect(inside.files).toEqual(manifest.files);
      expect(files.map(({ name }) => name.replace('fleetrelay-debug/', '')).sort()).toEqual(
        ['manifest.json', ...manifest.files.map(({ path }) => path)].sort(),
      );
      expect(inside.missing.map(({ path }: { path: string }) => path)).toEqual([
        'server/gone.json',
        'agents/1-readyz.txt',
        'agents/1-metrics.txt',
      ]);
      await expect(
        takeDebugSnapshot({ destination, server: [], serverMetrics: null, agentHealth: [], logLines: 1 }, io),
      ).rejects.toThrow('is there already');
    } finally {
      listener.close();
    }
  });

  test('can be a folder', async () => {
    const destination = join(folder, 'look');
    await takeDebugSnapshot(
      { destination, server: server.slice(0, 1), serverMetrics: null, agentHealth: [], logLines: 1 },
      io,
    );
    expect(readFileSync(join(destination, 'server/secret.json'), 'utf8')).toContain('[redacted]');
    expect(statSync(join(destination, 'manifest.json')).mode & 0o777).toBe(0o600);
  });
});

describe('the command asks for health and metrics', () => {
  const metricsAddress = 'http://127.0.0.1:9983';
  const said = fleetView({ metricsAddress });

  test.each([
    ['where the server says', said, [], {}, metricsAddress],
    ['where the caller says', said, ['--server-metrics', 'http://h:1'], {}, 'http://h:1'],
    ['where the environment says', said, [], { FLEETRELAY_SERVER_METRICS: 'http://h:2' }, 'http://h:2'],
    ['at the usual port of a server that does not say', fleetView(), [], {}, 'http://127.0.0.1:9981'],
  ])('%s', async (_where, fleet, args, env, serverMetrics) => {
    const roots = recordingRoots();
    const server = await runServer({ api: fakeApi(fleet) });
    try {
      const { code } = await runCli(['debug', 'snapshot', '--api', server.url, ...args], { roots, env });
      expect(code).toBe(0);
      expect(roots.calls).toMatchObject([['debugSnapshot', { serverMetrics }]]);
    } finally {
      await server.stop();
    }
  });
});
