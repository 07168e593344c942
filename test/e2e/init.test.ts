import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';
import { installOnPath } from '../support/program-on-path.ts';
import { noProgram, programPath } from '../support/programs.ts';

let home = '';
let environment: Readonly<Record<string, string>> = {};

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fleetrelay-init-'));
  environment = installOnPath(home);
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Runs a line of shell; its output, with the exit code in front. */
function shell(line: string, cwd = join(home, 'fleet')): string {
  const options = { cwd, env: environment, encoding: 'utf8', timeout: 120_000 } as const;
  try {
    return `0 ${execFileSync(programPath('bash'), ['-c', `${line} 2>&1`], options)}`;
  } catch (error) {
    const { status, stdout } = error as { readonly status: number; readonly stdout: string };
    return `${status} ${stdout}`;
  }
}

test.skipIf(noProgram('bash'))(
  'init makes a repository that validates, twice the same, and replaces nothing of a person',
  () => {
    expect(shell('fleetrelay init fleet', home)).toMatch(/^0 /);
    expect(shell('fleetrelay validate --strict')).toBe('0 0 errors, 0 warnings in 5 documents of 4 files\n');
    expect(shell('fleetrelay init')).toMatch(/README\.md unchanged/);
    writeFileSync(join(home, 'fleet/fleet/policy.yaml'), '# Mine.\n');
    rmSync(join(home, 'fleet/README.md'));
    expect(shell('fleetrelay init')).toMatch(/^1 .*policy\.yaml exists with other content/);
    // It asks for all files before it writes the first one.
    expect(existsSync(join(home, 'fleet/README.md'))).toBe(false);
    expect(readFileSync(join(home, 'fleet/fleet/policy.yaml'), 'utf8')).toBe('# Mine.\n');
    expect(shell('fleetrelay init --dry-run --force')).toMatch(/policy\.yaml changed \(dry run\)/);
  },
);

test.skipIf(noProgram('bash'))(
  'the files of a new repository name schemas that exist, no schema is desired state, and settings of an editor stay',
  () => {
    mkdirSync(join(home, 'fleet/.vscode'), { recursive: true });
    const settings = join(home, 'fleet/.vscode/settings.json');
    const mine = '{ // Mine.\n  "editor.tabSize": 2,\n}\n';
    writeFileSync(settings, mine);
    const toAdd = /settings\.json left in \.: add to it (\{.*\})\n/.exec(shell('fleetrelay init --force'))?.[1] ?? '';
    expect(readFileSync(settings, 'utf8')).toBe(mine);
    writeFileSync(settings, toAdd);
    expect(shell('fleetrelay init')).toMatch(/settings\.json unchanged/);
    rmSync(settings);
    expect(shell('fleetrelay init')).toMatch(/settings\.json created/);
    const read = (path: string) => JSON.parse(readFileSync(join(home, 'fleet', path), 'utf8'));
    expect(read('.vscode/settings.json')).toEqual(JSON.parse(toAdd));
    const schemas = Object.keys(JSON.parse(toAdd)['yaml.schemas']).filter((path) => path !== 'kubernetes');
    expect(schemas.map((path) => read(path).title)).toEqual(['KubernetesCluster', 'Placement', 'FleetPolicy']);
    const named = ['clusters/local/cluster.yaml', 'placements/hello.yaml', 'fleet/policy.yaml'].map((path) => {
      const text = readFileSync(join(home, 'fleet', path), 'utf8');
      const [, schema = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? [];
      return `./${join(dirname(path), schema)}`;
    });
    expect(named).toEqual(schemas);
    // The schemas of another version are replaced without being asked for.
    writeFileSync(join(home, 'fleet', schemas[0] ?? ''), '{}\n');
    expect(shell('fleetrelay init').match(/.* changed in .*/g)).toEqual([`${schemas[0]?.slice(2)} changed in .`]);
    expect(shell('fleetrelay validate --strict')).toBe('0 0 errors, 0 warnings in 5 documents of 4 files\n');
    expect(shell('fleetrelay render -o json')).not.toContain('schemas');
  },
);

test.skipIf(noProgram('bash'))(
  'what the README of the new repository says runs: a server that watches it, and an agent',
  async () => {
    shell('fleetrelay init fleet', home);
    const readme = readFileSync(join(home, 'fleet/README.md'), 'utf8');
    const commands = [...readme.matchAll(/^ {4}(fleetrelay (?:serve|cluster|agent) .*)$/gm)].map(
      (match) => match[1] ?? '',
    );
    expect(commands).toHaveLength(3);
    const [serve = '', token = '', agent = ''] = commands;
    const [relay, http, metrics] = [await freePort(), await freePort(), await freePort()];
    // Ports of their own, as several of these tests can run on one machine.
    const ports = `--listen 127.0.0.1:${relay} --http 127.0.0.1:${http} --metrics 127.0.0.1:${metrics}`;
    const stop = [background(`${serve} ${ports}`)];
    try {
      await until('the server has made its certificate', () =>
        existsSync(join(home, 'fleet/fleetrelay-data/trust/ca.crt')),
      );
      expect(shell(token)).toMatch(/^0 /);
      stop.push(background(agent.replace('127.0.0.1:9900', `127.0.0.1:${relay}`)));
      await until('the cluster holds the greeting', () => shell("grep -rs 'Hello, fleet' live").startsWith('0 '));
      const status = (): string => shell(`fleetrelay status --api http://127.0.0.1:${http}`);
      await until('the fleet is as declared', () => status().includes('2 of 2'));
      // The folder of the live state and the data of the server are no desired state.
      expect(shell('fleetrelay validate')).toBe('0 0 errors, 0 warnings in 5 documents of 4 files\n');
    } finally {
      for (const end of stop.reverse()) await end();
    }
  },
  120_000,
);

test.skipIf(noProgram('bash'))(
  'the hook refuses a commit with a wrong manifest, as it is staged, and lets others pass',
  () => {
    shell('fleetrelay init fleet && cd fleet && git init --quiet', home);
    expect(shell('fleetrelay init --hook')).toMatch(/^0 pre-commit hook created/);
    expect(statSync(join(home, 'fleet/.git/hooks/pre-commit')).mode & 0o111).toBe(0o111);
    expect(shell('git add --all && git commit --quiet -m one')).toMatch(
      /^0 0 errors, 0 warnings in 5 documents of 4 files/,
    );
    const bad = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: hello\ndta: {}\n';
    writeFileSync(join(home, 'fleet/apps/hello/a b.yaml'), bad);
    shell('git add --all');
    // The file in the work tree is right; what is staged is not.
    writeFileSync(join(home, 'fleet/apps/hello/a b.yaml'), bad.replace('dta', 'data'));
    expect(shell('git commit --quiet -m two')).toBe(
      '1 apps/hello/a b.yaml:6:1: error FR2003: dta is not a field that is known here (did you mean data?)\n1 error, 0 warnings in 2 documents of 2 files\n',
    );
    shell('git add --all');
    expect(shell('git commit --quiet -m two')).toMatch(/^0 /);
    writeFileSync(join(home, 'fleet/notes.txt'), 'No manifest.\n');
    expect(shell('git add --all && git commit --quiet -m three')).toBe('0 ');
  },
);

test.skipIf(noProgram('bash'))(
  'the hook reports what refers to a file that the commit removes, and leaves nothing behind',
  () => {
    shell('fleetrelay init fleet && cd fleet && git init --quiet && fleetrelay init --hook', home);
    const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: { kind: Gadget, plural: gadgets }
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object } }
`;
    const claim = `apiVersion: v1
kind: Pod
metadata:
  name: reader
  namespace: hello
spec:
  containers:
    - name: reader
      image: reader:1
      envFrom:
        - configMapRef:
            name: settings
`;
    const settings =
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: hello\ndata: { a: b }\n';
    const gadget = 'apiVersion: example.com/v1\nkind: Gadget\nmetadata:\n  name: one\n  namespace: hello\n';
    const files = { definition, claim, settings, gadget };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(home, `fleet/apps/hello/${name}.yaml`), text);
    expect(shell('git add --all && git commit --quiet --no-verify -m base && git tag base')).toBe('0 ');
    // The shell's redirection belongs to the last command.
    const hook = (line: string): string =>
      shell(`git reset --quiet --hard base && { ${line} && git commit --quiet -m more; }`);
    expect(hook('git rm --quiet apps/hello/settings.yaml')).toContain('apps/hello/claim.yaml:12:19: warning FR3020');
    expect(hook('git rm --quiet apps/hello/definition.yaml')).toContain('apps/hello/gadget.yaml:2:7: warning FR2030');
    expect(hook('git rm --quiet placements/hello.yaml')).toContain('apps/hello/claim.yaml:1:1: warning FR3004');
    // A file that is renamed is there for those that refer to it.
    expect(hook('git mv apps/hello/settings.yaml apps/hello/moved.yaml')).toMatch(/^0 0 errors, 0 warnings/);
    // The commit of a single path has an index of its own.
    shell('git reset --quiet --hard base');
    writeFileSync(join(home, 'fleet/apps/hello/gadget.yaml'), gadget.replace('name: one', 'name: One'));
    writeFileSync(join(home, 'fleet/apps/hello/settings.yaml'), settings.replace('data', 'dta'));
    expect(shell('git add --all && git commit --quiet -m more apps/hello/gadget.yaml')).toMatch(
      /^1 .*gadget\.yaml:4:9: error FR2012.*\n1 error, 0/,
    );
    expect(shell('git worktree list')).toMatch(/^0 [^\n]+\n$/);
    expect(shell('git status --short')).toBe('0 M  apps/hello/gadget.yaml\nM  apps/hello/settings.yaml\n');
  },
);

test.skipIf(noProgram('bash'))(
  'the hook of another program stays unless it is forced away; outside a repository there is none',
  () => {
    mkdirSync(join(home, 'fleet'));
    expect(shell('fleetrelay init --hook')).toMatch(/^1 .*is in no git repository/);
    shell('git init --quiet');
    writeFileSync(join(home, 'fleet/.git/hooks/pre-commit'), '#!/bin/sh\n');
    expect(shell('fleetrelay init --hook')).toMatch(/^1 .*exists with other content.*--force/);
    expect(shell('fleetrelay init --hook --force')).toMatch(/^0 pre-commit hook changed/);
    expect(shell('fleetrelay init --hook')).toMatch(/^0 pre-commit hook unchanged/);
  },
);

test.skipIf(noProgram('bash'))(
  'schema export writes what kubeconform and editors read, with the kinds of definitions',
  () => {
    shell('fleetrelay init fleet', home);
    const printed = shell('fleetrelay schema export ../schemas --kubernetes-version 1.33 -o json');
    const [{ folder, kinds }] = JSON.parse(printed.slice(2)) as readonly [{ folder: string; kinds: number }];
    expect(folder).toMatch(/^v1\.33\.\d+-standalone-strict$/);
    expect(kinds).toBeGreaterThan(80);
    const schema = (name: string) => JSON.parse(readFileSync(join(home, 'schemas', folder, name), 'utf8'));
    expect(schema('deployment-apps-v1.json')).toMatchObject({ properties: { apiVersion: { enum: ['apps/v1'] } } });
    expect(schema('placement-fleetrelay-v1alpha1.json')).toMatchObject({ title: expect.any(String) });
    expect(schema('all.json').oneOf).toContainEqual({ $ref: 'deployment-apps-v1.json' });
  },
);

/** Starts a line of shell; the function that is returned ends it. */
function background(line: string): () => Promise<void> {
  const child = spawn(programPath('bash'), ['-c', `exec ${line}`], {
    cwd: join(home, 'fleet'),
    env: environment,
    stdio: 'ignore',
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return () => {
    child.kill('SIGTERM');
    return ended;
  };
}
