import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  builtFolder,
  findKubernetesPrograms,
  howToGetKubernetesPrograms,
} from '../../../scripts/local/kubernetes-programs.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fleetrelay-home-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const NEEDED = ['etcd', 'kube-apiserver', 'kubectl'];
const put = (folder: string, names: readonly string[], mode = 0o755): string => {
  mkdirSync(folder, { recursive: true });
  for (const name of names) {
    writeFileSync(join(folder, name), '');
    chmodSync(join(folder, name), mode);
  }
  return folder;
};

test('no programs are found, and the message says how to get them', () => {
  const env = { HOME: home, PATH: join(home, 'bin') };
  expect(findKubernetesPrograms(env)).toBeUndefined();
  expect(howToGetKubernetesPrograms(env)).toContain('setup-envtest use -p path');
});

test('built programs are found if all needed ones are there', () => {
  const env = { HOME: home };
  put(builtFolder(env), ['etcd', 'kubectl']);
  expect(findKubernetesPrograms(env)).toBeUndefined();
  put(builtFolder(env), ['kube-apiserver']);
  expect(findKubernetesPrograms(env)).toMatchObject({ controllerManager: undefined });
  put(builtFolder(env), ['kube-controller-manager']);
  expect(findKubernetesPrograms(env)?.controllerManager).toBe(join(builtFolder(env), 'kube-controller-manager'));
});

test('if KUBEBUILDER_ASSETS is set, only that folder is searched', () => {
  const assets = put(join(home, 'assets'), NEEDED);
  put(builtFolder({ HOME: home }), NEEDED);
  expect(findKubernetesPrograms({ HOME: home, KUBEBUILDER_ASSETS: assets })?.etcd).toBe(join(assets, 'etcd'));
  const lacking = { HOME: home, KUBEBUILDER_ASSETS: join(home, 'lacking') };
  expect(findKubernetesPrograms(lacking)).toBeUndefined();
  expect(howToGetKubernetesPrograms(lacking)).toContain('lacking');
});

test('they may be in several folders of the PATH; a file that is not executable does not count', () => {
  const one = put(join(home, 'one'), ['etcd']);
  const two = put(join(home, 'two'), ['kube-apiserver', 'kubectl']);
  expect(findKubernetesPrograms({ HOME: home, PATH: `${one}:${two}` })?.kubectl).toBe(join(two, 'kubectl'));
  put(two, ['kubectl'], 0o644);
  expect(findKubernetesPrograms({ HOME: home, PATH: `${one}:${two}` })).toBeUndefined();
});
