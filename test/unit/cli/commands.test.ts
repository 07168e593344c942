import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { EXIT_CODE_MEANINGS } from '../../../src/cli/exit-codes.ts';
import { allRows } from '../../../src/cli/registry.ts';
import type { ValidationReport } from '../../../src/compose/validate/report.ts';
import { diagnosticOf } from '../../../src/model/fleet/diagnostic.ts';
import { recordingRoots, runCli } from '../../support/cli.ts';

const NAMES = (await allRows()).map(({ name }) => name);

const AGENT = ['--cluster', 'east', '--server', 'a:1', '--insecure'];

describe('a wrong command line exits with 2 and', () => {
  test.each([
    [['statsu'], 'did you mean `fleetrelay status`?'],
    [['exlpain', 'a', 'b'], 'did you mean `fleetrelay explain`?'],
    [['nonsense'], 'see `fleetrelay help`'],
    [['--oputput', 'json'], 'a command comes first'],
    [['status', '--ouput', 'json'], 'Did you mean --output?'],
    [['status', '-o', 'xml'], 'Allowed choices are table, json, yaml'],
    [['status', '-o', 'wide'], 'Allowed choices are table, json, yaml'],
    [['get', 'shoots', '-o', 'xml'], 'Allowed choices are table, wide, json, yaml, name'],
    [['get', '-n', 'shop'], 'name a kind first'],
    [['get', 'clusters', '-n', 'shop'], '--namespace does not apply to clusters'],
    [['get', 'outputs', '-l', 'a=b'], '--selector does not apply to outputs (it applies to clusters)'],
    [['get', 'outputs', '-n', 'shop', '-A'], '--namespace and --all-namespaces exclude each other'],
    [['get', 'outputs', '-n', 'Shop'], 'the name of a Namespace'],
    [['get', 'clusters', '-l', 'a=b=c'], '"a=b=c" is none of KEY=VALUE'],
    [['get', 'clutsers'], 'there is no kind clutsers (did you mean clusters? the kinds are clusters, outputs, '],
    [['get', 'widgets'], 'there is no kind widgets (the kinds are clusters, outputs, '],
    [['get', 'placements'], 'see `fleetrelay explain Placement/NAME`'],
    [['get', 'shoots', '--mesh', 'default'], '--mesh does not apply to shoots'],
    [['status', 'extra'], 'too many arguments'],
    [['source', 'acept', 'main', 'abc'], 'Did you mean accept?'],
    [['source'], 'Usage: fleetrelay source'],
    [['get', 'sources', '--cluster', 'east'], '--cluster does not apply to sources'],
    [['get', 'outputs', '--mesh', 'default'], '--mesh does not apply to outputs'],
    [['get', 'sources', '--tag', 'a=b'], '--tag does not apply to sources'],
    [['serve'], 'serve needs something to follow'],
    [['serve', '--repo', 'https://example.com/x', '--folder', '.'], 'cannot be used with'],
    [['serve', '--folder', '.', '--poll', '0'], 'a whole number from 1'],
    [['serve', '--folder', '.', '--context', 'here'], 'add --custom-resources'],
    [['serve', '--folder', '.', '--http', 'nowhere'], 'is not HOST:PORT'],
    [['serve', '--folder', '.', '--tls-cert-file', 'a'], 'belong together'],
    [['serve', '--folder', '.', '--insecure-listen-anywhere'], 'needs --insecure'],
    [['serve', '--folder', '.', '--store', 'mysql://a'], 'sqlite:PATH'],
    [['serve', '--folder', '.', '--store', 'redis://a,b'], 'no HOST:PORT'],
    [['serve', '--folder', '.', '--replicas', '3'], 'one, several'],
    [['serve', '--folder', '.', '--advertise', 'http://a:b@c'], 'without user and password'],
    [['agent', '--cluster', 'East', '--server', 'a:1', '--directory', 'd'], 'lower-case'],
    [['agent', '--cluster', 'east', '--server', '9900', '--directory', 'd'], 'HOST:PORT of the server'],
    [['agent', '--cluster', 'east', '--server', 'a:1', '--directory', 'd'], 'cluster token east --data-dir DIR'],
    [['agent', '--cluster', 'east', '--server', 'nowhere', '--directory', 'd'], 'HOST:PORT of the server'],
    [['agent'], "required option '--cluster <name>' not specified"],
    [['agent', ...AGENT, '--directory', 'd', '--kubeconfig', 'f'], '--directory and --kubeconfig do not go together'],
    [['agent', ...AGENT, '--directory', 'd', '--context', 'c'], '--directory and --context do not go together'],
    [['agent', ...AGENT, '--directory', 'd', '-n', 'x'], '--directory and --namespace do not go together'],
    [['agent', ...AGENT, '--directory', 'd', '--leader-elect'], '--directory and --leader-elect do not go together'],
    [['agent', ...AGENT, '--directory', 'd', '--no-leader-elect'], '--directory and --no-leader-elect do not'],
    [['agent', '--cluster', 'east', '--server', 'a:1', '--kubeconfig', 'f'], 'cluster token east --data-dir DIR'],
    [['explain'], "missing required argument 'question'"],
    [['explain', 'east'], '[CLUSTER] KIND/[NAMESPACE/]NAME [FIELD|CONDITION]'],
    [['explain', 'East', 'cm/web/a'], 'lower-case'],
    [['explain', 'cm/web/a', 'data.x', 'more'], '[CLUSTER] KIND/[NAMESPACE/]NAME [FIELD|CONDITION]'],
    [['explain', 'east', 'web'], 'KIND/NAMESPACE/NAME or KIND/NAME'],
    [['explain', 'east', 'apps/v1/Deployment/web/frontend'], 'KIND/NAMESPACE/NAME or KIND/NAME'],
    [['render', 'a', 'b'], 'too many arguments'],
    [['render', '-o', 'table'], 'Allowed choices are json, yaml'],
    [['render', '--at', 'yesterday'], 'It must be RFC 3339, as 2026-01-31T10:42:07Z'],
    [['render', '--at', '2026-01-31'], 'It must be RFC 3339'],
    [['render', '--cluster', 'live'], 'Did you mean --clusters?'],
    [['approve'], 'either a digest or --list'],
    [['approve', 'xyz'], 'digits 0-9 and a-f'],
    [['cluster', 'token', 'east'], 'either --data-dir or --relay-secret-file'],
    [['demo'], 'run `npm start` in a checkout'],
    [['describe', 'deploy/web'], '`fleetrelay explain CLUSTER KIND/NAMESPACE/NAME`'],
    [['help', 'diff'], '`fleetrelay plan`'],
    [['sync'], '`fleetrelay source sync`'],
    [['logs', 'web'], '`kubectl logs` reads them'],
    [['rollback'], '`git revert COMMIT && git push`'],
    [['apply', '-f', 'a.yaml'], '`git push`; `fleetrelay plan`'],
    [['status', '--api', 'ftp://x'], 'must be a plain URL'],
    [['status', '--api', 'http://user:pw@127.0.0.1'], 'must be a plain URL'],
  ])('%j says: %s', async (args, said) => {
    const { code, out, err } = await runCli(args);
    expect(err).toContain(said);
    expect([code, out]).toEqual([2, '']);
  });
});

describe('an error obeys -o json and -o yaml:', () => {
  test.each([
    [['get', 'clutsers', '-o', 'json'], { reason: 'usage', exitCode: 2, hint: expect.stringContaining('clusters') }],
    [['status', '-ojson', '--ouput'], { reason: 'usage', message: expect.stringContaining('unknown option') }],
    [['status', '--output=json', '--api', 'http://127.0.0.1:1'], { reason: 'unreachable', exitCode: 3 }],
    [['nonsense', '--output', 'json'], { reason: 'usage', message: 'unknown command nonsense' }],
    [['explain', '-o', 'json'], { reason: 'usage', message: "missing required argument 'question'" }],
  ])('%j', async (args, error) => {
    const { code, out, err } = await runCli(args);
    expect(out).toBe('');
    expect(JSON.parse(err)).toEqual({ error: expect.objectContaining(error) });
    expect(code).toBe(JSON.parse(err).error.exitCode);
  });

  test('as YAML, and as text where -o is of another program', async () => {
    expect((await runCli(['get', 'clutsers', '-o', 'yaml'])).err).toMatch(/^error:\n {2}reason: usage\n {2}message: /);
    expect((await runCli(['nonsense', '--', '-o', 'json'])).err).toMatch(/^fleetrelay: unknown command/);
  });
});

test('--no-color ends the colours, at any place before --', async () => {
  for (const args of [
    ['--no-color', 'get'],
    ['get', '--no-color'],
    ['source', 'list', '--no-color', '--help'],
  ]) {
    let ended = 0;
    const withoutColours = (): void => {
      ended += 1;
    };
    expect([args, (await runCli(args, { withoutColours })).code, ended]).toEqual([args, 0, 1]);
  }
});

test('a password in the repository’s address is refused and not repeated', async () => {
  const store = await runCli(['serve', '--folder', '.', '--store', 'redis://ann:sesame@example.com']);
  expect(store).toMatchObject({ code: 2, err: expect.stringContaining('--store-password-file') });
  expect(store.err).not.toContain('sesame');
  const { code, err } = await runCli(['serve', '--repo', 'https://ann:sesame@example.com/x.git']);
  expect(code).toBe(2);
  expect(err).toContain('--repo-token-file');
  expect(err).not.toContain('sesame');
});

describe('help', () => {
  test('of every command teaches with an example, and exits with 0', async () => {
    for (const name of NAMES) {
      const { code, out, err } = await runCli([name, '--help']);
      expect([name, code, err]).toEqual([name, 0, '']);
      expect(out).toContain(`Usage: fleetrelay ${name}`);
      expect(out).toContain(`fleetrelay ${name}`);
      expect(out, name).toContain('Examples:');
      expect(await runCli(['help', name])).toEqual({ code, out, err });
    }
  });

  test('alone names every command', async () => {
    const { code, out } = await runCli([]);
    expect(code).toBe(0);
    for (const name of NAMES) expect(out).toContain(`  ${name} `);
    expect(await runCli(['--help'])).toEqual(await runCli(['help']));
  });

  test('has a page on exit codes', async () => {
    const { out } = await runCli(['help', 'exit-codes']);
    expect(out).toMatch(/ 3 {3}no server answers/);
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    const said = out.replace(/\s+/g, ' ');
    for (const [code, meaning] of EXIT_CODE_MEANINGS) expect(said).toContain(` ${code} ${meaning}`);
  });

  test('of every command that does something has an example of just that', async () => {
    const names = NAMES;
    const commands = await Promise.all(names.map(async (name) => runCli([name, '--help'])));
    const leaves = names.flatMap((name, index) => {
      const listed = /\nCommands:\n((?: {2,}.*\n)+)/.exec(commands[index]?.out ?? '')?.[1] ?? '';
      const under = [...listed.matchAll(/^ {2}([a-z-]+)/gm)].map(([, leaf]) => `${name} ${leaf}`);
      return under.length === 0 ? [name] : under;
    });
    expect(leaves).toEqual(expect.arrayContaining(['version', 'source list', 'source resume', 'cluster suspend']));
    for (const leaf of leaves) {
      expect((await runCli([...leaf.split(' '), '--help'])).out, leaf).toMatch(
        new RegExp(`Examples:[^]*\\$ .*fleetrelay ${leaf}`),
      );
    }
  });

  test('of an unknown command suggests a similar one', async () => {
    expect(await runCli(['help', 'sttaus'])).toMatchObject({ code: 2, err: expect.stringContaining('status') });
  });
});

describe('the long-running commands', () => {
  test('serve passes its options on', async () => {
    const roots = recordingRoots();
    const args = [
      '--repo',
      'https://example.com/x.git',
      '--poll',
      '5',
      '--http',
      '[::1]:0',
      '--tls-name',
      'a',
      '--tls-name',
      'b',
    ];
    expect((await runCli(['serve', ...args], { roots })).code).toBe(0);
    expect(roots.calls).toEqual([
      [
        'serve',
        {
          repo: 'https://example.com/x.git',
          poll: 5,
          http: { host: '::1', port: 0 },
          tlsName: ['a', 'b'],
          relaySecretFile: [],
          logLevel: 'info',
          logFormat: 'auto',
        },
      ],
    ]);
  });

  test.each([
    ['memory', { type: 'memory' }],
    ['sqlite:./a b', { type: 'sqlite', path: './a b' }],
    ['redis://r', { type: 'redis', redis: { nodes: ['r'], database: 0 } }],
    ['rediss://ann@[::1]:7/3', { type: 'redis', redis: { nodes: ['[::1]:7'], username: 'ann', database: 3, tls: {} } }],
  ])('serve reads the store %s', async (text, store) => {
    const roots = recordingRoots();
    expect((await runCli(['serve', '--folder', '.', '--store', text], { roots })).code).toBe(0);
    expect(roots.calls).toMatchObject([['serve', { store }]]);
  });

  test('serve does not start where certificates of servers were not to be checked', async () => {
    const roots = recordingRoots();
    const name = 'RELAY_DISABLE_SERVER_CERTIFICATE_VALIDATION';
    const { code, err } = await runCli(['serve', '--folder', '.'], { roots, env: { [name]: 'true' } });
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(name) });
    expect(roots.calls).toEqual([]);
    expect((await runCli(['serve', '--folder', '.'], { roots, env: { [name]: 'false' } })).code).toBe(0);
  });

  test('agent passes its options on', async () => {
    const roots = recordingRoots();
    const args = ['--cluster', 'east', '--server', 'a:9900', '--directory', 'd', '--insecure', '--metrics', '9981'];
    await runCli(['agent', ...args], { roots });
    expect(roots.calls).toEqual([
      [
        'agent',
        {
          cluster: 'east',
          server: { host: 'a', port: 9900 },
          directory: 'd',
          health: { host: '127.0.0.1', port: 9981 },
          insecure: true,
          logLevel: 'info',
          logFormat: 'auto',
        },
      ],
    ]);
  });

  test('agent of a Kubernetes cluster: by the rules of kubectl and one of several replicas, unless options differ', async () => {
    const roots = recordingRoots();
    const common = {
      cluster: 'east',
      server: { host: 'a', port: 1 },
      insecure: true,
      logLevel: 'info',
      logFormat: 'auto',
    };
    await runCli(['agent', ...AGENT], { roots });
    const target = ['--kubeconfig', 'f', '--context', 'c', '-n', 'own', '--no-leader-elect', '--data-dir', 'd'];
    await runCli(['agent', ...AGENT, ...target, '--allow-own-namespace'], { roots });
    expect(roots.calls).toEqual([
      ['agent', { ...common, kubernetes: { leaderElect: true }, domains: {} }],
      [
        'agent',
        {
          ...common,
          dataDir: 'd',
          kubernetes: {
            ...{ kubeconfig: 'f', context: 'c', namespace: 'own', leaderElect: false },
            allowOwnNamespace: true,
          },
          domains: {},
        },
      ],
    ]);
  });

  test('agent tells each domain what its options say; only an agent of a Kubernetes cluster has a webhook', async () => {
    const roots = recordingRoots();
    const files = ['--webhook-cert-file', 'c', '--webhook-key-file', 'k'];
    await runCli(['agent', ...AGENT, '--webhook', '9443', '--no-native-sidecar', ...files], { roots });
    const listen = { host: '127.0.0.1', port: 9443 };
    const webhook = {
      listen,
      native: false,
      files: { certFile: 'c', keyFile: 'k' },
      secret: 'fleetrelay-agent-webhook',
    };
    expect(roots.calls).toEqual([['agent', expect.objectContaining({ domains: { health: expect.anything() } })]]);
    expect(roots.calls[0]?.[1]).toMatchObject({ domains: { health: webhook } });
    for (const refused of [
      ['--directory', 'd', '--webhook', '1'],
      ['--webhook-cert-file', 'c'],
      ['--webhook-ca-file', 'a'],
    ]) {
      expect((await runCli(['agent', ...AGENT, ...refused], { roots })).code).toBe(2);
    }
  });

  test('a root returns the exit code of the command', async () => {
    const roots = recordingRoots({
      serve: async (_options, _signal, io) => {
        io.out(`${io.version}\n`);
        return 1;
      },
    });
    expect(await runCli(['serve', '--folder', '.'], { roots })).toEqual({ code: 1, out: '1.2.3\n', err: '' });
  });

  test('a root that rejects is one line, with a stack trace only for those who ask', async () => {
    const roots = recordingRoots({ serve: () => Promise.reject(new Error('the port is taken')) });
    const quiet = await runCli(['serve', '--folder', '.'], { roots });
    expect(quiet).toEqual({ code: 1, out: '', err: 'fleetrelay: the port is taken\n' });
    const loud = await runCli(['serve', '--folder', '.'], { roots, env: { FLEETRELAY_DEBUG: '1' } });
    expect(loud.err).toContain('commands.test.ts');
  });

  test('a mistake in the program has an exit code of its own', async () => {
    const roots = recordingRoots({ serve: () => Promise.reject(new TypeError('x is not a function')) });
    expect((await runCli(['serve', '--folder', '.'], { roots })).code).toBe(70);
  });
});

describe('validate', () => {
  const report: ValidationReport = {
    resources: [],
    notEvaluated: [],
    excerpts: new Map(),
    fixed: [],
    files: 2,
    documents: 3,
    diagnostics: [
      diagnosticOf({
        severity: 'error',
        reason: 'YamlSyntax',
        message: 'bad indentation\u001b[2J',
        hint: 'two spaces',
        at: { path: 'a.yaml', line: 3, column: 5 },
      }),
      diagnosticOf({
        severity: 'warning',
        reason: 'YamlVersionsDiffer',
        message: 'yes is text here',
        at: { path: 'b.yaml', line: 1, column: 2 },
      }),
    ],
  };
  const answering = (diagnostics: ValidationReport['diagnostics']) =>
    recordingRoots({ validate: async () => ({ ...report, diagnostics }) });

  test('prints every place and exits with 1, and obeys no escape sequence', async () => {
    const { code, out } = await runCli(['validate', 'x'], { roots: answering(report.diagnostics) });
    expect(code).toBe(1);
    expect(out).toBe(
      'a.yaml:3:5: error FR1010: bad indentation\ufffd[2J (two spaces)\n' +
        'b.yaml:1:2: warning FR1013: yes is text here\n' +
        '1 error, 1 warning in 0 documents of 2 files\n',
    );
  });

  describe('with names of files that begin with -', () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-names-'));
    for (const name of ['--fix', '--kubeconfig=a.yaml']) writeFileSync(join(folder, name), '');
    afterAll(() => rmSync(folder, { recursive: true }));

    test.each([
      [['validate', '--strict', '--fix'], '--fix'],
      [['validate', '--context', '--fix', 'a.yaml'], '--fix'],
      [['validate', '--kubeconfig=a.yaml'], '--kubeconfig=a.yaml'],
    ])('refuses %j: it names an option and a file', async (args, name) => {
      const roots = recordingRoots();
      const { code, err } = await runCli(args, { roots, cwd: folder });
      expect(err).toContain(`"${name}" is the name of a file and of an option (write -- before the paths;`);
      expect({ code, calls: roots.calls }).toEqual({ code: 2, calls: [] });
    });

    test('reads them as files behind --, and the options before it as options', async () => {
      const roots = recordingRoots();
      await runCli(['validate', '--strict-kinds', '--', '--fix', '--kubeconfig=a.yaml'], { roots, cwd: folder });
      expect(roots.calls).toEqual([['validate', expect.objectContaining({ strictKinds: true, fix: false })]]);
      expect(roots.calls[0]?.[1]).toMatchObject({ paths: ['--fix', '--kubeconfig=a.yaml'] });
      expect(roots.calls[0]?.[1]).not.toHaveProperty('cluster');
    });
  });

  test('exits with 0 on warnings alone, and with 1 under --strict', async () => {
    const roots = answering(report.diagnostics.slice(1));
    expect((await runCli(['validate'], { roots })).code).toBe(0);
    const strict = await runCli(['validate', '--strict'], { roots });
    expect(strict.code).toBe(1);
    expect(strict.out).toContain('b.yaml:1:2: error FR1013:');
  });

  test('prints the same as JSON and YAML', async () => {
    const roots = answering(report.diagnostics);
    const json = await runCli(['validate', '-o', 'json'], { roots });
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toEqual({
      summary: {
        files: 2,
        documents: { total: 0, valid: 0, invalid: 0, skipped: 0, noSchema: 0 },
        errors: 1,
        warnings: 1,
        codes: { FR1010: 1, FR1013: 1 },
      },
      findings: report.diagnostics,
      fixed: [],
      notEvaluated: [],
    });
    expect((await runCli(['validate', '-o', 'yaml'], { roots })).out).toContain('errors: 1\n  warnings: 1\n');
  });

  test('looks at the current folder by default', async () => {
    const roots = recordingRoots();
    const { err } = await runCli(['validate'], { roots });
    expect(roots.calls).toMatchObject([['validate', { paths: ['.'], cwd: '/work' }]]);
    expect(err).toBe('warning: no manifest was found in .\n');
  });

  test('warns of skipped kinds that do not exist, and refuses what is no kind', async () => {
    const resource = { ...{ path: 'a', line: 1, column: 1, namespace: '', name: 'a' }, state: 'skipped' } as const;
    const resources = [{ ...resource, apiVersion: 'example.com/v1', kind: 'Thing' }];
    const roots = recordingRoots({ validate: async () => ({ ...report, resources }) });
    const skip = 'Secret,apps/Deployment,apps/v1/Deployment,example.com/Thing,Placement,secret,foo/bar/baz';
    expect((await runCli(['validate', '--skip', skip], { roots })).err).toBe(
      'warning: --skip secret has no effect: no document and no schema has this kind (did you mean Secret?)\n' +
        'warning: --skip foo/bar/baz has no effect: no document and no schema has this kind\n',
    );
    expect((await runCli(['validate', '--skip', 'a/b/c/D'], { roots })).code).toBe(2);
  });
});

test('cluster token prints the token alone', async () => {
  expect(await runCli(['cluster', 'token', 'east', '--data-dir', 'd'])).toEqual({
    code: 0,
    out: 'frt1_token\n',
    err: '',
  });
});

describe('cluster token of a renewed cluster', () => {
  test('takes the secret from one place, and the renewals from another', async () => {
    const roots = recordingRoots();
    const places = ['--data-dir', 'd', '--relay-secret-file', 's'];
    expect((await runCli(['cluster', 'token', 'east', ...places], { roots })).code).toBe(0);
    expect((await runCli(['cluster', 'token', 'east', ...places.slice(2), '--generation', '7'], { roots })).code).toBe(
      0,
    );
    expect(roots.calls).toMatchObject([
      ['token', { subject: 'east', dataDir: 'd', relaySecretFile: 's' }],
      ['token', { subject: 'east', relaySecretFile: 's', generation: 7 }],
    ]);
  });

  test.each(['-1', '1.5', 'x', ''])('takes no generation %j', async (text) => {
    const args = ['cluster', 'token', 'east', '--relay-secret-file', 's', `--generation=${text}`];
    expect((await runCli(args)).code).toBe(2);
  });
});

test('version speaks to people and programs', async () => {
  expect((await runCli(['version'])).out).toMatch(/^fleetrelay 1\.2\.3 \(Node\.js /);
  expect(JSON.parse((await runCli(['version', '-o', 'json'])).out)).toMatchObject({ fleetrelay: '1.2.3' });
  expect((await runCli(['--version'])).out).toBe('1.2.3\n');
});

test.each(['serve', 'agent', 'debug snapshot'])('the help of %s has its defaults in words', async (command) => {
  const { code, out } = await runCli([...command.split(' '), '--help']);
  expect(code).toBe(0);
  expect(out).not.toContain('default: []');
});
