import { chmodSync, mkdtempSync, readdirSync, realpathSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { validatePaths } from '../../../src/compose/validate/validate.ts';
import { displayDiagnostic } from '../../../src/model/fleet/diagnostic.ts';
import { createGitSandbox, type GitSandbox, writeFiles } from '../../support/git-sandbox.ts';

/** Each file has one unknown field, so that a finding says which files were judged. */
const service = (name: string): string =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}, namespace: web}\nspec: {ports: [{port: 80}], extra: 1}\n`;
const configMap = (name: string, value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: web}\ndata: {key: ${value}}\nextra: 1\n`;
const pod = (name: string, configMapName: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, namespace: web}\nspec:\n  extra: 1\n  containers:\n  - name: a\n    image: b\n    envFrom: [{configMapRef: {name: ${configMapName}}}]\n`;
const definition = (type: string): string =>
  `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {plural: things, kind: Thing, singular: thing, listKind: ThingList}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: ${type}}}}}}}\n`;
const thing = (size: string): string =>
  `apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t, namespace: web}\nspec: {size: ${size}, extra: 1}\n`;
const cluster = (label: string): string =>
  `apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata: {name: east, labels: {a: ${label}}}\n`;
const placement = (name: string, clusters: string): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata: {name: ${name}}\nspec: {paths: [x], clusters: ${clusters}, extra: 1}\n`;

const START = {
  'service.yaml': service('a'),
  'other.yaml': service('b'),
  'config.yaml': configMap('settings', 'one'),
  'uses.yaml': pod('uses', 'settings'),
  'uses-not.yaml': pod('uses-not', 'unknown'),
  'crd.yaml': definition('string'),
  'thing.yaml': thing('text'),
  'cluster.yaml': cluster('b'),
  'named.yaml': placement('named', '{names: [east]}'),
  'selected.yaml': placement('selected', '{selector: {matchLabels: {a: b}}}'),
  'west.yaml': placement('west', '{names: [west]}'),
};

let sandbox: GitSandbox;
let cwd: string;

beforeEach(() => {
  sandbox = createGitSandbox();
  sandbox.git(sandbox.path, 'init', '-q', 'repository');
  cwd = join(sandbox.path, 'repository');
  commit(START);
});
afterEach(() => sandbox.remove());

function commit(files: Readonly<Record<string, string | null>>): string {
  writeFiles(cwd, files);
  sandbox.git(cwd, 'add', '-A');
  sandbox.git(cwd, 'commit', '-q', '-m', 'change', '--allow-empty');
  return sandbox.git(cwd, 'rev-parse', 'HEAD');
}

/** The files with findings, of those that the range and its dependents hold. */
async function judged(since: string, paths: readonly string[] = ['.'], folder = cwd): Promise<readonly string[]> {
  const report = await validate(since, paths, folder);
  return [...new Set(report.diagnostics.map(({ at }) => at?.path ?? ''))];
}

function validate(since: string, paths: readonly string[] = ['.'], folder = cwd) {
  const readStdin = () => Promise.reject(new Error('no standard input'));
  return validatePaths({ paths, cwd: folder, readStdin, since, env: process.env });
}

describe('validate --changed-since', () => {
  const kustomization = (more = '') => `resources: [d.yaml]\n${more}`;
  const deployment =
    'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {}}}\n';

  it('judges files of other tools that a rule wants as desired state', async () => {
    commit({ 'web/kustomization.yaml': kustomization(), 'web/values.yaml': 'a: 1\n', 'web/d.yaml': service('d') });
    commit({ 'new.yaml': placement('new', '{names: [east]}').replace('[x]', '[web]').replace(', extra: 1', '') });
    expect(await judged('HEAD~1')).toEqual(expect.arrayContaining(['web/kustomization.yaml', 'web/values.yaml']));
    const { diagnostics } = await validate('HEAD~1');
    expect(diagnostics.filter(({ severity }) => severity === 'error').map(({ code }) => code)).toEqual(
      expect.arrayContaining(['FR1031', 'FR1033']),
    );
    commit({ 'web/d.yaml': service('changed') });
    expect(await judged('HEAD~1')).toContain('web/kustomization.yaml');
  });

  it('judges the resources of a kustomization that has changed or is gone', async () => {
    commit({ 'web/kustomization.yaml': kustomization('patches: [{path: p.yaml}]\n'), 'web/d.yaml': deployment });
    expect(await judged('HEAD~1')).not.toContain('web/d.yaml');
    commit({ 'web/kustomization.yaml': kustomization() });
    expect(await judged('HEAD~1')).toContain('web/d.yaml');
    commit({ 'web/kustomization.yaml': null });
    expect(await judged('HEAD~1')).toContain('web/d.yaml');
    commit({ 'other.txt': 'a' });
    expect(await judged('HEAD~1')).toEqual([]);
  });

  it('has an error for a manifest that has become a file of another tool', async () => {
    commit({ 'values.yaml': 'a: 1\n' });
    commit({ 'config.yaml': 'a: 1\n', 'values.yaml': 'a: 2\n' });
    const { diagnostics } = await validate('HEAD~1');
    expect(diagnostics.map((found) => displayDiagnostic(found))).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^config\.yaml.*error: .*which is an error here because the file held a manifest before/),
        expect.stringMatching(/^values\.yaml.*warning: /),
      ]),
    );
  });

  it('judges what the work tree changes, untracked files among it', async () => {
    writeFiles(cwd, { 'service.yaml': service('changed'), 'new/one.yaml': service('new') });
    const report = await validate('HEAD');
    expect(report.diagnostics.map(({ at }) => at?.path)).toEqual(
      expect.arrayContaining(['new/one.yaml', 'service.yaml']),
    );
    expect(report.diagnostics.map(({ at }) => at?.path)).not.toContain('other.yaml');
    expect(report.resources.map(({ path }) => path)).not.toContain('other.yaml');
  });

  it('judges what commits change, from the last commit that both ends share', async () => {
    sandbox.git(cwd, 'checkout', '-q', '-b', 'feature');
    commit({ 'service.yaml': service('mine') });
    sandbox.git(cwd, 'checkout', '-q', 'main');
    commit({ 'other.yaml': service('theirs') });
    sandbox.git(cwd, 'checkout', '-q', 'feature');
    expect(await judged('main')).toEqual(['service.yaml']);
    expect(await judged('main..feature')).toEqual(['service.yaml']);
    writeFiles(cwd, { 'uses-not.yaml': pod('changed', 'unknown') });
    expect(await judged('main..feature')).toEqual(['service.yaml']);
    expect(await judged('main')).toEqual(['service.yaml', 'uses-not.yaml']);
  });

  it.each([
    ['a ConfigMap: what refers to it', { 'config.yaml': configMap('settings', 'two') }, ['config.yaml', 'uses.yaml']],
    ['a removed ConfigMap', { 'config.yaml': null }, ['named.yaml', 'selected.yaml', 'uses.yaml', 'west.yaml']],
    ['a CustomResourceDefinition: the resources of its kind', { 'crd.yaml': definition('integer') }, ['thing.yaml']],
    ['a cluster: Placements that name or select it', { 'cluster.yaml': cluster('c') }, ['named.yaml', 'selected.yaml']],
  ])('judges what depends on %s', async (_what, files, expected) => {
    commit(files);
    expect(await judged('HEAD~1')).toEqual(expected);
  });

  it('judges what a Placement selected before it was removed, and what selected Pods that are not there any more', async () => {
    const labelled = (name: string, app: string): string =>
      pod(name, 'settings').replace('namespace: web', `namespace: web, labels: {app: ${app}}`);
    const selecting = (name: string, app: string): string =>
      service(name).replace('ports', `selector: {app: ${app}}, ports`);
    commit({
      'placed.yaml': placement('all', '{names: [east]}').replace('[x]', "['apps/**']").replace(', extra: 1', ''),
      'apps/placed.yaml': service('placed'),
      'shop.yaml': labelled('shop', 'shop'),
      'shop-service.yaml': selecting('shop', 'shop'),
      'bank.yaml': labelled('bank', 'bank'),
      'bank-service.yaml': selecting('bank', 'bank'),
    });
    commit({ 'placed.yaml': placement('other', '{names: [east]}') });
    expect(await judged('HEAD~1')).toEqual(['apps/placed.yaml', 'placed.yaml']);
    commit({ 'shop.yaml': labelled('shop', 'changed') });
    expect(await judged('HEAD~1')).toEqual(['shop-service.yaml', 'shop.yaml']);
  });

  it('checks custom resources by definitions that the range does not touch', async () => {
    commit({ 'thing.yaml': thing('[1]') });
    const { diagnostics } = await validate('HEAD~1');
    expect(diagnostics.map(displayDiagnostic).join('\n')).toContain('thing.yaml:4:14: error: spec.size must be text');
  });

  it('judges everything if an ignore file changes', async () => {
    commit({ '.fleetrelayignore': 'other.yaml\n' });
    const found = await judged('HEAD~1');
    expect(found).toContain('service.yaml');
    expect(found).not.toContain('other.yaml');
  });

  it('works in a folder of the repository, and through a link to it', async () => {
    commit({ 'apps/a.yaml': service('a'), 'apps/b.yaml': service('b') });
    commit({ 'apps/a.yaml': service('c'), 'service.yaml': service('c') });
    expect(await judged('HEAD~1', ['.'], join(cwd, 'apps'))).toEqual(['a.yaml']);
    expect(await judged('HEAD~1', [join(cwd, 'apps')], cwd)).toEqual([join(cwd, 'apps/a.yaml')]);
  });

  it('says what is wrong', async () => {
    await expect(validate('nothing')).rejects.toThrow(
      '--changed-since nothing: the repository has no commit "nothing"',
    );
    await expect(validate('--output=x')).rejects.toThrow('the repository has no commit "--output=x"');
    const outside = realpathSync(mkdtempSync(join(tmpdir(), 'no-repository-')));
    try {
      writeFiles(outside, { 'a.yaml': service('a') });
      await expect(validate('HEAD', ['.'], outside)).rejects.toThrow('is in no work tree of a git repository');
      await expect(validate('HEAD', [outside])).rejects.toThrow('is not in the repository of');
    } finally {
      rmSync(outside, { recursive: true });
    }
  });

  it('starts no program that the repository names', async () => {
    const planted = (name: string) => `touch ${join(sandbox.path, `started-${name}`)}; cat`;
    const settings = {
      'core.fsmonitor': planted('fsmonitor'),
      'diff.external': planted('external'),
      'filter.evil.clean': planted('clean'),
      'filter.evil.smudge': planted('smudge'),
      'filter.e=v.il.process': planted('process'),
      'diff.evil.textconv': planted('textconv'),
      'diff.evil.command': planted('command'),
      'core.sshCommand': planted('ssh'),
    };
    for (const [name, value] of Object.entries(settings)) sandbox.git(cwd, 'config', name, value);
    writeFiles(cwd, { '.git/hooks/post-index-change': `#!/bin/sh\n${planted('hook')}\n` });
    chmodSync(join(cwd, '.git/hooks/post-index-change'), 0o755);
    const attributes = '*.yaml filter=evil diff=evil\nother.yaml filter=e=v.il\n';
    writeFiles(cwd, { '.gitattributes': attributes, 'service.yaml': service('changed'), 'new.yaml': service('new') });
    // Files with another time and the same content are compared by content.
    for (const name of Object.keys(START)) utimesSync(join(cwd, name), 1, 1);
    // The same settings start programs of a git that is not told otherwise.
    sandbox.git(cwd, 'diff', '--raw', 'HEAD');
    const started = () => readdirSync(sandbox.path).filter((name) => name.startsWith('started-'));
    expect(started()).toEqual(expect.arrayContaining(['started-clean', 'started-fsmonitor']));
    for (const name of started()) rmSync(join(sandbox.path, name));
    for (const name of Object.keys(START)) utimesSync(join(cwd, name), 2, 2);
    expect(await judged('HEAD')).toEqual(expect.arrayContaining(['new.yaml', 'service.yaml']));
    expect(started()).toEqual([]);
  });
});
