import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ServeOptions } from '../../../src/compose/options.ts';
import { resolveServeConfig } from '../../../src/compose/serve/config.ts';

const plain: ServeOptions = { insecure: false, tlsNames: [], logLevel: 'info' };

async function sourcesOf(options: Partial<ServeOptions>, cwd = '/work'): Promise<readonly unknown[]> {
  const { sources } = await resolveServeConfig({ ...plain, ...options }, { cwd });
  return sources.map(({ kinds: _kinds, pollIntervalSeconds: _seconds, ...rest }: Record<string, unknown>) => rest);
}

describe('custom resources by flags', () => {
  it('come beside a repository or folder, and last', async () => {
    expect(await sourcesOf({ watch: 'fleet', customResources: {} })).toEqual([
      { type: 'files', name: 'main', path: '/work/fleet' },
      { type: 'kubernetes', name: 'custom-resources' },
    ]);
  });

  it('are enough', async () => {
    const customResources = { kubeconfig: 'admin.conf', context: 'here', namespace: 'fleet' };
    const { kubeconfig } = customResources;
    expect(await sourcesOf({ customResources })).toEqual([
      {
        type: 'kubernetes',
        name: 'custom-resources',
        kubeconfig: `/work/${kubeconfig}`,
        context: 'here',
        namespaces: ['fleet'],
      },
    ]);
    await expect(sourcesOf({})).rejects.toThrow('--custom-resources');
  });

  it('take the place of those in the file, whose paths are relative to it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'config-'));
    try {
      const file = join(folder, 'relay.yaml');
      const sources = '[{name: custom, kubernetes: {kubeconfig: k}}, {name: fleet, files: {path: f}}]';
      await writeFile(
        file,
        `apiVersion: fleetrelay.dev/v1alpha1\nkind: RelayConfig\nfleet: {name: a}\nsources: ${sources}\n`,
      );
      const files = { type: 'files', name: 'fleet', path: join(folder, 'f') };
      expect(await sourcesOf({ configFile: file })).toEqual([
        files,
        { type: 'kubernetes', name: 'custom', kubeconfig: join(folder, 'k') },
      ]);
      expect(await sourcesOf({ configFile: file, customResources: {} })).toEqual(await sourcesOf({ configFile: file }));
      expect(await sourcesOf({ configFile: file, customResources: { namespace: 'fleet' } })).toEqual([
        files,
        { type: 'kubernetes', name: 'custom-resources', namespaces: ['fleet'] },
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
