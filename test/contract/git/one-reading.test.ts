import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFileTree } from '../../../src/adapters/files/file-tree.ts';
import { createNativeGitRepo } from '../../../src/adapters/git/native-git-repo.ts';
import { createMembersReader } from '../../../src/adapters/git/work-tree-files.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { openDecoder } from '../../../src/compose/decoding/decode-with-warnings.ts';
import { readRevisions } from '../../../src/compose/plan/read-revisions.ts';
import { readCheckout } from '../../../src/compose/read-checkout.ts';
import { validatePaths } from '../../../src/compose/validate/validate.ts';
import type { FileReading } from '../../../src/model/fleet/desired.ts';
import type { Diagnostic } from '../../../src/model/fleet/diagnostic.ts';
import { parseSourceName } from '../../../src/model/fleet/ids.ts';
import { defaultRevisionLimits } from '../../../src/model/limits/revision-limits.ts';
import { must } from '../../../src/model/values/result.ts';
import type { RevisionObservation, Source } from '../../../src/ports/source.ts';
import { createFilesSource } from '../../../src/sources/files/files-source.ts';
import { createGitSource } from '../../../src/sources/git/git-source.ts';
import { judgedFiles } from '../../../src/sources/tree/judge-nodes.ts';
import { createKeptLog } from '../../support/git-quiet-log.ts';
import { createGitSandbox, type GitSandbox, writeFiles } from '../../support/git-sandbox.ts';

/** One repository is read in one way by the server, by a watched folder, by `render`, by `plan` and by `validate`. */

let box: GitSandbox;
let root: string;
beforeEach(() => {
  box = createGitSandbox();
  root = join(box.path, 'repository');
  box.git(box.path, 'init', '-q', root);
  box.git(root, 'commit', '-q', '--allow-empty', '-m', 'empty');
});
afterEach(() => box.remove());

const env = { PATH: process.env.PATH };
const configMap = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: web}\n`;
const placement = (name: string, path: string): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata: {name: ${name}}\nspec: {paths: ['${path}'], clusters: {names: [east]}}\n`;
const kustomization = (...resources: string[]): string =>
  `apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [${resources.join(', ')}]\n`;
const CHART = 'apiVersion: v2\nname: a\nversion: 1.0.0\n';

/** Every oddity that a repository can have. */
const FILES = {
  '.gitignore': 'build/\n*.local.yaml\nnode_modules/\n',
  '.fleetrelayignore': 'left-out/\n',
  'left-out/a.yaml': 'not: [yaml',
  '.gitlab-ci.yml': 'not: [yaml',
  '.github/workflows/ci.yaml': 'not: [yaml',
  'clusters/east/cluster.yaml': 'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata: {name: east}\n',
  'clusters/east/own.yaml': configMap('own'),
  'clusters/east/values.yaml': 'replicas: 1\n',
  'clusters/east/kustomized/kustomization.yaml': kustomization('a.yaml'),
  'clusters/east/kustomized/a.yaml': configMap('kustomized'),
  'placements.yaml': [placement('placed', 'placed'), placement('wants', 'wanted/d.yaml')].join('---\n'),
  'placed/a.yaml': configMap('a'),
  'placed/broken.yaml': 'not: [yaml',
  'placed/values.yaml': 'replicas: 1\n',
  'placed/package.json': '{"name": "a"}',
  'wanted/kustomization.yaml': kustomization('d.yaml', '../base'),
  'wanted/d.yaml': configMap('d'),
  'base/kustomization.yaml': `${kustomization('e.yaml')}patches: [{path: patch.yaml}]\n`,
  'base/e.yaml': configMap('e'),
  'base/patch.yaml': 'kind: ConfigMap\n',
  'chart/Chart.yaml': CHART,
  'chart/templates/a.yaml': 'a: {{ .Values.a }}\n',
  'chart/charts/sub/Chart.yaml': CHART,
  'broken-kustomization/kustomization.yaml': 'resources: [',
  'broken-kustomization/a.yaml': configMap('broken'),
  'secret.sops.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: web}\nsops: {mac: a}\n',
  'hook.yaml':
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-, annotations: {argocd.argoproj.io/hook: Sync}}\n',
  'skaffold.yaml': 'apiVersion: skaffold/v4beta6\nkind: Config\n',
  'helmfile.yaml': 'releases: []\n',
  'docker-compose.yml': 'services: {a: {image: a}}\n',
  'patch.json': '[{"op": "remove", "path": "/a"}]',
  'mixed.yaml': `replicas: 1\n---\n${configMap('mixed')}`,
  'name\n.yaml': configMap('line'),
};

/** Files of the work tree that git would not commit. */
const NOT_COMMITTED = {
  'build/a.yaml': 'not: [yaml',
  'placed/own.local.yaml': 'not: [yaml',
  'node_modules/a/package.json': '{"not": "json"',
};

function makeRepository(): void {
  writeFiles(root, FILES);
  symlinkSync('placed', join(root, 'linked'));
  symlinkSync('placed/a.yaml', join(root, 'link.yaml'));
  box.git(box.path, 'init', '-q', join(root, 'module'));
  box.git(join(root, 'module'), 'commit', '-q', '--allow-empty', '-m', 'module');
  writeFiles(join(root, 'module'), { 'a.yaml': 'not: [yaml' });
}

interface Read {
  readonly files: Readonly<Record<string, string>>;
  readonly findings: readonly string[];
}

function readOf(files: Iterable<readonly [string, FileReading]>, diagnostics: readonly Diagnostic[]): Read {
  const shown = [...files].map(([path, { readable, notRead, ...reading }]) => {
    const documents = 'documents' in reading ? reading.documents.map(({ identity }) => identity) : [];
    return [path, `${readable ? 'read' : 'unreadable'} ${documents.join(' ')} ${notRead ?? ''}`] as const;
  });
  return { files: Object.fromEntries(shown.sort()), findings: findingsOf(diagnostics) };
}

const findingsOf = (diagnostics: readonly Diagnostic[]): readonly string[] =>
  diagnostics.map(({ severity, code, message, at }) => `${at?.path} ${severity} ${code} ${message}`).sort();

/** What the first look of a source observes. */
async function observed(source: Source): Promise<Read> {
  const { promise, resolve, reject } = Promise.withResolvers<RevisionObservation>();
  source.start(
    {
      observe: resolve,
      condition: ({ state, message }) => {
        if (state !== 'synced') reject(new Error(message));
      },
    },
    undefined,
    [],
  );
  const { changes, diagnostics } = await promise.finally(() => source.stop());
  const files = changes.flatMap(({ path, file }) => (file === null ? [] : [[path, file] as const]));
  return readOf(files, diagnostics);
}

async function byServer(): Promise<Read> {
  const clock = createSystemClock();
  const log = createKeptLog();
  const options = { remote: root, directory: join(box.path, 'copy'), deadlineSeconds: 120 };
  const repo = must(createNativeGitRepo({ clock, log, environment: env }, options));
  const deps = { repo, decode: await openDecoder(), clock, random: createSystemRandom(), log };
  return observed(createGitSource(deps, { name: must(parseSourceName('main')), pollIntervalSeconds: 600 }));
}

async function byWatch(): Promise<Read> {
  const clock = createSystemClock();
  const log = createKeptLog();
  const readMembers = createMembersReader({ clock, environment: env });
  const tree = createFileTree({ log }, { folder: root, readMembers });
  const deps = { tree, decode: await openDecoder(), clock, random: createSystemRandom(), log };
  return observed(createFilesSource(deps, { name: must(parseSourceName('main')), settleMs: 1 }));
}

async function byRender(): Promise<Read> {
  const { files, diagnostics } = await readCheckout({ log: createKeptLog(), environment: env }, root);
  return readOf(
    [...files].map(([path, { reading }]) => [path, reading] as const),
    diagnostics,
  );
}

async function byPlan(base: string): Promise<Read> {
  const read = await readRevisions({ folder: root, base, limits: defaultRevisionLimits, env });
  read.close();
  const { nodes, diagnostics } = read.after.tree;
  return readOf(
    [...judgedFiles(nodes)].map(([path, { reading }]) => [path, reading] as const),
    diagnostics,
  );
}

async function byValidate(paths: readonly string[] = ['.']): Promise<readonly string[]> {
  const { diagnostics } = await validatePaths({ paths, cwd: root, env, readStdin: async () => new Uint8Array() });
  // What is found of the fields of objects is judged more strictly here, and of resources here alone.
  return findingsOf(diagnostics.filter(({ code }) => code.startsWith('FR10')));
}

describe('one repository', () => {
  test('is read in one way by all, before and after it is committed', async () => {
    makeRepository();
    writeFiles(root, NOT_COMMITTED);
    const base = box.git(root, 'rev-parse', 'HEAD');
    const before = { render: await byRender(), plan: await byPlan(base), validate: await byValidate() };
    box.git(root, '-c', 'advice.addEmbeddedRepo=false', 'add', '--all');
    box.git(root, 'commit', '-q', '-m', 'all');
    const server = await byServer();
    expect(before.render).toEqual(server);
    expect(before.plan).toEqual(server);
    expect(await byRender()).toEqual(server);
    expect(await byPlan(base)).toEqual(server);
    expect(await byWatch()).toEqual(server);
    const ofReading = server.findings.filter((finding) => / FR10\d\d /.test(finding));
    expect(before.validate).toEqual(ofReading);
    expect(await byValidate()).toEqual(ofReading);
    expect(server.findings.map((finding) => finding.split(' ').slice(0, 3).join(' '))).toMatchSnapshot();
  });

  test('has an error for each file of another tool of which desired state is wanted, and names why', async () => {
    makeRepository();
    const errors = (await byValidate()).filter((finding) => finding.includes(' error FR103'));
    expect(errors).toEqual([
      expect.stringMatching(/^clusters\/east\/kustomized\/kustomization\.yaml .* lies under clusters\/$/),
      expect.stringMatching(/^clusters\/east\/values\.yaml error FR1033 .* lies under clusters\/$/),
      expect.stringMatching(/^mixed\.yaml error FR1033/),
      expect.stringMatching(/^placed\/package\.json error FR1033 .*Placement placed selects/),
      expect.stringMatching(/^placed\/values\.yaml error FR1033 .*Placement placed selects/),
      expect.stringMatching(/^wanted\/kustomization\.yaml error FR1031 .*Placement wants selects "wanted\/d\.yaml"$/),
    ]);
  });

  test('that is no repository of git is read with all of its files', async () => {
    makeRepository();
    writeFiles(root, NOT_COMMITTED);
    rmSync(join(root, '.git'), { recursive: true });
    const render = await byRender();
    expect(Object.keys(render.files)).toEqual(expect.arrayContaining(['build/a.yaml', 'node_modules/a/package.json']));
    expect(await byWatch()).toEqual(render);
    expect(await byValidate()).toEqual(expect.arrayContaining([expect.stringMatching(/^build\/a\.yaml error FR1010/)]));
  });
});
