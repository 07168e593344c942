import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateCrds } from '../../../scripts/generate-crds.ts';
import { generateSchemas } from '../../../scripts/generate-schemas.ts';

describe('generated types and validators', () => {
  it('are what the schemas say', async () => {
    expect(await generateSchemas({ check: true })).toEqual({ drifted: [] });
  });

  it('are seen to differ, and are left alone by a check', async () => {
    const root = await mkdtemp(join(tmpdir(), 'schemas-'));
    try {
      await cp('schemas', join(root, 'schemas'), { recursive: true });
      await cp('generated', join(root, 'generated'), { recursive: true });
      const schema = join(root, 'schemas', 'placement.json');
      await writeFile(schema, (await readFile(schema, 'utf8')).replace('"maxItems": 1000', '"maxItems": 7'));
      await writeFile(join(root, 'generated', 'gone.js'), '');
      const drifted = ['generated/placement.js', 'generated/placement.d.ts', 'generated/gone.js'];
      expect(await generateSchemas({ check: true, root })).toEqual({ drifted });
      expect(await generateSchemas({ check: false, root })).toEqual({ drifted });
      expect(await generateSchemas({ check: true, root })).toEqual({ drifted: ['generated/gone.js'] });
    } finally {
      await rm(root, { recursive: true });
    }
  });

  it('import nothing, so that they run as they are and cost nothing but themselves', async () => {
    for (const name of await readdir('generated')) {
      if (name.endsWith('.js'))
        expect(await readFile(`generated/${name}`, 'utf8')).not.toMatch(/\brequire\(|\bimport\b/);
    }
  });
});

describe('generated CustomResourceDefinitions', () => {
  it('are what the schemas say', async () => {
    expect(await generateCrds({ check: true })).toEqual([]);
  });

  it('are seen to differ, and are left alone by a check', async () => {
    const root = await mkdtemp(join(tmpdir(), 'crds-'));
    try {
      await cp('schemas', join(root, 'schemas'), { recursive: true });
      await cp('deploy/crds', join(root, 'deploy', 'crds'), { recursive: true });
      const schema = join(root, 'schemas', 'placement.json');
      await writeFile(schema, (await readFile(schema, 'utf8')).replace('"maxItems": 1000', '"maxItems": 7'));
      await writeFile(join(root, 'deploy', 'crds', 'gone.yaml'), '');
      const drifted = ['deploy/crds/fleetrelay.dev_placements.yaml', 'deploy/crds/gone.yaml'];
      expect(await generateCrds({ check: true, root })).toEqual(drifted);
      expect(await generateCrds({ check: false, root })).toEqual(drifted);
      expect(await generateCrds({ check: true, root })).toEqual(['deploy/crds/gone.yaml']);
    } finally {
      await rm(root, { recursive: true });
    }
  });
});
